#!/usr/bin/env python3
"""Times svd-bench and LAPACK's gesdd and syevd (through NumPy) side by side: factors and values, best of each.

    python svd_peer.py build/tests/benchmarks/svd-bench [THREADS [ROUNDS [NAME…]]]

The two take turns, round by round, so that what else the machine does falls on both. With one thread the processor's
time is compared, with several the wall's. Prints one line per shape: the milliseconds of LAPACK and of ours, and the
ratios (below 1: ours is faster).
"""
import json
import os
import subprocess
import sys
import time

program = sys.argv[1]
threads = sys.argv[2] if len(sys.argv) > 2 else "2"
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = threads

import numpy as np  # noqa: E402  the number of threads is read when it is loaded

SHAPES = {"64x64 x1000": (1000, 64, 64), "256x256": (256, 256), "512x512": (512, 512), "576x576": (576, 576),
          "1000x1000": (1000, 1000), "1024x1024": (1024, 1024), "1024x256": (1024, 256), "2048x128": (2048, 128)}
clock = time.process_time if threads == "1" else time.perf_counter


def peer(shape, is_eigh):
    a = np.random.default_rng(1).standard_normal(shape)
    symmetric = a.T @ a if is_eigh else None
    best = float("inf")
    for _ in range(3):
        start = clock()
        np.linalg.eigh(symmetric) if is_eigh else np.linalg.svd(a, full_matrices=False)
        best = min(best, clock() - start)
    return 1e3 * best


names = sys.argv[4:] or SHAPES
best = {}
for _ in range(rounds):
    times = {}
    for name in names:
        lines = subprocess.run([program, threads, "0.3", name], check=True, capture_output=True, text=True).stdout
        times.update({(case["name"], case["method"]): case["ms"] for case in map(json.loads, lines.splitlines())})
        times[name, "gesdd"] = peer(SHAPES[name], False)
        if (name, "eigh") in times:
            times[name, "syevd"] = peer(SHAPES[name], True)
    best = {key: min(value, best.get(key, value)) for key, value in times.items()}
for name in names:
    gesdd, fast, accurate = (best[name, method] for method in ("gesdd", "fast", "accurate"))
    line = (f"{name:12} gesdd {gesdd:9.2f} ms   fast {fast:9.2f} ms = {fast / gesdd:5.2f}x   "
            f"accurate {accurate:9.2f} ms = {accurate / gesdd:5.2f}x")
    if (name, "eigh") in best:
        syevd, eigh = best[name, "syevd"], best[name, "eigh"]
        line += f"   syevd {syevd:9.2f} ms   eigh {eigh:9.2f} ms = {eigh / syevd:5.2f}x"
    print(line)
