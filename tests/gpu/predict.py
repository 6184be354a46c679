#!/usr/bin/env python3
"""predict.py [--json FILE]: the time of a training step of each workload of experiments/tools/bench/workloads.toml on GPUs that
were not at hand, from the bytes and the floating-point operations of each kernel that the step launches. Two ways to
train: f32 (TF32 off), and train.precision = "bf16": everything but masters, their gradients, moments and sums in bf16.

A kernel takes the longest of: its products at the rate of the tiles that fit on the card at once, its bytes at the
memory's rate, its exponentials at the rate of the special-function units; and at least `LAUNCH`, what one kernel after
another in a replayed CUDA graph costs. The step is their sum: kernels run one after another. What the model leaves out:
caches (activations of the small workloads stay in the L2 cache and are then faster), clocks below the boost clock.
"""
import argparse
import json
import math
import pathlib
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
# NVIDIA's data sheets: dense rates in FLOP/s, memory in bytes/s, multiprocessors, boost clock in Hz.
CARDS = {
    "A100 80GB": {"bf16": 312e12, "f32": 19.5e12, "memory": 2.04e12, "sms": 108, "clock": 1.41e9},
    "H100 SXM": {"bf16": 989e12, "f32": 66.9e12, "memory": 3.35e12, "sms": 132, "clock": 1.98e9},
    "H200": {"bf16": 989e12, "f32": 66.9e12, "memory": 4.8e12, "sms": 132, "clock": 1.98e9},
}
LAUNCH = 1.5e-6             # seconds from one small kernel to the next within a graph
WAYS = ("f32", "bf16")
OF_PEAK = {"bf16": 0.65, "f32": 0.8}  # of a tile's products at best
OF_MEMORY = 0.85
TILE = {"bf16": (128, 128), "f32": (128, 64)}
EXPS_PER_CLOCK = 16         # of one multiprocessor


def read_workloads():
    tables = tomllib.loads((ROOT / "experiments/tools/bench/workloads.toml").read_text())
    defaults = tables.pop("defaults")
    return {name: {**defaults, **table} for name, table in tables.items()}


