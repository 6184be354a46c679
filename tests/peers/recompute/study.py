"""A study's file as one profile reads it, and the curves that its claims are about."""

import math
import tomllib
from dataclasses import dataclass, field

FLOORS = {
    ("next-token", "tinyshakespeare", "char", ""): 2.5,
    ("masked", "tinyshakespeare", "char", ""): 3.12,
    ("next-token", "wikitext-2", "byte", ""): 2.34,
    ("instructions", "code-and-math", "byte", "all"): 2.63,
    ("instructions", "code-and-math", "byte", "response"): 2.71,
}
WHOLE = {"x", "y"}  # tables in braces, which a profile replaces whole


def merged(base, change):
    """`base` with the keys of a profile in place of its own."""
    out = dict(base)
    for key, value in change.items():
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = merged(out[key], value) if both and key not in WHOLE else value
    return out


def load(path, profile):
    """The file's tables with those of [profile.PROFILE] in their place."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    profiles = tables.pop("profile", {})
    return merged(tables, profiles.get(profile, {}))


def larger_is_better(metric):
    return metric.endswith(("accuracy", "_gflops", "share_of_peak")) or metric == "match_share"


def is_share(metric):
    return "share" in metric or "attention_at_lag_" in metric or metric.endswith("_off_plan")


def mean(values, geometric=False):
    if not values:
        return math.nan
    if not geometric:
        return math.fsum(values) / len(values)
    if min(values) < 0:
        return math.nan
    return math.exp(math.fsum(math.log(v) for v in values) / len(values)) if min(values) > 0 else 0.0


@dataclass
class Point:
    """What the trials of one x measured at the choice that validation made there, by seed."""
    x: float
    choice: dict
    tried: dict  # key of a choice -> the values tried at this x
    values: dict
    parts: dict
    validation: dict
    held_out: bool = True  # False where the choice was made among several on the items that are reported
    more: set = field(default_factory=set)  # seeds whose value is a lower bound
    less: set = field(default_factory=set)  # seeds whose value is an upper bound

    def key_at_edge(self):
        return any(len(t) > 1 and self.choice[k] in (min(t), max(t)) for k, t in self.tried.items())

    def key_alone(self):
        return any(len(t) < 2 for t in self.tried.values())


class Curves:
    """Curves of a study's metrics, and the rules by which x and choices are picked."""

    fresh = False  # whether the seeds that chose among several values are left out of what is measured

    def __init__(self, tables, trials):
        self.claims, self.y, self.made = tables.get("claim", []), tables["report"]["y"]["metric"], {}
        self.series, self.trials = {}, trials
        for t in trials:
            self.series.setdefault(t.series, []).append(t)

    def metric(self, claim):
        return claim.get("metric") or self.y

    def geometric(self, series, metric):
        """Whether pages and choices use the geometric mean of this metric."""
        if larger_is_better(metric) or is_share(metric):
            return False
        if any(not c.get("log_error", True) and self.metric(c) == metric for c in self.claims):
            return False
        values = [m[metric] for t in self.series[series] if t.finished for m in (t.validation, t.test) if metric in m]
        return all(v > 0 for v in values if math.isfinite(v))

    def of(self, series, metric):
        """{x: Point} in ascending order of x."""
        if (series, metric) not in self.made:
            by_x = {}
            for t in self.series.get(series, []):
                by_x.setdefault(t.x, {}).setdefault(t.choice, []).append(t)
            self.made[series, metric] = {x: self.point(series, metric, x, by_x[x]) for x in sorted(by_x)}
        return self.made[series, metric]

    def floor(self, series, metric):
        """What a table that sees one token and no other place reaches on a text, in nats; None for other tasks."""
        if metric != "cross_entropy":
            return None
        task = next(t.config["task"] for t in self.series[series])
        return FLOORS.get(tuple(task.get(k, "") for k in ("kind", "source", "tokenizer", "loss")))

    def usable(self, t, metric):
        return (t.finished and math.isfinite(t.validation.get(self.y, 0)) and math.isfinite(t.test.get(metric, 0)))

    def point(self, series, metric, x, candidates):
        seeds = {t.seed for t in self.series[series]}
        sign = -1 if larger_is_better(self.y) else 1

        def rank(choice):
            done = [t for t in candidates[choice] if self.usable(t, metric)]
            complete = {t.seed for t in done} == seeds
            loss = math.inf
            if len(candidates) > 1 and done:
                loss = sign * mean([t.validation[self.y] for t in done], self.geometric(series, self.y))
            return not complete, -len(done), loss, choice

        choice = min(candidates, key=rank)
        done = sorted((t for t in candidates[choice] if self.usable(t, metric)), key=lambda t: t.seed)
        if self.fresh and len(candidates) > 1:
            done = [t for t in done if any(all(o.seed != t.seed for o in other) for other in candidates.values())]
        keys = [k for k, _ in choice]
        return Point(x, dict(choice), {k: {dict(c)[k] for c in candidates} for k in keys},
                     {t.seed: t.test[metric] for t in done},
                     {t.seed: t.parts[metric] for t in done if metric in t.parts},
                     {t.seed: t.validation[metric] for t in done if metric in t.validation},
                     len(candidates) < 2 or not done
                     or any(t.test.get(k) != v for t in done for k, v in t.validation.items()),
                     {t.seed for t in done if metric == "steps_to" and t.test[metric] > t.steps})

    def best(self, series, metric, points):
        """The best of some points: on validation, on test where not all have been validated."""
        geometric, sign = self.geometric(series, metric), -1 if larger_is_better(metric) else 1
        points = [p for p in points if p.values]
        validated = all(len(p.validation) == len(p.values) and all(map(math.isfinite, p.validation.values()))
                        for p in points)
        where = lambda p: p.validation if validated else p.values
        return min(points, key=lambda p: sign * mean(list(where(p).values()), geometric))
