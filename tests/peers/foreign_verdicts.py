#!/usr/bin/env python3
"""Recomputes verdicts of `headroom judge` on made-up runs with SciPy and none of the program's code:

    python3 tests/peers/foreign_verdicts.py build/experiments/headroom [CSV CLAIMS]

Paired, unpaired and anytime comparisons of arms ("less_than" with another series) at rates that validation chose. Anytime
p-values come from the likelihood of Student's noncentral t by quadrature, not from the program's closed form. p-values,
ratios and ends of intervals must agree to 1e-6 of their size, verdicts exactly. CSV and CLAIMS: runs of your own. Exits 1
on a difference, 77 without SciPy."""
import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import numpy as np
    import tomllib
    from scipy import integrate, optimize, stats
except ImportError:
    print("SciPy and Python 3.11: not there")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
G = 0.3  # anytime_g of experiments/studies/analysis/statistics.h


def anytime_p(t, n):
    density = lambda d: 2 * stats.norm.pdf(d, scale=G ** -0.5) * stats.nct.pdf(t, n - 1, d * n ** 0.5)
    width = 8 * G ** -0.5
    weighed = sum(integrate.quad(density, a, a + width / 16, epsabs=0, epsrel=1e-10)[0] for a in np.arange(16) * width / 16)
    return min(1.0, stats.t.pdf(t, n - 1) / weighed)


class Sum:
    """A mean's variance a on a_degrees, and d on d_degrees of another sample; its tail and its critical value."""

    def __init__(self, a, a_degrees, d=0.0, d_degrees=1.0, anytime=0):
        self.a, self.d, self.degrees, self.anytime = a, d, (a_degrees, d_degrees), anytime

    def critical(self, tail):
        if self.anytime:
            if anytime_p(1e4, self.anytime) > tail:
                return math.inf
            return optimize.brentq(lambda t: math.log(anytime_p(t, self.anytime) / tail), 1e-9, 1e4, xtol=1e-12)
        one, two = (stats.t.isf(tail, df) for df in self.degrees)
        return (self.a * one + self.d * two) / (self.a + self.d)

    def tail(self, t):
        if self.anytime:
            return anytime_p(t, self.anytime)
        if t < 0:
            return 1 - self.tail(-t)
        return math.exp(optimize.brentq(lambda u: self.critical(math.exp(u)) - t, math.log(1e-200), math.log(0.5 + 1e-15)))


def last_values(path, roles):
    """{(arm, rate): {seed: (validation, test)}} at the last step that all runs have."""
    rows = list(csv.DictReader(open(path, encoding="utf-8")))
    step = lambda row: float(row.get("step") or 0)
    last = {}
    for row in rows:
        key = row[roles["series"]], row.get(roles.get("rate"), ""), row["seed"]
        last[key] = max(last.get(key, 0), step(row))
    at, values = min(last.values()), {}
    for row in rows:
        if step(row) == at:
            cell = values.setdefault((row[roles["series"]], row.get(roles.get("rate"), "")), {})
            cell[row["seed"]] = tuple(float(row[roles[k]]) for k in ("choose", "metric") if k in roles)
    return values


def chosen(values, arm):
    """{seed: log test} of the arm at the rate with the best validation."""
    cells = [cell for (name, _), cell in values.items() if name == arm]
    best = min(cells, key=lambda cell: np.mean([math.log(v[0]) for v in cell.values()]))
    return {seed: math.log(v[-1]) for seed, v in best.items()}


def compare(a, b, anytime):
    """(mean of log a / b, its Sum)."""
    both = sorted(a.keys() & b.keys())
    if len(both) >= 2 and 2 * len(both) >= min(len(a), len(b)):
        differences = np.array([a[s] - b[s] for s in both])
        n = len(both)
        return differences.mean(), Sum(differences.var(ddof=1) / n, n - 1, anytime=anytime * n)
    one, two = sorted((list(a.values()), list(b.values())), key=len)
    parts = [(np.var(v, ddof=1) / len(v), len(v) - 1) for v in (one, two)]
    mean = np.mean(list(a.values())) - np.mean(list(b.values()))
    if anytime:
        return mean, Sum(parts[0][0] + parts[1][0], 1, anytime=len(one))
    return mean, Sum(*parts[0], *parts[1])


