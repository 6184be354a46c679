#!/usr/bin/env python3
"""tables.py [--check]: writes the tables of docs/performance.md: predicted times (predict.py) and measured ones
(measured.json in this folder, which run_all.py writes on a machine with a GPU). --check: exits with 1 when the page is
not what would be written.

A table stands between the lines `<!-- table: NAME -->` and `<!-- end -->`."""
import argparse
import json
import pathlib
import re
import sys

import predict
import read

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/performance.md"


def predicted(rows):
    cards = list(predict.CARDS)
    out = ["| workload | GFLOP | MB | kernels | " + " | ".join(f"{c}, *predicted*" for c in cards) + " |",
           "|---|---|---|---|" + "---|" * len(cards)]
    for name, row in rows.items():
        times = [" / ".join(f"{row['milliseconds'][c][way]:.2f}" for way in predict.WAYS) for c in cards]
        size, count = (" / ".join(f"{row[key][way]:.0f}" for way in predict.WAYS) for key in ("megabytes", "kernels"))
        out.append(f"| {name} | {row['gflop']} | {size} | {count} | " + " | ".join(times) + " |")
    return "\n".join(out)


def measured():
    path = HERE / "measured.json"
    if not path.exists():
        return "*Never measured: no GPU was at hand. `tests/gpu/run-all.sh` fills this table.*"
    return read.measured(json.loads(path.read_text()))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true")
    given = arguments.parse_args()
    tables = {"predicted": predicted(predict.predict()), "measured": measured()}
    old = new = PAGE.read_text()
    for name, text in tables.items():
        pattern = rf"(<!-- table: {name} -->\n).*?(<!-- end -->)"
        if not re.search(pattern, new, re.S):
            sys.exit(f"{PAGE}: no table '{name}'")
        new = re.sub(pattern, lambda m: m[1] + text.strip() + "\n" + m[2], new, flags=re.S)
    if given.check and new != old:
        sys.exit(f"{PAGE} is not what tests/gpu/tables.py writes")
    if new != old:
        PAGE.write_text(new)


if __name__ == "__main__":
    main()
