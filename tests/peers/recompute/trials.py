"""Published trials: docs/results/trials/STUDY/PROFILE.jsonl.gz as cells of values, by series, x and seed."""

import gzip
import json
import math
from dataclasses import dataclass


@dataclass
class Trial:
    series: str
    x: float
    choice: tuple  # of (key, value) in the order of the keys
    seed: int
    finished: bool
    test: dict
    validation: dict
    parts: dict
    config: dict
    label: str
    steps: int


def number(value):
    """A number as the file writes it: null is NaN, "inf" and "-inf" are infinite."""
    return math.nan if value is None else float(value)


def numbers(table):
    return {key: number(value) for key, value in table.items()}


def list_of(value):
    return [number(v) for v in (value["f32"] if isinstance(value, dict) else value)]


def plain(value):
    """What may be a part of a key: a table as its JSON."""
    return value if isinstance(value, (int, float, str, bool)) else json.dumps(value, sort_keys=True)


def read(path):
    """All trials of a file, one for each of its places in the plan."""
    trials = []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        json.loads(file.readline())
        for line in file:
            t = json.loads(line)
            test = numbers(t["test"])
            for name in ("parameters", "flops", "seconds"):
                test.setdefault(name, float(t[name]))
            for _, series, label, x, choice, seed in t["plan"]:
                chosen = tuple(sorted((k, plain(v)) for k, v in choice.items()))
                parts = {k: list_of(v) for k, v in t["test_parts"].items()}
                trials.append(Trial(series, number(x), chosen, seed, t["status"] == "finished", test,
                                        numbers(t["validation"]), parts, json.loads(t["config"]), label, t["steps"]))
    return trials


def at(config, path):
    """What a config has at "model.heads"; None where nothing."""
    for key in path.split("."):
        config = config.get(key) if isinstance(config, dict) else None
    return config


def leaves(table, prefix=""):
    """("task.input", value) of every key of a series that sets a number, a word or a flag."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{key}.")
        elif not isinstance(value, list):
            yield prefix + key, value


def problems(tables, trials):
    """Trials whose places in the plan do not fit their configs, or that are there twice."""
    x_key = tables["report"]["x"]["key"]
    series = {s["name"]: s for s in tables.get("series", []) if "name" in s}
    found, places = [], set()
    for t in trials:
        place = (t.series, t.x, t.choice, t.seed)
        if place in places:
            found.append(f"{t.series} {t.label}: two trials")
        places.add(place)
        expected = [(x_key, t.x), ("seed", t.seed), *t.choice]
        own = {k: v for k, v in series.get(t.series, {}).items() if k in ("task", "model", "train")}
        expected += [(k, v) for k, v in leaves(own) if isinstance(v, (int, float)) or k == "model.positions"]
        for key, value in expected:
            has = at(t.config, key)
            if has is not None and has != value:
                found.append(f"{t.series} {t.label}: {key} is {has} in its config, not {value}")
    return found