def holm(p):
    order, adjusted, largest = sorted(range(len(p)), key=lambda i: p[i]), [0.0] * len(p), 0.0
    for j, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - j) * p[i]))
        adjusted[i] = largest
    return adjusted


def recomputed(path, claims, anytime):
    roles, values, found = claims["runs"], None, []
    values = last_values(path, roles)
    for claim in claims["claim"]:
        mean, total = compare(chosen(values, claim["series"]), chosen(values, claim["than"]["series"]), anytime)
        error, threshold = math.sqrt(total.a + total.d), math.log(1 / claim.get("factor", 1))
        t = (threshold - mean) / error
        half = error * total.critical(0.05)
        found.append({"p": total.tail(t), "against": total.tail(-t), "ratio": math.exp(mean),
                      "low": math.exp(mean - half), "high": math.exp(mean + half)})
    for key in ("p", "against"):
        for one, p in zip(found, holm([f[key] for f in found])):
            one[key] = p
    for one in found:
        one["status"] = "pass" if one["p"] <= 0.05 else "fail" if one["against"] <= 0.05 else "undecided"
    return found


def agree(ours, theirs):
    return not math.isfinite(ours) if theirs is None else abs(ours - theirs) <= 1e-6 * max(abs(theirs), 1e-12)


def check(program, name, path, claims_file, *options):
    claims = tomllib.loads(pathlib.Path(claims_file).read_text(encoding="utf-8"))
    done = subprocess.run([program, "judge", path, "--claims", claims_file, "--json", *options], stdout=subprocess.PIPE)
    verdicts = json.loads(done.stdout)["verdicts"]
    ours, wrong = recomputed(path, claims, "--anytime" in options), 0
    assert len(ours) == len(verdicts)
    for own, their in zip(ours, verdicts):
        interval = their["intervals"][0]
        numbers = {"p": their["p"], "against": their["p_against"], "ratio": interval["value"], "low": interval["low"],
                   "high": interval["high"]}
        for key, value in numbers.items():
            if not agree(own[key], value):
                print(f"{name}: {key} is {own[key]!r}, the program says {value!r}")
                wrong += 1
        if own["status"] != their["status"]:
            print(f"{name}: {own['status']}, the program says {their['status']}")
            wrong += 1
    return len(ours), wrong


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-B", ROOT / "examples/judge/make_runs.py", folder], check=True)
        claims = pathlib.Path(folder, "claims.toml")
        claims.write_text('[runs]\nmetric = "test_loss"\nchoose = "val_loss"\nseries = "optimizer"\nrate = "lr"\n' + "".join(
            f'\n[[claim]]\nkind = "less_than"\nseries = "{a}"\nthan = {{ series = "{b}" }}\nfactor = {f}\nbecause = "a test"\n'
            for a, b, f in (("muon", "adamw", 1.01), ("adamw", "sgd", 1.05), ("adamw", "muon", 1.002))), encoding="utf-8")
        paired, unpaired = pathlib.Path(folder, "optimizers.csv"), pathlib.Path(folder, "unpaired.csv")
        lines = paired.read_text(encoding="utf-8").splitlines()
        rows = [line.split(",") for line in lines[1:]]  # each arm its own seeds, and Muon fewer
        kept = [[r[0], r[1], f"{r[0]} {r[2]}", *r[3:]] for r in rows if not (r[0] == "muon" and int(r[2]) > 3)]
        unpaired.write_text("\n".join([lines[0], *(",".join(r) for r in kept)]) + "\n", encoding="utf-8")
        cases = [("given", *sys.argv[2:4])] if len(sys.argv) > 3 else [("paired", paired, claims), ("unpaired", unpaired, claims)]
        compared = wrong = 0
        for name, path, claims_file in cases:
            for options in ([], ["--anytime"]):
                more, bad = check(program, " ".join([name, *options]), str(path), str(claims_file), "--no-record", *options)
                compared, wrong = compared + more, wrong + bad
    print(f"{compared} verdicts, {5 * compared} numbers compared, {wrong} differ")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
