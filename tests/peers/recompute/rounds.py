"""Which seeds a study that trains "until decided" has: docs/studies.md, "Rounds", replayed on the trials."""

import math


def spent(share):
    """What looks at up to this share of the seeds may spend of the significance (Lan and DeMets, 1983)."""
    return math.log1p((math.e - 1) * share)


class Rounds:
    """The looks at a study's trials, and what is trained between them."""

    def __init__(self, tables, trials):
        seeds_of = lambda table, default: table.get("sweep", {}).get("seed", default)
        shared = seeds_of(tables, None)
        own = {s.get("name", ""): seeds_of(s, shared) for s in tables.get("series", [])}
        self.growing = {t.series for t in trials if isinstance(own.get(t.series, shared), dict)}
        self.trials, self.problems, self.open = trials, [], []
        if self.growing:
            rule = next(r for r in (shared, *own.values()) if isinstance(r, dict))  # a study has one
            self.first_seed, most, n = rule["from"], rule.get("at_most", 24), rule.get("first", 3)
            self.looks = []
            while n < most:
                self.looks.append(n)
                n *= 2
            self.looks.append(most)

    def replay(self, judge):
        """The verdicts of the last look, by judge(trials, shares), with the share of the significance that a claim may
        spend by the number of the look for which one of its series got its last seeds. A look has the first seeds of
        every series that grows, as many as it asks for of those whose claims were undecided at the look before and that
        got any, and all seeds of a series that has a list of them."""
        if not self.growing:
            return judge(self.trials, lambda series: 1.0)
        seeds = {series: self.looks[0] for series in self.growing}
        there = {series: len({t.seed for t in self.trials if t.series == series}) for series in self.growing}
        upto = [0.0] + [spent(n / self.looks[-1]) for n in self.looks]

        def share(series):
            last = max(self.looks.index(seeds.get(s, self.looks[0])) for s in series)
            return upto[last + 1] - upto[last]

        for look, n in enumerate(self.looks):
            used = [t for t in self.trials if t.seed < self.first_seed + seeds.get(t.series, math.inf)]
            verdicts = judge(used, share)
            undecided = {s for v in verdicts if v.status == "undecided" and not v.open for s in v.series} & self.growing
            if not undecided or look + 1 == len(self.looks):
                break
            more = self.looks[look + 1]
            asked = {s for s in undecided if there[s] > seeds[s]}
            if not asked:
                break
            seeds.update({s: more for s in asked})
        self.open = [f"{s}: the looks call for more seeds than the {seeds[s]} that were trained"
                     for s in sorted(undecided) if seeds[s] < self.looks[-1] and there[s] == seeds[s]]
        self.problems += [f"{s}: the looks call for {n} seeds, and there are {there[s]}"
                          for s, n in seeds.items() if there[s] != n]
        return verdicts