class Step:
    """The kernels of one step: (name, products as (batch, m, n, k), other FLOPs, bytes, exponentials)."""

    def __init__(self, way):
        self.size = 2 if way == "bf16" else 4
        self.kernels = []

    def pointwise(self, name, numbers, flops=0, exps=0, other_bytes=0):
        self.kernels.append((name, None, flops, numbers * self.size + other_bytes, exps))

    def product(self, name, m, n, k, more=0, result=None):
        """`more`: other numbers that it reads; `result`: bytes of a number that it writes."""
        self.kernels.append((name, (1, m, n, k), 0,
                             (m * k + k * n + more) * self.size + m * n * (result or self.size), 0))

    def linear(self, name, rows, in_width, out_width, needs_dx=True, adds=False):
        """Bias and its gradient are part of the products, which write the gradients into the arena, in f32; `adds`: dx
        is added to what other layers gave x."""
        self.product(name, rows, out_width, in_width)
        if needs_dx:
            self.product(name + " dx", rows, in_width, out_width, more=rows * in_width if adds else 0)
        self.product(name + " dW", out_width, in_width, rows, result=4)

    def to_arena(self, numbers):
        """A gradient that is not a product's goes into the arena by itself."""
        self.pointwise("gradient into the arena", numbers, other_bytes=4 * numbers)

    def norm_gradients(self, c, numbers, beside):
        """dx, added to the gradient that goes `beside` the norm, and the sums over rows."""
        self.pointwise("norm dx", (4 if beside else 3) * numbers)
        self.pointwise("norm dW", 2 * numbers)
        for _ in range(2 if c["norm"] == "layernorm" else 1):
            self.to_arena(c["width"])

    def attention(self, c, sequences):
        heads, length, dim = c["heads"], c["length"], c["head_dim"]
        pairs = sequences * heads * length * length / (2 if c["causal"] else 1)
        numbers = sequences * length * heads * dim
        statistics = sequences * heads * length * 4
        # Forward: scores and values. Backward: scores again, dP, dQ, dK, dV.
        for name, products, tensors in (("attention", 2, 4), ("attention dq dk dv", 5, 8)):
            # Tensor cores take heads in multiples of 16 numbers.
            taken = dim if self.size == 4 else -(-dim // 16) * 16
            self.kernels.append((name, ("attention", products * 2 * pairs * dim, taken / dim), 6 * pairs,
                                 tensors * numbers * self.size + statistics, pairs))

    @staticmethod
    def step_of(c, way):
        s = Step(way)
        tokens, width, inner, ffn = c["batch"] * c["length"], c["width"], c["heads"] * c["head_dim"], c["ffn"]
        gated = c["activation"] == "swiglu"
        out = c.get("io") or c.get("classes") or c["vocab"]
        parameters = 0
        if "io" in c:
            s.linear("tokens in", tokens, c["io"], width, needs_dx=False)
            parameters += (c["io"] + 1) * width
        else:
            s.pointwise("embedding", 2 * tokens * width)
            s.pointwise("embedding dW", tokens * width + c["vocab"] * width)
            s.to_arena(c["vocab"] * width)
            parameters += c["vocab"] * width
        s.pointwise("positions", 2 * tokens * width)
        if c["positions"] == "learned":
            s.pointwise("positions dW", tokens * width, other_bytes=8 * tokens * width if way == "bf16" else 0)
            s.to_arena(c["length"] * width)
            parameters += c["length"] * width
        for _ in range(c["layers"]):
            # The first residual sum is written with its norm.
            s.pointwise("norm", 2 * tokens * width)
            s.pointwise("residual and norm", 4 * tokens * width)
            s.pointwise("residual", 3 * tokens * width)
            for _ in range(2):
                s.norm_gradients(c, tokens * width, beside=True)
                if c["dropout"] > 0:
                    s.pointwise("dropout", 2 * tokens * width)
                    s.pointwise("dropout dx", 2 * tokens * width)
            for name in ("q", "k", "v"):
                s.linear(name, tokens, width, inner, adds=name != "v")
            s.attention(c, c["batch"])
            s.linear("out", tokens, inner, width)
            for name in ("gate", "up") if gated else ("up",):
                s.linear(name, tokens, width, ffn, adds=name == "gate")
            s.pointwise("activation", (3 if gated else 2) * tokens * ffn, exps=tokens * ffn)
            s.pointwise("activation dx", (5 if gated else 3) * tokens * ffn, exps=tokens * ffn)
            s.linear("down", tokens, ffn, width)
            parameters += 4 * width * inner + (3 if gated else 2) * width * ffn + 3 * inner + ffn + 6 * width
        s.pointwise("norm", 2 * tokens * width)
        s.norm_gradients(c, tokens * width, beside=False)
        rows = c["batch"] if c["objective"] == "classify" else tokens
        if c["objective"] == "classify":
            s.pointwise("mean over tokens", tokens * width)
            s.pointwise("mean over tokens dx", tokens * width)
        s.linear("head", rows, width, out)
        s.pointwise("loss and its gradient", 3 * rows * out, exps=0 if c["objective"] == "mse" else rows * out)
        parameters += 0 if c["tied"] else (width + 1) * out
        s.pointwise("gradient norm", 0, other_bytes=4 * parameters)
        # Masters, two moments and the gradient are read, all but the gradient written; a copy in bf16 for the products.
        s.pointwise("AdamW", 0, other_bytes=(28 + (2 if way == "bf16" else 0)) * parameters)
        return s.kernels, parameters


def product_seconds(card, way, shape):
    """All tiles that fit at once take the time of one: a card of 132 multiprocessors needs as long for 1 tile as for 132."""
    if shape[0] == "attention":
        return shape[1] * shape[2] / (CARDS[card][way] * OF_PEAK[way] * 0.6)
    rate = CARDS[card][way] * OF_PEAK[way] / CARDS[card]["sms"]
    batch, m, n, k = shape
    tile_m, tile_n = TILE[way]
    tiles = batch * math.ceil(m / tile_m) * math.ceil(n / tile_n)
    sms = CARDS[card]["sms"]
    splits = max(1, min(sms // tiles, k // 512))  # long sums are cut where there are too few tiles
    return math.ceil(tiles * splits / sms) * 2 * tile_m * tile_n * (k / splits) / rate


def kernel_seconds(card, way, kernel):
    _, shape, flops, size, exps = kernel
    of = CARDS[card]
    seconds = [LAUNCH, size / (of["memory"] * OF_MEMORY), exps / (EXPS_PER_CLOCK * of["sms"] * of["clock"]),
               flops / (of["f32"] * OF_PEAK["f32"])]
    return max(seconds + ([product_seconds(card, way, shape)] if shape else []))


def predict():
    """{workload: {parameters, tokens, gflop, kernels and megabytes: {way: …}, milliseconds: {card: {way: …}}}}"""
    out = {}
    for name, c in read_workloads().items():
        row = {"tokens": c["batch"] * c["length"], "megabytes": {}, "kernels": {}, "milliseconds": {}}
        for way in WAYS:
            kernels, row["parameters"] = Step.step_of(c, way)
            row["kernels"][way] = len(kernels)
            row["megabytes"][way] = round(sum(kernel[3] for kernel in kernels) / 1e6, 1)
            row["gflop"] = round(sum((2 * math.prod(s) if s[0] != "attention" else s[1])
                                     for s in (kernel[1] for kernel in kernels) if s) / 1e9, 1)
            for card in CARDS:
                seconds = sum(kernel_seconds(card, way, kernel) for kernel in kernels)
                row["milliseconds"].setdefault(card, {})[way] = round(seconds * 1e3, 3)
        out[name] = row
    return out


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--json", help="write what was predicted there")
    given = arguments.parse_args()
    rows = predict()
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(rows, indent=1) + "\n")
    for name, row in rows.items():
        times = ", ".join(card + " " + "/".join(f"{by[way]:.2f}" for way in WAYS)
                          for card, by in row["milliseconds"].items())
        print(f"{name:16} {row['gflop']:8.1f} GFLOP {row['kernels']['f32']:4} kernels  ms {'/'.join(WAYS)}: {times}")


if __name__ == "__main__":
    main()
