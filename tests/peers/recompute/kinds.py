"""What each kind of claim states, and the intervals that are shown of it (docs/claims.md, "Kinds")."""

import math
from dataclasses import dataclass, replace

import numpy as np

from .estimate import All, Any, AtLeast, Between, Opposite, computed, of_values
from .study import Point, larger_is_better, mean

KINDS = {}


def kind(f):
    KINDS[f.__name__] = f
    return f


class NotRun(Exception):
    """Something that a claim is about was not measured."""


@dataclass
class Shown:
    """A number that a page shows with its interval; on logarithms where log is true."""
    name: str
    estimate: object
    comparisons: int = 1  # of which the data may pick this one: Bonferroni's correction
    log: bool = False

    def interval(self, alpha):
        """(name, value, low, high, level); the ends are one-sided tests at alpha."""
        back, e = math.exp if self.log else float, self.estimate
        if e.seeds == 0:  # a computed number
            return self.name, back(e.mean), math.nan, math.nan, math.nan
        low, high = e.interval(alpha / self.comparisons)
        return self.name, back(e.mean), back(low), back(high), 1 - 2 * alpha / self.comparisons


class Case:
    """A claim with the points that it compares."""

    def __init__(self, claim, curves, series, alpha, paper):
        self.claim, self.curves, self.series, self.alpha, self.paper = claim, curves, series, alpha, paper
        self.metric = curves.metric(claim)
        self.failing = set()  # points at which some seed did not learn the target
        self.deterministic = claim.get("deterministic", False)
        self.points = self.curve()
        # Computed values have an error where they are means over parts of a text; trained models are counted.
        has_parts = all(p.values and set(p.values) <= set(p.parts) for p in self.points.values())
        is_trained = any(t.steps > 0 for t in curves.series.get(series, []) if t.finished)
        self.exact = self.deterministic and (is_trained or not has_parts)
        self.x = list(self.points)
        self.factor = claim.get("factor", 1.0)
        self.log = claim.get("log_error", True) and not self.exact
        self.worse = -1 if larger_is_better(self.metric) else 1

    def curve(self, series=None, metric=None):
        """The points of the claim's range."""
        low, high = self.claim.get("from", -math.inf), self.claim.get("to", math.inf)
        metric = metric or self.metric
        inside = {x: p for x, p in self.curves.of(series or self.series, metric).items() if low <= x <= high}
        needed = self.needed(metric)
        if needed is not None and not self.deterministic:
            worse = -1 if larger_is_better(metric) else 1
            self.failing |= {id(p) for p in inside.values() if any(worse * v > worse * needed for v in p.values.values())}
        return inside

    def needed(self, metric):
        """What a value must reach to count as learned; None where nothing says so."""
        stated = self.claim.get("learned_at") if metric == self.metric else None
        if stated is not None:
            return stated
        return 0.5 if metric == "relative_mse" else self.curves.floor(self.series, metric)

    def learned(self, *points):
        return not any(id(p) in self.failing for p in points)

    def value(self, point):
        return mean(list(point.values.values()), self.log)

    def contrast(self, terms, log=False):
        """The mean of sum(weight * value) over the seeds that all points have, of logarithms if asked."""
        seeds = [s for s in terms[0][1].values if all(s in p.values for _, p in terms)]
        if log and any(p.values[s] <= 0 for _, p in terms for s in seeds):
            raise NotRun("no logarithm")
        scale = math.log if log else float
        values = [math.fsum(w * scale(p.values[s]) for w, p in terms) for s in seeds]
        terms = [(w, p) for w, p in terms if w]
        more = any(s in (p.more if w > 0 else p.less) for w, p in terms for s in seeds)
        less = any(s in (p.less if w > 0 else p.more) for w, p in terms for s in seeds)
        if self.deterministic:
            return replace(self.over_parts(terms, seeds, values, log, self.exact), more=more, less=less)
        bounds = [sum(s in p.more | p.less for _, p in terms) for s in seeds]
        free = sum(b == min(bounds) for b in bounds) - 1
        parts = None
        if seeds and all(s in p.parts for _, p in terms for s in seeds):
            parts = [sum(w * on_scale(p.values[s], p.parts[s], log) for w, p in terms) for s in seeds]
        return replace(of_values(values, parts, free), more=more, less=less)

    @staticmethod
    def over_parts(terms, seeds, values, log, exact):
        """The mean, with the spread of the parts' pseudo-values as its error if there is any."""
        if not exact and seeds and all(s in p.parts for _, p in terms for s in seeds):
            parts = np.mean([sum(w * on_scale(p.values[s], p.parts[s], log) for w, p in terms) for s in seeds], axis=0)
            found = of_values(parts)
            if found.testable():
                return replace(found, mean=mean(values))
        return computed(mean(values))

    def limit(self, a, b, times, sign):
        """That a is at least (sign 1) or at most (-1) `times` b."""
        if self.log:
            return AtLeast(self.contrast([(1, a), (-1, b)], True), math.log(times), sign, learned=self.learned(a, b))
        return AtLeast(self.contrast([(1, a), (-times, b)]), 0.0, sign, learned=self.learned(a, b))

    def as_bad(self, a, b, sign=1, times=None):
        """That a is at least, or at most, `times` (the factor) as bad as b; equal numbers are not worse."""
        times = self.factor if times is None else times
        atom = self.limit(a, b, times, sign) if self.worse > 0 else self.limit(b, a, times, sign)
        atom.strict = sign > 0 and times == 1
        return atom

    def shown(self, name, a, b, comparisons=1):
        """The ratio of two points, or their difference where the claim is not on logarithms."""
        if self.log:
            return Shown(name, self.contrast([(1, a), (-1, b)], True), comparisons, True)
        if self.exact:
            return Shown(name, computed(self.value(a) / self.value(b)))
        return Shown(name + "_difference", self.contrast([(1, a), (-1, b)]), comparisons)

    def best(self, points):
        return self.curves.best(self.series, self.metric, list(points))

    def at(self, x):
        if x not in self.points:
            raise NotRun(f"x = {x}")
        return self.points[x]

    def without(self, *xs):
        return [p for x, p in self.points.items() if x not in xs]


