"""Writes optimizers.csv and mixtures.csv into the folder of its first argument: made-up runs to try `headroom judge` on.

No model was trained: losses are formulas with Gaussian noise, half of which all runs of a seed share.
"""
import csv
import math
import pathlib
import random
import sys


def losses(seed, arm, middle):
    """A validation and a test loss around `middle`."""
    shared, own = random.Random(f"seed {seed}"), random.Random(f"{seed} {arm}")
    base = middle + shared.gauss(0, 0.01) + own.gauss(0, 0.004)
    return [f"{base + own.gauss(0, 0.002):.5f}" for _ in range(2)]


def write(path, header, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


folder = pathlib.Path(sys.argv[1])
best = {"adamw": (2.31, 1e-3), "muon": (2.27, 2e-3), "sgd": (2.52, 4e-3)}
write(folder / "optimizers.csv", ["optimizer", "lr", "seed", "val_loss", "test_loss"],
      [[name, lr, seed, *losses(seed, f"{name} {lr}", loss + 0.03 * math.log2(lr / at) ** 2)]
       for name, (loss, at) in best.items() for lr in (5e-4, 1e-3, 2e-3, 4e-3, 8e-3) for seed in range(5)])
write(folder / "mixtures.csv", ["code_share", "seed", "step", "val_loss", "test_loss"],
      [[share, seed, step, *losses(seed, f"{share} {step}", 2.2 + 3 / math.sqrt(step) + 0.4 * (share - 0.2) ** 2)]
       for share in (0, 0.1, 0.2, 0.4, 0.8) for seed in range(6) for step in range(250, 2001, 250)])
