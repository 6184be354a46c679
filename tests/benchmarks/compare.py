#!/usr/bin/env python3
"""Compares two commands that print a time as JSON, in turn, and says when the machine was too busy to tell.

    python compare.py WORKLOAD… --ours PROGRAM [--peer torch|PROGRAM] [--python PYTHON] [--mode eager] [--precision f32]
        [--threads N] [--rounds N] [--seconds S] [--json FILE]
    python compare.py NAME… --commands COMMAND COMMAND [--rounds N] [--json FILE]

The first form times a training step: PROGRAM is a headroom, the peer is PyTorch by peer_torch.py (--torch-script) in
the environment of --python, or an older headroom. In the second each COMMAND is run by the shell with {name} filled in,
and its last line of JSON has `ms_min`, or --key. Each round runs both, A B and then B A, so that what else the machine
does falls on both. Printed are the median of the rounds' ratios, peer over ours (above 1: we are faster), and their
range; below them the geometric mean. A round during which other processes had more than --busy of the CPUs counts as
disturbed; where more than half are, the row says "busy" and the mean leaves it out.
"""

import argparse
import json
import math
import os
import shlex
import statistics
import subprocess
import sys


def busy_seconds():
    """CPU seconds that all processes of the machine have had: user, nice, system, interrupts, stolen."""
    with open("/proc/stat") as stat:
        fields = [int(x) for x in stat.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def last_json(text, command):
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    sys.exit(f"{command}: printed no line of JSON")


def run(command, key):
    """The command's number, and the share of the machine that others had meanwhile."""
    before, own = busy_seconds(), sum(os.times()[2:4])
    start = os.times().elapsed
    done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{command}: exit status {done.returncode}")
    elapsed = max(os.times().elapsed - start, 0.05)
    others = busy_seconds() - before - (sum(os.times()[2:4]) - own)
    result = last_json(done.stdout, command)
    if key not in result:
        sys.exit(f"{command}: its JSON has no {key}")
    return float(result[key]), max(others, 0) / elapsed / os.cpu_count()


def commands_of(args):
    """Two commands with {name} in them: ours, the peer's."""
    if args.commands:
        return args.commands
    threads = f" --threads {args.threads}"

    def program(path):
        return f"{shlex.quote(path)} bench {{name}} --json --seconds {args.seconds} --precision {args.precision}{threads}"

    if args.peer != "torch":
        return program(args.ours), program(args.peer)
    peer = (f"{shlex.quote(args.python)} {shlex.quote(args.torch_script)} {{name}} --mode {args.mode} "
            f"--dtype {args.precision}{threads}")
    return program(args.ours), peer


def compare(name, commands, args):
    a, b = (command.replace("{name}", name) for command in commands)
    ratios, ours, peer, disturbed = [], [], [], 0
    for turn in range(args.rounds):
        times, worst = {}, 0.0
        for side in ("ab", "ba")[turn % 2]:
            times[side], others = run(a if side == "a" else b, args.key)
            worst = max(worst, others)
        ours.append(times["a"])
        peer.append(times["b"])
        ratios.append(times["b"] / times["a"])
        disturbed += worst > args.busy
    return {"name": name, "ours": statistics.median(ours), "peer": statistics.median(peer),
            "ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios),
            "rounds": args.rounds, "disturbed": disturbed, "busy": disturbed > args.rounds / 2}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--commands", nargs=2)
    parser.add_argument("--ours", default="build/experiments/headroom")
    parser.add_argument("--peer", default="torch")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--torch-script", default="peer_torch.py")
    parser.add_argument("--mode", default="eager", choices=["eager", "compile"])
    parser.add_argument("--precision", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--busy", type=float, default=0.05)
    parser.add_argument("--key", default="ms_min")
    parser.add_argument("--json")
    args = parser.parse_args()
    commands = commands_of(args)
    rows = []
    print(f"{'':<16}{'ours':>10}{'peer':>10}{'ratio':>8}   range of {args.rounds} rounds")
    for name in args.names:
        row = compare(name, commands, args)
        rows.append(row)
        print(f"{name:<16}{row['ours']:>10.3f}{row['peer']:>10.3f}{row['ratio']:>8.3f}   {row['least']:.3f} to "
              f"{row['most']:.3f}{'   busy: ' + str(row['disturbed']) + ' rounds disturbed' if row['busy'] else ''}",
              flush=True)
    told = [row["ratio"] for row in rows if not row["busy"]]
    mean = math.exp(statistics.fmean(map(math.log, told))) if told else None
    print(f"geometric mean of {len(told)}: {mean:.3f}" if told else "the machine was too busy to tell")
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"commands": list(commands), "rows": rows, "geometric_mean": mean}, file, indent=1)
    return 0 if told else 1


if __name__ == "__main__":
    sys.exit(main())