def on_scale(value, parts, log):
    """Pseudo-values of the parts, of the logarithm to first order around the value of all the test data."""
    parts = np.asarray(parts, float)
    return math.log(value) + parts / value - 1 if log else parts


def optimum(case):
    ends = [case.points[case.x[0]], case.points[case.x[-1]]]
    middle = [case.points[x] for x in case.x[1:-1] if x in case.claim.get("among", [x])]
    if not middle:
        raise NotRun("no x between the ends")
    claim = All([Any([case.as_bad(e, p) for p in middle]) for e in ends])
    best = case.best(middle)
    return claim, [case.shown(n, e, best, len(middle)) for n, e in zip(("ratio_low", "ratio_high"), ends)]


@kind
def interior_optimum(case):
    return optimum(case)


@kind
def no_interior_optimum(case):
    claim, shown = optimum(case)
    return Opposite(claim), shown


@kind
def optimum_at(case):
    inside = lambda x: case.claim.get("low", -math.inf) <= x <= case.claim.get("high", math.inf)
    named = case.claim.get("among") or [x for x in case.x if inside(x)]
    among, rivals = [case.at(x) for x in named], case.without(*named)
    if not among or not rivals:
        raise NotRun("nothing to compare")
    are_worse_by = lambda times: All([Any([case.as_bad(r, a, times=times) for a in among]) for r in rivals])
    claim = are_worse_by(case.factor)
    if case.factor > 1:  # what is smaller than the factor does not count against it either
        claim = Between(claim, are_worse_by(1 / case.factor))
    return claim, [case.shown("ratio", case.best(rivals), case.best(among), len(rivals) * len(among))]


@dataclass
class LeastCost:
    """The cost of a pair of x is the most of some ratios (or differences); this is the least cost of the pairs. An end
    of its interval is where the test of "each costs as much" begins to pass, or to fail."""
    name: str
    pairs: list  # of lists of estimates
    log: bool

    def interval(self, alpha):
        back = math.exp if self.log else float
        value = back(min(max(e.mean for e in costs) for costs in self.pairs))
        if self.pairs[0][0].seeds == 0:
            return self.name, value, math.nan, math.nan, math.nan
        lows = [[e.interval(alpha / len(costs))[0] for e in costs] for costs in self.pairs]
        highs = [[e.interval(alpha / len(self.pairs))[1] for e in costs] for costs in self.pairs]
        lows = [[x for x in costs if not math.isnan(x)] for costs in lows]
        highs = [max(costs) for costs in highs if not any(map(math.isnan, costs))]
        low = min(map(max, lows)) if all(lows) else math.nan
        return self.name, value, back(low), back(min(highs, default=math.nan)), 1 - 2 * alpha


@kind
def optimum_differs(case):
    other, direction = case.curve(case.claim["than"]["series"]), case.claim.get("direction")
    ruled_out = {None: lambda a, b: a == b, "larger": lambda a, b: a <= b, "smaller": lambda a, b: a >= b}[direction]
    pairs = [(p, q) for p in case.points.values() for q in other.values() if ruled_out(p.x, q.x)]
    if not pairs:
        raise NotRun("nothing in common")
    rivals = {id(p): [q for q in points.values() if q is not p] for points in (case.points, other)
              for p in points.values()}
    claim = All([Any([case.as_bad(p, q) for p in pair for q in rivals[id(p)]]) for pair in pairs])
    sign = case.worse
    if case.exact:
        ratio = lambda p, q: computed((case.value(p) / case.value(q)) ** sign)
    else:
        ratio = lambda p, q: case.contrast([(sign, p), (-sign, q)], case.log)
    name = "ratio" if case.log or case.exact else "ratio_difference"
    costs = [[ratio(p, q) for p in pair for q in rivals[id(p)]] for pair in pairs]
    return claim, [LeastCost(name, costs, case.log)]


