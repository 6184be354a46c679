#!/usr/bin/env python3
"""Counts the instructions of a training step of each workload, made small, under valgrind, and says what changed.

    python instructions.py PROGRAM [--write] [--margin 0.02] [NAME…]

A count is what callgrind collects within Trainer::step during eight steps on one thread with AVX2 (valgrind knows no
AVX-512): neither the start nor what else the machine does is in it. Counts are compared with instructions.json beside this
script, which --write brings up to date; a workload that it lacks is printed as new. The exit status is 1 where one differs
by more than the margin. Another CPU, compiler or version of oneDNN counts otherwise: write the file of the older program on
the same machine first.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).parent
WORKLOADS = HERE / "../../experiments/tools/bench/workloads.toml"
COUNTS = HERE / "instructions.json"
SMALL = {"length": 32, "batch": 2, "layers": 2, "vocab": 512}


def small(workload):
    return {key: min(value, SMALL[key]) if key in SMALL else value for key, value in workload.items()}


def counted(program, name, file):
    # Three steps before the timed ones, and five as none takes less than a millisecond here.
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no",
               "--toggle-collect=headroom::tasks::Trainer::step(std::function<void (headroom::tasks::Phase)> const&)", program, "bench", name, "--workloads", file, "--seconds",
               "0.001", "--threads", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HEADROOM_ISA": "avx2"})
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found or json.loads(done.stdout.splitlines()[-1])["steps"] != 5:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return int(found[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--margin", type=float, default=0.02)
    args = parser.parse_args()
    tables = tomllib.loads(WORKLOADS.read_text())
    defaults = tables.pop("defaults")
    before = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    counts, changed = {}, []
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "small.toml")
        for name in args.names or tables:
            lines = [f"{key} = {json.dumps(value)}" for key, value in small({**defaults, **tables[name]}).items()]
            file.write_text(f"[defaults]\n[{name}]\n" + "\n".join(lines) + "\n")
            counts[name] = counted(args.program, name, file)
            ratio = counts[name] / before[name] if name in before else None
            print(f"{name:<16}{counts[name]:>14,}  {f'{ratio - 1:+.2%}' if ratio else 'new'}", flush=True)
            if ratio and abs(ratio - 1) > args.margin:
                changed.append(name)
    if args.write:
        COUNTS.write_text(json.dumps(before | counts, indent=1) + "\n")
    elif changed:
        sys.exit(f"changed by more than {args.margin:.0%}: {', '.join(changed)}")


if __name__ == "__main__":
    main()
