"""Student's t: its tail, from the regularised incomplete beta function by the continued fraction DLMF 8.17.22 (Lentz's
method), and its quantile, by bisection. The same of a sum of variances, with Cochran's critical value (1964)."""

import math


def incomplete_beta(a, b, x):
    """I_x(a, b) for 0 <= x <= 1."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast only on this side
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)) / a
    tiny = 1e-300
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    fraction = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / ((1 + term * d) or tiny)
            c = (1 + term / c) or tiny
            fraction *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return front * fraction


def upper_tail(t, df):
    """P(T > t) with df degrees of freedom."""
    half = 0.5 * incomplete_beta(df / 2, 0.5, df / (df + t * t))
    return half if t > 0 else 1 - half


def quantile(p, df):
    """t with P(T > t) = p, for 0 < p < 1."""
    if p > 0.5:
        return -quantile(1 - p, df)
    low, high = 0.0, 1.0
    while upper_tail(high, df) > p:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if upper_tail(middle, df) > p else (low, middle)
    return (low + high) / 2


def quantile_of_sum(p, pieces):
    """The mean of the pieces' quantiles, weighed by their variances; pieces are (variance, degrees of freedom)."""
    return sum(variance * quantile(p, df) for variance, df in pieces) / sum(variance for variance, _ in pieces)


def upper_tail_of_sum(t, pieces):
    """The p that t is the quantile of, for one piece or two."""
    if len(pieces) == 1:
        return upper_tail(t, pieces[0][1])
    if t < 0:
        return 1 - upper_tail_of_sum(-t, pieces)
    (large, own), (small, other) = sorted(pieces, reverse=True)
    share = large / (large + small)
    low, high = 0.0, t / share  # of the larger piece's quantile, which leaves the other's
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        rest = (t - share * middle) / (small / (large + small))
        low, high = (middle, high) if upper_tail(middle, own) > upper_tail(rest, other) else (low, middle)
    return upper_tail((low + high) / 2, own)
