#!/usr/bin/env python3
"""Times svd-bench and LAPACK's gesdd (through NumPy) side by side: factors and values, best of each.

    python svd_peer.py build/tests/benchmarks/svd-bench [THREADS [ROUNDS]]

The two take turns, round by round, so that what else the machine does falls on both. Prints one line per shape: the
milliseconds of gesdd and of both methods, and their ratios to gesdd's (below 1: ours is faster).
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

SHAPES = {"64x64 x1000": (1000, 64, 64), "576x576": (576, 576), "2048x128": (2048, 128), "1024x1024": (1024, 1024)}


def gesdd(shape):
    a = np.random.default_rng(1).standard_normal(shape)
    best = float("inf")
    for _ in range(2):
        start = time.perf_counter()
        np.linalg.svd(a, full_matrices=False)
        best = min(best, time.perf_counter() - start)
    return 1e3 * best


best = {}
for _ in range(rounds):
    lines = subprocess.run([program, threads, "0.3"], check=True, capture_output=True, text=True).stdout
    times = {(case["name"], case["method"]): case["ms"] for case in map(json.loads, lines.splitlines())}
    times.update({(name, "gesdd"): gesdd(shape) for name, shape in SHAPES.items()})
    best = {key: min(value, best.get(key, value)) for key, value in times.items()}
for name in SHAPES:
    peer, fast, accurate = (best[name, method] for method in ("gesdd", "fast", "accurate"))
    print(f"{name:12} gesdd {peer:9.2f} ms   fast {fast:9.2f} ms = {fast / peer:5.2f}x   "
          f"accurate {accurate:9.2f} ms = {accurate / peer:5.2f}x")
