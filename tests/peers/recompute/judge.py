"""All claims of a study and profile: looks, guards, Holm's correction, exclusions, verdicts (docs/claims.md)."""

import math
from dataclasses import dataclass, field

from . import shapes  # noqa: F401, which adds its kinds
from .bound import bound_from_below
from .estimate import holm
from .kinds import KINDS, Case, NotRun
from .study import Curves, mean

COMPARES = {"interior_optimum", "no_interior_optimum", "optimum_at", "within_factor", "worse_than_best", "flat",
            "less_than", "monotone", "gap", "steps_ratio", "optimum_differs"}


@dataclass
class Verdict:
    claim: dict
    status: str = ""
    p: float = math.nan
    p_against: float = math.nan
    intervals: list = field(default_factory=list)  # (name, value, low, high, level)
    hypothesis: object = None
    open: str = ""  # why it stays undecided whatever its p-values are
    shared: bool = False  # rates were chosen on the reported items: undecided, but seeds are added all the same
    series: list = field(default_factory=list)  # that it speaks of


class Judge:
    """Judges the claims on some trials, each at the share of its significance that its series leave it."""

    def __init__(self, tables, trials, share, paper_tables):
        self.tables, self.trials, self.share, self.paper_tables = tables, trials, share, paper_tables
        self.curves = Curves(tables, trials)
        self.series = [s["name"] for s in tables.get("series", [])] or [""]

    def spoken_of(self, claim):
        """The series that a claim is about."""
        other = claim.get("than", {}).get("series")
        return [claim.get("series") or self.series[0]] + ([other] if other else [])

    def alpha(self, claim):
        return claim.get("significance", 0.05) * self.share(self.spoken_of(claim))

    def paper(self, x, claim):
        """The paper's number for within_percent: stated in the claim, or of a column of its tables."""
        if "value" in claim or "paper_number" in claim:
            return claim.get("value", claim.get("paper_number"))
        node = self.paper_tables
        for key in claim["reference"][:-1]:
            node = node[key]
        xs = next(v for k, v in node.items() if k != "lines" and isinstance(v, list))
        return dict(zip(xs, node[claim["reference"][-1]])).get(x)

    def first_pass(self, claim):
        """A verdict before Holm's correction."""
        v = Verdict(claim, series=self.spoken_of(claim))
        case = Case(claim, self.curves, v.series[0], self.alpha(claim), self.paper)
        try:
            if not case.points or any(not p.values for p in case.points.values()):
                raise NotRun("nothing finished")
            if claim["kind"] == "bound_holds":
                v.status = self.bound_holds(claim, case)
                return v
            self.check_ratios(case)
            v.hypothesis, shown = KINDS[claim["kind"]](case)
            v.intervals = [one.interval(case.alpha) for one in shown]
            v.open = self.unlearned(case) or self.untuned(case)
            v.shared = self.shared(case)
        except NotRun as reason:
            v.status, v.open = "not run", str(reason)
        return v

    def bound_holds(self, claim, case):
        trials = [t for t in self.trials if t.series == case.series and t.finished and t.x in case.points]
        if claim["bound"] == "overlay":
            lowest = {t.x: bound_from_below(t.config) for t in trials}
            return "pass" if all(t.test[case.metric] <= lowest[t.x] for t in trials) else "skipped"
        pairs = [(t.test[case.metric], t.test[claim["bound"]]) for t in trials]
        pairs = [(a, b) for a, b in pairs if not math.isnan(a + b) and not (math.isinf(a) and math.isinf(b))]
        return "not run" if not pairs else "pass" if all(a <= b for a, b in pairs) else "fail"

    def check_ratios(self, case):
        """Ratios need values above 0, at every x of the range."""
        if case.exact or case.claim["kind"] not in COMPARES or not (case.log or case.factor > 1):
            return
        than = case.claim.get("than", {})
        rivals = case.curve(than.get("series"), than.get("metric")) if {"series", "metric"} & set(than) else {}
        if any(value <= 0 for p in [*case.points.values(), *rivals.values()] for value in p.values.values()):
            raise NotRun("a ratio of values that are not positive")

    def compared(self, case):
        """The curves that a claim compares."""
        other = case.claim.get("than", {}).get("series")
        return [case.points] + ([case.curve(other)] if other else [])

    def unlearned(self, case):
        needed = case.needed(case.metric)
        if case.deterministic or case.claim["kind"] not in COMPARES or needed is None:
            return ""
        for points in self.compared(case):
            series = case.series if points is case.points else case.claim["than"]["series"]
            geometric = self.curves.geometric(series, case.metric)
            best = min(case.worse * mean(list(p.values.values()), geometric) for p in points.values())
            if best <= case.worse * needed:
                return ""
        return "not learned"

    def untuned(self, case):
        if case.deterministic or case.claim["kind"] not in COMPARES or case.claim.get("single_rate"):
            return ""
        points = [p for curve in self.compared(case) for p in curve.values()]
        is_untuned = any(p.key_alone() or p.key_at_edge() for p in points) or self.has_fixed_rate(case)
        return "rates not tuned" if is_untuned else ""

    def has_fixed_rate(self, case):
        """Whether a trained model that the claim compares had the study's one rate."""
        rate, series = "train.optimizer.lr", {case.series, case.claim.get("than", {}).get("series")}
        if self.tables["report"]["x"]["key"] == rate or self.tables.get("train", {}).get("timed"):
            return False
        return any(t.steps > 0 and case.metric in t.validation and rate not in dict(t.choice)
                   for t in self.trials if t.series in series and t.finished)

    def shared(self, case):
        if case.deterministic or case.claim["kind"] not in COMPARES:
            return False
        return any(not p.held_out for curve in self.compared(case) for p in curve.values())

    @staticmethod
    def rests_on_learned(v, alpha):
        """Whether the comparisons of what every seed learned reach the significance, at Holm's step for this claim."""
        passes = v.status == "pass"
        adjusted = v.p if passes else v.p_against
        every = v.hypothesis.p() if passes else v.hypothesis.p_against()
        rest = v.hypothesis.p(True) if passes else v.hypothesis.p_against(True)
        return rest == every or rest * adjusted <= alpha * every

    def all(self):
        verdicts = [self.first_pass(claim) for claim in self.tables.get("claim", [])]
        sampled = []
        for v in verdicts:
            if v.hypothesis is None:
                continue
            if not v.hypothesis.is_sampled():
                p, q = v.hypothesis.p(), v.hypothesis.p_against()
                v.status = "pass" if p == 0 else "fail" if q == 0 else "undecided"
            else:
                sampled.append(v)
        shares = [self.share(v.series) for v in sampled]
        own = [share / min(shares) for share in shares]  # Holm's order is that of p over the share
        ps = holm([v.hypothesis.p() / k for v, k in zip(sampled, own)])
        against = holm([v.hypothesis.p_against() / k for v, k in zip(sampled, own)])
        for v, k, p, q in zip(sampled, own, ps, against):
            alpha, v.p, v.p_against = self.alpha(v.claim), min(1, k * p), min(1, k * q)
            v.status = "pass" if v.p <= alpha else "fail" if v.p_against <= alpha else "undecided"
            if v.status != "undecided" and not self.rests_on_learned(v, alpha):
                v.status, v.open = "undecided", "seeds that did not learn"
        passed = [v for v in verdicts if v.status == "pass"]
        for a in passed:
            for b in passed:
                if b.claim.get("id") in a.claim.get("excludes", []):
                    a.status = b.status = "undecided"
        for v in sampled:
            if v.open or v.shared:
                v.status = "undecided"
        return verdicts
