"""headroom's program from Python.

>>> headroom.run("run", "ngram-tradeoff", "--quiet")
>>> verdicts = headroom.judge(frame, "claims.toml")     # a pandas frame with a row a run, or a row a step
>>> verdicts["verdicts"][0]["sentence"]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

__version__ = "VERSION"
_own = pathlib.Path(__file__).parent / "bin" / "headroom"
PROGRAM = _own if _own.exists() else pathlib.Path(os.environ.get("HEADROOM_PROGRAM", "headroom"))
_JUDGED = (0, 1, 3)  # exit statuses: all claims hold, one fails, one is open


def run(*arguments, **options):
    """subprocess.run() of the program with these arguments; a failure raises CalledProcessError unless check=False."""
    return subprocess.run([str(PROGRAM), *map(str, arguments)], **{"check": True, **options})


def judge(runs, claims=None, *options):
    """Judges claims on runs and returns what `headroom judge --json` prints, as a dictionary.

    runs: a pandas frame, or paths as the command takes them. claims: a file, or a dictionary such as
    {"runs": {"metric": "test_loss"}, "claim": [{"kind": "less_than", ...}]}; None: what is there, without verdicts.
    options: further ones of the command, "--anytime". Looks are counted next to a file of claims, not for a dictionary.
    Raises RuntimeError with the program's own message."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [runs] if isinstance(runs, (str, os.PathLike)) else runs
        if hasattr(runs, "to_csv"):
            paths = [os.path.join(folder, "frame.csv")]
            runs.to_csv(paths[0], index=False)
        if isinstance(claims, dict):
            text, claims = _toml(claims), os.path.join(folder, "claims.toml")
            pathlib.Path(claims).write_text(text, encoding="utf-8")
            options = ("--no-record", *options)
        given = [] if claims is None else ["--claims", claims]
        done = run("judge", *paths, *given, "--json", *options, check=False, capture_output=True, text=True)
    if done.returncode not in _JUDGED or not done.stdout:
        raise RuntimeError(done.stderr.strip() or f"headroom judge ended with {done.returncode}")
    return json.loads(done.stdout)


def main():
    """The command `headroom`: the program takes this process over."""
    os.execvp(PROGRAM, [str(PROGRAM), *sys.argv[1:]])


def _toml(value, top=True):
    """TOML of dictionaries, lists, texts, numbers and flags."""
    if not isinstance(value, dict):
        is_list = isinstance(value, (list, tuple))
        return f"[{', '.join(_toml(one, False) for one in value)}]" if is_list else json.dumps(value, ensure_ascii=False)
    entries = [f"{json.dumps(key)} = {_toml(one, False)}" for key, one in value.items()]
    return "\n".join(entries) + "\n" if top else f"{{ {', '.join(entries)} }}"