@kind
def within_factor(case):
    here, others = case.at(case.claim["at"]), case.without(case.claim["at"])
    atoms = {p.x: case.as_bad(here, p, -1) for p in others}
    best, worst = case.best(others), max(others, key=lambda p: atoms[p.x].p())
    shown = [case.shown("ratio", here, best, len(others))]
    if not case.exact and atoms[best.x].p() <= case.alpha < atoms[worst.x].p():
        shown.append(case.shown("ratio_to_open_x", here, worst, len(others)))
    return All(list(atoms.values())), shown


@kind
def worse_than_best(case):
    here, others = case.at(case.claim["at"]), case.without(case.claim["at"])
    return Any([case.as_bad(here, p) for p in others]), [case.shown("ratio", here, case.best(others), len(others))]


@kind
def flat(case):
    points = list(case.points.values())
    pairs = [(a, b) for a in points for b in points if a is not b]
    least, most = min(points, key=case.value), max(points, key=case.value)
    shown = [case.shown("ratio", most, least, len(pairs))]
    if case.exact:
        values = [v for p in points for v in p.values.values()]
        return AtLeast(computed(case.factor * min(values) - max(values)), 0.0), shown
    return All([case.limit(a, b, case.factor, -1) for a, b in pairs]), shown


@kind
def less_than(case):
    than = case.claim["than"]
    other = case.curve(than.get("series"), than.get("metric"))
    at = [case.claim["at"]] if "at" in case.claim else case.x
    pairs = [(case.points[x], other[than.get("at", x)]) for x in at if x in case.points and than.get("at", x) in other]
    if not pairs:
        raise NotRun("nothing in common")
    atoms = [case.limit(b, a, case.factor, 1) for a, b in pairs]
    for atom in atoms:
        atom.strict = case.factor == 1
    own, rival = max(pairs, key=lambda pair: case.value(pair[0]) / case.value(pair[1]))
    return All(atoms), [case.shown("ratio", own, rival, len(pairs))]


@kind
def monotone(case):
    points, back = list(case.points.values()), 1 + case.claim.get("tolerance", 0.0)
    if case.claim["direction"] == "rising":
        points.reverse()  # as a falling curve, read from its end
    steps = list(zip(points[1:], points))
    whole = case.limit(points[0], points[-1], case.factor, 1)
    whole.strict = case.factor == 1
    worst = max(steps if case.claim["direction"] == "falling" else reversed(steps),
                key=lambda step: case.value(step[0]) / case.value(step[1]))
    return (All([case.limit(a, b, back, -1) for a, b in steps] + [whole]),
            [case.shown("ratio", points[0], points[-1]), case.shown("worst_step", *worst, len(steps))])


@kind
def gap(case):
    other, first, last = case.curve(case.claim["than"]["series"]), case.x[0], case.x[-1]
    if first not in other or last not in other:
        raise NotRun("the other series")
    w = case.worse
    terms = [(w, case.points[last]), (-w, other[last]), (-w, case.points[first]), (w, other[first])]
    change, sign = case.contrast(terms, True), 1 if case.claim["direction"] == "falls_behind" else -1
    learned = case.learned(*(p for _, p in terms))
    return AtLeast(change, sign * math.log(case.factor), sign, learned=learned), [Shown("ratio", change, log=True)]


def steps_to(points, level, worse):
    """A point of the steps at which each seed that has a value at every x reached the level: between two x on the
    straight line through the logarithms; a bound where it was reached at the first x, or not at the last."""
    xs, out = list(points), Point(math.nan, {}, {}, {}, {}, {})
    for seed in points[xs[0]].values:
        if any(seed not in p.values for p in points.values()):
            continue
        reached = [worse * p.values[seed] <= worse * level for p in points.values()]
        i = reached.index(True) if any(reached) else len(xs)
        if i in (0, len(xs)):
            (out.more if i else out.less).add(seed)
            used, x = [(0.0, points[xs[i - 1 if i else 0]])], xs[i - 1 if i else 0]
        else:
            a, b = points[xs[i - 1]], points[xs[i]]
            fall, way = math.log(a.values[seed] / b.values[seed]), math.log(xs[i] / xs[i - 1])
            share = math.log(a.values[seed] / level) / fall
            used, x = [((1 - share) * way / fall, a), (share * way / fall, b)], xs[i - 1] * math.exp(share * way)
        out.values[seed] = x
        if all(seed in p.parts for _, p in used):
            out.parts[seed] = x * (1 + sum(w * (np.asarray(p.parts[seed]) / p.values[seed] - 1) for w, p in used))
    return out


@kind
def steps_ratio(case):
    other, level = case.curve(case.claim["than"]["series"]), case.claim["value"]
    own, rival = (steps_to(points, level, case.worse) for points in (case.points, other))
    ratio = case.contrast([(1, own), (-1, rival)], True)
    last = [points[list(points)[-1]] for points, p in ((case.points, own), (other, rival)) if p.more]
    sides = [AtLeast(ratio, math.log(case.claim[key]), sign, learned=case.learned(*last))
             for key, sign in (("low", 1), ("high", -1)) if key in case.claim]
    return All(sides), [Shown("ratio", ratio, log=True)]
