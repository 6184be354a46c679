#!/usr/bin/env python3
"""predict.py [--json FILE] [--seeds N]: the time of a training step of each workload on GPUs that were not at hand, from what
each kernel of step_kernels.py computes and moves. Two ways to train: f32 (TF32 off), and train.precision = "bf16":
everything but masters, their gradients, moments and sums in bf16.

A kernel takes the longest of: its products at the rate of the tiles that fit on the card at once, its bytes at the
memory's rate, its exponentials at the rate of the special-function units; and at least `LAUNCH`, what one kernel after
another in a replayed CUDA graph costs. The step is the longer of its two streams (kernels of one run one after another,
the side stream's after those of the main one that were queued before), but while both are busy at least the work of all
their kernels: as above, without launches and idle multiprocessors. What the model leaves out: caches (activations of the
small workloads stay in the L2 cache and are then faster), clocks below the boost clock, and that a product or cuDNN's
attention is sometimes more than one kernel.

--seeds N: what N seeds of equal shape in one step would gain over N steps."""
import argparse
import json
import math
import pathlib

import workloads
from step_kernels import Step

# NVIDIA's data sheets: dense rates in FLOP/s, memory in bytes/s, multiprocessors, boost clock in Hz.
CARDS = {
    "A100 80GB": {"bf16": 312e12, "f32": 19.5e12, "memory": 2.04e12, "sms": 108, "clock": 1.41e9},
    "H100 SXM": {"bf16": 989e12, "f32": 66.9e12, "memory": 3.35e12, "sms": 132, "clock": 1.98e9},
    "H200": {"bf16": 989e12, "f32": 66.9e12, "memory": 4.8e12, "sms": 132, "clock": 1.98e9},
}
WAYS = ("f32", "bf16")
# What follows is assumed, and no data sheet's: the first run on a card replaces it (run_all.py's ceilings and kernels).
LAUNCH = 2.5e-6             # seconds from one small kernel to the next within a graph
OF_PEAK = {"bf16": 0.65, "f32": 0.8}  # of a tile's products at best
OF_MEMORY = 0.85
TILE = {"bf16": (128, 128), "f32": (128, 64)}
# Rows that are not aligned to 16 bytes: in bf16 no bulk copies and so none of Hopper's large products.
MISALIGNED = {"bf16": 1 / 3, "f32": 0.8}
MISALIGNED_MEMORY = 0.5     # of OF_MEMORY: numbers are read one by one
# Attention's products, of peak: cuDNN's; ours on tensor cores (mma.sync, no bulk copies); ours in f32, where a query
# is a thread's (narrow heads) or every 64 multiply-adds take four loads from shared memory (blocks), or 16 two (wide).
ATTENTION = {"cuDNN": 0.4, "tensor cores": 0.22, "narrow": 0.4, "wide": 0.25, "blocks": 0.5}
EXPS_PER_CLOCK = 16         # of one multiprocessor


