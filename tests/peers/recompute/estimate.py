"""Means of contrasts over seeds and parts of the test data, and hypotheses about them (docs/claims.md, "Verdicts")."""

import math
from dataclasses import dataclass

import numpy as np

from .student import quantile_of_sum, upper_tail_of_sum


@dataclass
class Estimate:
    """A mean with its standard error; pieces are the variances that the error's square is the sum of, each with its
    degrees of freedom, and are empty where there is nothing to test."""
    mean: float
    error: float
    pieces: list
    seeds: int
    more: bool = False  # whether the mean may be more than the seeds say, as some of their values are lower bounds
    less: bool = False

    def interval(self, alpha):
        """The two-sided interval whose ends are one-sided tests at alpha."""
        if not self.testable():
            return math.nan, math.nan
        reach = quantile_of_sum(alpha, self.pieces) * self.error
        return -math.inf if self.less else self.mean - reach, math.inf if self.more else self.mean + reach

    def testable(self):
        return bool(self.pieces)


def computed(value):
    """A number without any error."""
    return Estimate(value, 0.0, [], 0)


def of_values(values, parts=None, free=None):
    """The mean over seeds of S values; parts holds the same numbers' pseudo-values, S x K. The seeds have `free` degrees
    of freedom, S - 1 without it."""
    values = np.asarray(values, float)
    seeds = len(values)
    mean = float(values.mean()) if seeds else math.nan
    if seeds < 2:
        return Estimate(mean, math.nan, [], max(seeds, 1))
    same = np.ptp(values) <= 1e-15 * np.abs(values).max()
    between = 0.0 if same else float(values.var(ddof=1)) / seeds
    free = seeds - 1 if free is None else free
    pieces = [(between, free)]
    if parts is not None and np.ptp([*values, *np.ravel(parts)]) > 1e-15 * np.abs(values).max():
        cells = np.asarray(parts, float)
        k = cells.shape[1]
        rows, columns, grand = cells.mean(1, keepdims=True), cells.mean(0, keepdims=True), cells.mean()
        of_parts = seeds * float(((columns - grand) ** 2).sum()) / (k - 1) / (seeds * k)
        rest = float(((cells - rows - columns + grand) ** 2).sum()) / ((seeds - 1) * (k - 1)) / (seeds * k)
        pieces.append((max(0.0, of_parts - rest), k - 1))
    pieces = [(variance, df) for variance, df in pieces if variance > 0 and free >= 1]
    return Estimate(mean, math.sqrt(sum(variance for variance, _ in pieces)), pieces, seeds)


@dataclass
class AtLeast:
    """The estimate's mean is at least the threshold (at most, with sign -1); above it where strict."""
    estimate: Estimate
    threshold: float
    sign: int = 1
    strict: bool = False
    learned: bool = True  # at every seed of what it compares

    def tail(self, sign, learned_only):
        """The one-sided p-value that the data refute the other side; 1 where there is no test."""
        e = self.estimate
        if learned_only and not self.learned:
            return 1.0
        if e.less if sign * self.sign > 0 else e.more:
            return 1.0
        if e.seeds == 0 and not math.isnan(e.mean):
            return 0.0 if self.holds() == (sign > 0) else 1.0
        if not e.testable():
            return 1.0
        return upper_tail_of_sum(sign * self.sign * (e.mean - self.threshold) / e.error, e.pieces)

    def p(self, learned_only=False):
        return self.tail(1, learned_only)

    def p_against(self, learned_only=False):
        return self.tail(-1, learned_only)

    def is_sampled(self):
        return self.estimate.seeds > 0

    def holds(self):
        distance = self.sign * (self.estimate.mean - self.threshold)
        return distance > 0 if self.strict else distance >= 0


@dataclass
class All:
    parts: list

    def is_sampled(self):
        return any(h.is_sampled() for h in self.parts)

    def p(self, learned_only=False):
        return max(h.p(learned_only) for h in self.parts)

    def p_against(self, learned_only=False):
        return min(1.0, len(self.parts) * min(h.p_against(learned_only) for h in self.parts))


@dataclass
class Any:
    parts: list

    def is_sampled(self):
        return any(h.is_sampled() for h in self.parts)

    def p(self, learned_only=False):
        return min(1.0, len(self.parts) * min(h.p(learned_only) for h in self.parts))

    def p_against(self, learned_only=False):
        return max(h.p_against(learned_only) for h in self.parts)


@dataclass
class Opposite:
    whole: object

    def is_sampled(self):
        return self.whole.is_sampled()

    def p(self, learned_only=False):
        return self.whole.p_against(learned_only)

    def p_against(self, learned_only=False):
        return self.whole.p(learned_only)


@dataclass
class Between:
    """Supported where `strict` is, refuted where `lenient` is."""
    strict: object
    lenient: object

    def is_sampled(self):
        return self.strict.is_sampled() or self.lenient.is_sampled()

    def p(self, learned_only=False):
        return self.strict.p(learned_only)

    def p_against(self, learned_only=False):
        return self.lenient.p_against(learned_only)


def holm(ps):
    """Holm's step-down (1979)."""
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    adjusted, largest = list(ps), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[i]))
        adjusted[i] = largest
    return adjusted
