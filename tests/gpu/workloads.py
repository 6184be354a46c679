"""The files of workloads, for all scripts here."""
import pathlib

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11, whose pip has the same parser
    from pip._vendor import tomli as tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = [ROOT / "experiments/tools/bench/workloads.toml", ROOT / "tests/gpu/workloads.toml"]


def read(*paths):
    """{name: its keys over the defaults of its file}, in the files' order."""
    out = {}
    for path in paths or FILES:
        tables = tomllib.loads(pathlib.Path(path).read_text())
        defaults = tables.pop("defaults")
        out.update({name: {**defaults, **table} for name, table in tables.items()})
    return out
