#!/usr/bin/env python3
"""Recomputes every verdict in docs/results from the published trials, with NumPy alone and none of the program's code:

    python3 tests/peers/verdicts.py build/experiments/headroom [STUDY...] [--keep FOLDER]

The program imports docs/results/trials into a scratch folder and reports each study. Its verdicts.json are compared
with what recompute/ makes of the same files and of the studies' claims, by docs/claims.md. Estimates, intervals,
their levels and p-values must agree to 1e-6 of their size, verdicts exactly; and the seeds of each series must be those
that the looks call for, or an earlier look, which is printed. Exits 1 on a difference, 77 without NumPy.

    python3 tests/peers/verdicts.py --fresh

judges the same trials by the seeds that chose no learning rate alone, and lists the verdicts that do not stand."""

import argparse
import collections
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the folder may be one that is only read
try:
    import numpy  # noqa: F401
except ImportError:
    print("NumPy: not installed")
    sys.exit(77)

from recompute.judge import Judge
from recompute.rounds import Rounds
from recompute.study import Curves, load
from recompute.trials import problems, read

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRIALS, STUDIES = ROOT / "docs/results/trials", ROOT / "experiments"
TOLERANCE = 1e-6


def program_verdicts(program, runs, folder):
    """{(study, profile): verdicts} of what the program makes of the files."""
    call = lambda *args: subprocess.run([program, *map(str, args), "--out", folder], check=True, cwd=ROOT,
                                        stdout=subprocess.DEVNULL)
    call("import", *(path for _, _, path in runs))
    for profile in sorted({p for _, p, _ in runs}):
        call("report", *(STUDIES / f"{s}.toml" for s, p, _ in runs if p == profile), "--profile", profile)
    return {(s, p): json.loads((folder / s / p / "verdicts.json").read_text())["verdicts"] for s, p, _ in runs}


def recomputed(study, profile, path, paper):
    """Our verdicts of one file, what does not fit its plan, and what of it is still to be trained."""
    tables, trials = load(STUDIES / f"{study}.toml", profile), read(path)
    rounds = Rounds(tables, trials)
    verdicts = rounds.replay(lambda used, share: Judge(tables, used, share, paper).all())
    return verdicts, problems(tables, trials) + rounds.problems, rounds.open


def agree(ours, theirs, least=0.0):
    """Whether two numbers are the same to TOLERANCE of their size, or of `least`; null is what is not finite."""
    if theirs is None or not math.isfinite(ours):
        return theirs is None and not math.isfinite(ours)
    return abs(ours - theirs) <= TOLERANCE * max(abs(theirs), least)


def differences(ours, theirs):
    """(what, our number, the program's) of one claim."""
    found = [(what, a, b) for what, a, b in [("p", ours.p, theirs["p"]), ("p against", ours.p_against,
             theirs["p_against"])] if not agree(a, b)]
    if ours.status != theirs["status"]:
        found.append(("verdict", ours.status, theirs["status"]))
    mine, other = {i[0]: i for i in ours.intervals}, {i["name"]: i for i in theirs["intervals"]}
    for name in dict.fromkeys([*mine, *other]):
        if name not in mine or name not in other:
            found.append((f"interval {name}", *("is there" if name in x else "is missing" for x in (mine, other))))
            continue
        for key, a in zip(("value", "low", "high", "level"), mine[name][1:]):
            if not agree(a, other[name][key], 1e-9):
                found.append((f"{name} {key}", a, other[name][key]))
    return found


def by_fresh_seeds(runs, paper):
    """Prints what becomes of each decided verdict without the seeds that chose among several values."""
    counted = collections.Counter()
    for study, profile, path in runs:
        tables, trials = load(STUDIES / f"{study}.toml", profile), read(path)
        looks = []  # what the last look had
        all_seeds = Rounds(tables, trials).replay(lambda *look: looks.append(look) or Judge(tables, *look, paper).all())
        Curves.fresh = True
        fresh = Judge(tables, *looks[-1], paper).all()
        Curves.fresh = False
        for claim, a, b in zip(tables["claim"], all_seeds, fresh):
            if a.status not in ("pass", "fail"):
                continue
            if (a.p, a.p_against) == (b.p, b.p_against):
                counted["no such seeds in it"] += 1
                continue
            outcome = "stands" if a.status == b.status else {"not run": "no fresh seeds"}.get(b.status, b.status)
            counted[outcome] += 1
            if outcome != "stands":
                print(f"{study} {profile}: {', '.join(a.series)}: {claim['kind']}: {a.status}, {outcome}")
    print(dict(counted))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("program", type=pathlib.Path, nargs="?", help="not needed with --fresh")
    options.add_argument("study", nargs="*", help="ids; without: all")
    options.add_argument("--keep", type=pathlib.Path, help="folder for the program's runs, which stays")
    options.add_argument("--fresh", action="store_true", help="judge by seeds that chose no learning rate")
    arguments = options.parse_args()
    runs = [(p.parent.name, p.name.removesuffix(".jsonl.gz"), p) for p in sorted(TRIALS.glob("*/*.jsonl.gz"))]
    runs = [run for run in runs if not arguments.study or run[0] in arguments.study]
    paper = json.loads((STUDIES / "data/paper_tables.json").read_text(encoding="utf-8"))
    if arguments.fresh:
        return by_fresh_seeds(runs, paper)
    with tempfile.TemporaryDirectory() as scratch:
        theirs = program_verdicts(arguments.program.resolve(), runs, arguments.keep or pathlib.Path(scratch))
    passed = failed = skipped = numbers = 0
    for study, profile, path in runs:
        ours, wrong, missing = recomputed(study, profile, path, paper)
        for text in wrong + missing:
            print(f"{study} {profile}: {text}")
        failed += len(wrong)
        if len(ours) != len(theirs[study, profile]):
            print(f"{study} {profile}: {len(ours)} claims, the program has {len(theirs[study, profile])}")
            failed += 1
        for a, b in zip(ours, theirs[study, profile]):
            if a.status == "skipped":
                print(f"{study} {profile}: {b['claim']['name']}: skipped")
                skipped += 1
                continue
            found = differences(a, b)
            for what, own, other in found:
                print(f"{study} {profile}: {b['claim']['name']}: {what} is {own}, the program says {other}")
            failed += bool(found)
            passed += not found
            numbers += 2 * math.isfinite(a.p) + sum(math.isfinite(n) for i in a.intervals for n in i[1:4])
    print(f"{len(runs)} files, {numbers} numbers compared")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
