#!/usr/bin/env python3
"""Small singular values of graded matrices: `headroom spectrum` and LAPACK's gesdd (NumPy) against 60 digits (mpmath).

    python svd_graded_peer.py build/experiments/headroom [SIZE [SEED]]

Graded: a normal matrix whose columns or rows are scaled over twelve orders of magnitude. Prints every value with
the relative error of both, and the worst per matrix; ends with status 1 where one of ours is wrong by more than 1e-10.
The last matrix, of the same spectrum but dense, is printed without a wish: changing its elements in their last place
changes its small values by far more than 1e-10, and no method that works in f64 finds those digits.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

import mpmath
import numpy as np

program = sys.argv[1]
size = int(sys.argv[2]) if len(sys.argv) > 2 else 24
seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
WANTED = 1e-10


def matrices():
    """Name, matrix, and whether f64 holds its small values."""
    rng = np.random.default_rng(seed)
    falling = np.logspace(0, -12, size)
    shuffled = rng.permutation(falling)
    normal = lambda: rng.standard_normal((size, size))  # noqa: E731
    yield "columns rising", normal() * falling[::-1], True
    yield "columns falling", normal() * falling, True
    yield "columns shuffled", normal() * shuffled, True
    yield "rows rising", normal() * falling[::-1, None], True
    yield "rows falling", normal() * falling[:, None], True
    yield "rows shuffled", normal() * shuffled[:, None], True
    u, v = np.linalg.qr(normal())[0], np.linalg.qr(normal())[0]
    yield "dense", (u * falling) @ v.T, False


def exact(a):
    with mpmath.workdps(60):
        return sorted(mpmath.svd_r(mpmath.matrix(a.tolist()), compute_uv=False), reverse=True)


def ours(a):
    header = json.dumps({"a": {"dtype": "F64", "shape": a.shape, "data_offsets": [0, a.nbytes]}}).encode()
    header += b" " * (-len(header) % 8)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graded.safetensors")
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header + np.ascontiguousarray(a).tobytes())
        output = subprocess.run([program, "spectrum", path, "--tensor", "a", "--json"], check=True, capture_output=True)
    return json.loads(output.stdout)["singular_values"]


def errors(values, truth):
    with mpmath.workdps(60):
        return [float(abs(mpmath.mpf(float(value)) / wanted - 1)) for value, wanted in zip(values, truth)]


failed = False
summary = []
for name, a, is_graded in matrices():
    truth = exact(a)
    gesdd, accurate = errors(np.linalg.svd(a, compute_uv=False), truth), errors(ours(a), truth)
    print(f"{name}, {size}x{size}\n   i  singular value       gesdd        ours")
    for i, wanted in enumerate(truth):
        print(f"{i:4}  {float(wanted):14.6e}  {gesdd[i]:10.1e}  {accurate[i]:10.1e}")
    summary.append(f"{name:17} worst: gesdd {max(gesdd):8.1e}   ours {max(accurate):8.1e}")
    failed = failed or (is_graded and max(accurate) > WANTED)
print("\n".join(summary))
sys.exit(1 if failed else 0)