def product_seconds(card, way, kernel, seeds, alone):
    """All tiles that fit at once take the time of one: a card of 132 multiprocessors needs as long for 1 tile as for 132.
    If it is not alone there, others take those that it leaves idle."""
    sms = CARDS[card]["sms"]
    rate = CARDS[card][way] * OF_PEAK[way] / sms * (1 if kernel.aligned else MISALIGNED[way])
    m, n, k = kernel.product
    tile_m, tile_n = TILE[way]
    tiles = seeds * math.ceil(m / tile_m) * math.ceil(n / tile_n)
    if not alone:
        return tiles / sms * 2 * tile_m * tile_n * k / rate
    splits = max(1, min(sms // tiles, k // 512))  # long sums are cut where there are too few tiles
    return math.ceil(tiles * splits / sms) * 2 * tile_m * tile_n * (k / splits) / rate


def attention_seconds(card, way, kernel, seeds, alone):
    kind, flops, blocks = kernel.attention
    sms = CARDS[card]["sms"]
    idle = math.ceil(blocks * seeds / sms) * sms / (blocks * seeds) if alone else 1
    return flops * seeds / (CARDS[card][way] * ATTENTION[kind]) * idle


def kernel_seconds(card, way, kernel, seeds=1, alone=True):
    """`alone`: nothing else runs meanwhile, so that its launch and the multiprocessors that it leaves idle cost time, too."""
    of = CARDS[card]
    memory = of["memory"] * OF_MEMORY * (1 if kernel.aligned or kernel.product else MISALIGNED_MEMORY)
    seconds = [LAUNCH if alone else 0, seeds * kernel.bytes / memory, seeds * kernel.exps / (EXPS_PER_CLOCK * of["sms"] * of["clock"]),
               seeds * kernel.flops / (of["f32"] * OF_PEAK["f32"])]
    if kernel.product:
        seconds.append(product_seconds(card, way, kernel, seeds, alone))
    if kernel.attention:
        seconds.append(attention_seconds(card, way, kernel, seeds, alone))
    return max(seconds)


def step_seconds(card, way, kernels, seeds=1):
    """Kernels of one stream follow one another. One of the side stream begins after those that the main stream had queued
    before it, and a kernel that joins after all. While both are busy, the card needs at least the time of all their work."""
    main = side = begin = work = 0
    for kernel in kernels:
        if kernel.joins or (kernel.aside and side <= main):
            main = begin = max(main, side, begin + work)
            work = 0
        alone = kernel_seconds(card, way, kernel, seeds)
        if kernel.aside:
            side = max(side, main) + alone
        else:
            main += alone
        work += kernel_seconds(card, way, kernel, seeds, alone=False)
    return main


def predict():
    """{workload: {parameters, tokens, gflop, kernels and megabytes: {way: …}, milliseconds: {card: {way: …}}}}"""
    out = {}
    for name, c in workloads.read().items():
        row = {"tokens": c["batch"] * c["length"], "megabytes": {}, "kernels": {}, "milliseconds": {}}
        for way in WAYS:
            step = Step(c, way)
            kernels = step.all()
            row["parameters"] = step.parameters
            row["kernels"][way] = len(kernels)
            row["megabytes"][way] = round(sum(kernel.bytes for kernel in kernels) / 1e6, 1)
            if way == "f32":
                row["gflop"] = round(sum(2 * math.prod(k.product) if k.product else k.attention[1] if k.attention else 0
                                         for k in kernels) / 1e9, 1)
            for card in CARDS:
                seconds = step_seconds(card, way, kernels)
                row["milliseconds"].setdefault(card, {})[way] = round(seconds * 1e3, 3)
        out[name] = row
    return out


def gain_of_seeds(c, card, way, seeds):
    """How many times faster `seeds` models are trained in one step than one after another."""
    kernels = Step(c, way).all()
    return seeds * step_seconds(card, way, kernels) / step_seconds(card, way, kernels, seeds)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--json", help="write what was predicted there")
    arguments.add_argument("--seeds", type=int, help="gains of so many seeds in one step")
    given = arguments.parse_args()
    rows = predict()
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(rows, indent=1) + "\n")
    for name, row in rows.items():
        if given.seeds:
            c = workloads.read()[name]
            gains = ", ".join(f"{card} " + "/".join(f"{gain_of_seeds(c, card, way, given.seeds):.1f}" for way in WAYS)
                              for card in CARDS)
            print(f"{name:16} {given.seeds} seeds in one step, times faster {'/'.join(WAYS)}: {gains}")
            continue
        times = ", ".join(card + " " + "/".join(f"{by[way]:.2f}" for way in WAYS)
                          for card, by in row["milliseconds"].items())
        print(f"{name:16} {row['gflop']:8.1f} GFLOP {row['kernels']['f32']:4} kernels  ms {'/'.join(WAYS)}: {times}")


if __name__ == "__main__":
    main()
