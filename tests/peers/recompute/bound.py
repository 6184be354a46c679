"""The paper's bound on second-order targets (its theorem on nonlinear targets), from below, which is enough to confirm
that errors are within it."""

import itertools
import math


def terms_of(kernel):
    """(lag, lag, |h|) of the Volterra kernel of a trial's config."""
    if kernel["kind"] != "exponential":
        raise NotImplementedError(kernel["kind"])
    lags = range(kernel["last"] + 1)
    return [(a, b, math.exp(-(a + b) / 2)) for a, b in itertools.product(lags, lags)]


def bound_from_below(config):
    """What the bound is at least. A term whose lags are both fetched costs |h| [B^2 (g_a + g_b) + (B + e_a)(B + e_b) -
    B^2], others |h| sqrt(d), with B = sqrt(d) for tokens of plus and minus one. Each lag is given all the heads that
    the others can spare, so that no split of the heads costs less."""
    task, model = config["task"], config["model"]
    if task["kind"] != "volterra" or task["input"] != "rademacher":
        raise NotImplementedError(task["kind"])
    d, heads, width = task["token_dim"], model["heads"], model["v_dim"]
    terms, b = terms_of(task["kernel"]), math.sqrt(d)
    lags = sorted({lag for a, c, _ in terms for lag in (a, c)} - {0})
    gamma = math.sqrt(1 - width / d) if width < d else 0.0
    least = math.inf
    for fetched in itertools.chain.from_iterable(itertools.combinations(lags, n) for n in range(len(lags) + 1)):
        if len(fetched) > heads:
            continue
        spare = heads - len(fetched) + 1
        loss = {0: 0.0, **{lag: b * 1.3 * math.exp(0.02 * lag) / spare for lag in fetched}}
        cost = 0.0
        for one, other, h in terms:
            if one in loss and other in loss:
                narrow = gamma * ((one > 0) + (other > 0))
                cost += h * (b * b * narrow + (b + loss[one]) * (b + loss[other]) - b * b)
            else:
                cost += h * math.sqrt(d)
        least = min(least, cost)
    return least
