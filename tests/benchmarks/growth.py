#!/usr/bin/env python3
"""How a training step grows: time and peak memory against sequence length, head width, model width and threads.

    python growth.py --ours PROGRAM --torch-script peer_torch.py [--python PYTHON] [--seconds S] --json FILE

Each point is one process of ours, then one of PyTorch's (eager, f32), on the same made-up workload: two causal layers
of width 256 with 4 heads of 64, 8,192 tokens a step in sequences of 256, except for what the panel varies. A peak is
that of the whole process, libraries included. growth-figure (growth_figure.cpp) draws FILE.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BASE = {"layers": 2, "width": 256, "heads": 4, "head_dim": 64, "length": 256, "batch": 32, "ffn": 1024, "causal": True,
        "norm": "layernorm", "activation": "gelu", "positions": "learned", "tied": False, "dropout": 0.0,
        "objective": "ce", "vocab": 256}
PANELS = {
    "length": [{"length": n, "batch": 8192 // n} for n in (64, 128, 256, 512, 1024, 2048, 4096, 8192)],
    "head_dim": [{"head_dim": n, "heads": 256 // n} for n in (1, 2, 4, 8, 16, 32, 64, 128)],
    "width": [{"width": n, "heads": n // 64, "ffn": 4 * n} for n in (64, 128, 256, 512, 1024)],
    "threads": [{"threads": n} for n in range(1, os.cpu_count() + 1)],
}


def run(command):
    """The milliseconds that a command's JSON gives, and the most memory that it had, in MiB."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{command}: exit status {child.returncode}")
    return json.loads(text.splitlines()[-1])["ms_min"], usage.ru_maxrss / 1024


def measured(args, folder, panel, changes):
    threads = str(changes.get("threads", os.cpu_count()))
    workload = {**BASE, **changes}
    workload.pop("threads", None)
    file = pathlib.Path(folder, "workloads.toml")
    lines = (f"{key} = {json.dumps(value)}" for key, value in workload.items())
    file.write_text("[defaults]\n[point]\n" + "\n".join(lines) + "\n")
    ours = run([args.ours, "bench", "point", "--workloads", file, "--json", "--seconds", args.seconds, "--threads", threads])
    peer = run([args.python, pathlib.Path(folder, "peer.py"), "point", "--seconds", args.seconds, "--threads", threads])
    row = {"panel": panel, "x": changes[panel], "ours_ms": ours[0], "peer_ms": peer[0], "ours_mib": ours[1], "peer_mib": peer[1]}
    print(f"{panel:<9} {row['x']:>5}  {ours[0]:>9.2f} ms {peer[0]:>9.2f} ms {peer[0] / ours[0]:>6.2f}"
          f"  {ours[1]:>6.0f} MiB {peer[1]:>6.0f} MiB", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", required=True)
    parser.add_argument("--torch-script", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--seconds", default="2")
    parser.add_argument("--json", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # The peer reads the workloads that lie beside it.
        pathlib.Path(folder, "peer.py").write_text(pathlib.Path(args.torch_script).read_text())
        rows = [measured(args, folder, panel, changes) for panel, points in PANELS.items() for changes in points]
    pathlib.Path(args.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
