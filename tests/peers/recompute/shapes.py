"""Kinds of claims about the shape of a curve and about levels, as those in kinds.py."""

import math
from dataclasses import dataclass

import numpy as np

from .estimate import All, Any, AtLeast, computed
from .kinds import NotRun, Shown, kind
from .study import mean


def limits(claim, estimate):
    return [AtLeast(estimate, claim[key], sign) for key, sign in (("low", 1), ("high", -1)) if key in claim]


@kind
def slope(case):
    axes = case.claim.get("axes", "log-log")
    xs = np.array(case.x) if axes == "linear" else np.log(case.x)
    weights = (xs - xs.mean()) / ((xs - xs.mean()) ** 2).sum()
    line = case.contrast([(float(w), case.points[x]) for w, x in zip(weights, case.x)], axes == "log-log")
    return All(limits(case.claim, line)), [Shown("slope", line)]


@kind
def curved(case):
    first, last = case.points[case.x[0]], case.points[case.x[-1]]

    def off(point, times):
        """The point less `times` the straight line from the first to the last."""
        share = (point.x - first.x) / (last.x - first.x)
        return case.contrast([(1, point), (times * (share - 1), first), (-times * share, last)])

    def percent(point):
        distance = off(point, 1).mean
        return abs(distance / (mean(list(point.values.values())) - distance)) if distance else 0.0

    inside, share = [case.points[x] for x in case.x[1:-1]], case.claim["percent"] / 100
    claim = Any([AtLeast(off(p, 1 + sign * share), 0.0, sign) for p in inside for sign in (1, -1)])
    return claim, [Shown("difference", off(max(inside, key=percent), 1), len(inside))]


@kind
def saturates(case):
    points = list(case.points.values())

    def gains(last, first):
        """`last` times the last gain less `first` times the first, each for a doubling of x, towards the better."""
        per_last = case.worse * last / math.log2(points[-1].x / points[-2].x)
        per_first = case.worse * first / math.log2(points[1].x / points[0].x)
        return case.contrast([(per_last, points[-2]), (-per_last, points[-1]), (-per_first, points[0]),
                              (per_first, points[1])])

    first = AtLeast(gains(0, -1), 0.0)
    first.strict = True
    share = gains(1, 0).mean / first.estimate.mean if first.estimate.mean else math.nan
    shown = Shown("share", computed(share))
    if not case.exact and first.estimate.mean > 0 and first.estimate.seeds > 1:
        shown = Share("share", gains, share)
    return All([AtLeast(gains(1, case.claim.get("fraction", 0.1)), 0.0, -1), first]), [shown]


@dataclass
class Share:
    """The share of the first gain that the last one has, with Fieller's interval (1954)."""
    name: str
    gains: object
    share: float

    def interval(self, alpha):
        low, high = (fieller(self.gains, self.share, alpha, sign) for sign in (-1, 1))
        return self.name, self.share, low, high, 1 - 2 * alpha


def fieller(gains, share, alpha, sign):
    """The end of the interval of the share: where the test of "last = ratio * first" begins to reject."""
    rejects = lambda ratio: AtLeast(gains(1, ratio), 0.0, -sign).p() < alpha
    reach = 1e-3 * max(abs(share), 1e-6)
    while not rejects(share + sign * reach):
        reach *= 2
        if reach > 1e9:
            return sign * math.inf
    low, high = 0.0, reach
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if rejects(share + sign * middle) else (middle, high)
    return share + sign * low


@kind
def band(case):
    if case.exact:
        levels = [computed(v) for p in case.points.values() for v in p.values.values()]
    else:
        levels = [case.contrast([(1, p)]) for p in case.points.values()]
    least, most = min(levels, key=lambda e: e.mean), max(levels, key=lambda e: e.mean)
    return (All([atom for e in levels for atom in limits(case.claim, e)]),
            [Shown("least", least, len(levels)), Shown("most", most, len(levels))])


@kind
def within_percent(case):
    points = [p for x, p in case.points.items() if x == case.claim.get("at", x)]
    share = case.claim.get("percent", 0.0) / 100
    atoms, compared = [], []
    other = case.curve(None, case.claim["of"]) if "of" in case.claim else None
    for p in points:
        if other is not None:
            if p.x not in other:
                continue
            target, weights = mean(list(other[p.x].values.values())), [(-1, other[p.x])]
        else:
            target, weights = case.paper(p.x, case.claim), []
            if target is None:
                continue
        sign = -1 if target < 0 else 1
        for side in (1, -1):
            limit = 1 + side * share
            number = case.contrast([(sign, p)] + [(w * sign * limit, q) for w, q in weights])
            atoms.append(AtLeast(number, 0.0 if weights else sign * target * limit, -side))
        distance = mean(list(p.values.values())) - target
        off = 0.0 if distance == 0 else abs(distance / target) if target else math.inf
        compared.append((off, "difference" if weights else "value", case.contrast([(1, p)] + weights)))
    if not atoms:
        raise NotRun("nothing to compare with")
    _, name, number = max(compared, key=lambda one: one[0])
    return All(atoms), [Shown(name, number, len(compared))]
