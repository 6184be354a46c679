#!/usr/bin/env python3
"""peer.py WORKLOADS.toml… [--seconds S] [--only A,B] [--dtypes f32,bf16] [--modes eager,graphs,pure] [--device cuda]
[--at-once N] [--wait FILE]: training steps of the workloads in PyTorch. One line of JSON for each workload, dtype and mode. N
processes make the steps ready (torch.compile takes far longer than timing), and when all are and FILE exists, time them one after
another.

The strongest plain PyTorch there is: scaled_dot_product_attention, one QKV product, fused AdamW, autocast to bf16. Mode
"graphs" is torch.compile, and the whole step with its update (AdamW's capturable form) one CUDA graph, which is
replayed. Mode "pure" is the same with everything in bf16, weights, gradients and moments included: fewer bytes than
ours, whose masters are f32, and for bf16 alone. TF32 stays off, as it is in ours. Times are of CUDA events around each
step; steps are not waited for one by one. Lines come in the order of modes, then of dtypes, so that what matters most is
there first; before them one with their number."""
import argparse
import itertools
import json
import math
import multiprocessing
import multiprocessing.connection
import os
import statistics
import sys
import threading
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

import workloads


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, self.inner = c, c["heads"] * c["head_dim"]
        width = c["width"]
        norm = (lambda: nn.LayerNorm(width)) if c["norm"] == "layernorm" else (lambda: nn.RMSNorm(width, eps=1e-6))
        self.first_norm, self.second_norm = norm(), norm()
        self.qkv, self.out = nn.Linear(width, 3 * self.inner), nn.Linear(self.inner, width)
        self.gated = c["activation"] == "swiglu"
        self.up = nn.Linear(width, c["ffn"] * (2 if self.gated else 1))
        self.down = nn.Linear(c["ffn"], width)
        self.drop = nn.Dropout(c["dropout"])

    def forward(self, x):
        c, (batch, length, _) = self.c, x.shape
        qkv = self.qkv(self.first_norm(x)).view(batch, length, 3, c["heads"], c["head_dim"])
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # each (B, H, T, d)
        dropout = c["dropout"] if self.training else 0.0
        a = F.scaled_dot_product_attention(q, k, v, is_causal=c["causal"], dropout_p=dropout)
        x = x + self.drop(self.out(a.transpose(1, 2).reshape(batch, length, self.inner)))
        h = self.up(self.second_norm(x))
        if self.gated:
            gate, h = h.chunk(2, -1)
            h = F.silu(gate) * h
        else:
            h = F.gelu(h)
        return x + self.drop(self.down(h))


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, width, length = c, c["width"], c["length"]
        self.tokens = nn.Linear(c["io"], width) if "io" in c else nn.Embedding(c["vocab"], width)
        if c["positions"] == "learned":
            self.positions = nn.Parameter(torch.randn(length, width) * 0.02)
        else:
            angles = torch.arange(length)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(1e4) / width))
            self.register_buffer("positions", torch.stack([angles.sin(), angles.cos()], -1).view(length, width))
        self.blocks = nn.ModuleList(Block(c) for _ in range(c["layers"]))
        self.norm = nn.LayerNorm(width) if c["norm"] == "layernorm" else nn.RMSNorm(width, eps=1e-6)
        self.head = nn.Linear(width, c.get("io") or c.get("classes") or c["vocab"], bias=not c["tied"])
        if c["tied"]:
            self.head.weight = self.tokens.weight

    def forward(self, x, y):
        h = self.tokens(x) + self.positions
        for block in self.blocks:
            h = block(h)
        h = self.norm(h)
        if self.c["objective"] == "classify":
            return F.cross_entropy(self.head(h.mean(1)).float(), y)
        if self.c["objective"] == "mse":
            return F.mse_loss(self.head(h).float(), y)
        return F.cross_entropy(self.head(h).flatten(0, 1).float(), y.flatten(), ignore_index=-100)


def data(c, device):
    generator = torch.Generator().manual_seed(0)
    shape = (c["batch"], c["length"])
    if c["objective"] == "mse":
        return tuple(torch.randn(*shape, c["io"], generator=generator).to(device) for _ in range(2))
    x = torch.randint(c["vocab"], shape, generator=generator)
    if c["objective"] == "classify":
        return x.to(device), torch.randint(c["classes"], shape[:1], generator=generator).to(device)
    y = torch.randint(c["vocab"], shape, generator=generator)
    if c["objective"] == "mlm":
        y[torch.rand(*shape, generator=generator) > 0.15] = -100
    return x.to(device), y.to(device)


def step_milliseconds(step, device, seconds):
    """Of each step, after three that warm up."""
    for _ in range(3):
        step()
    times, started = [], time.perf_counter()
    while time.perf_counter() - started < seconds or len(times) < 5:
        if device == "cpu":
            begin = time.perf_counter()
            step()
            times.append((time.perf_counter() - begin) * 1e3)
            continue
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(11)]
        for i, mark in enumerate(marks):
            mark.record()
            if i + 1 < len(marks):
                step()
        torch.cuda.synchronize()
        times += [a.elapsed_time(b) for a, b in zip(marks, marks[1:])]
    return times


def whole_step(step):
    """`step`, recorded once as a CUDA graph: a function that replays it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # compiles, and makes the optimizer's moments
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def ready(name, c, dtype, mode, device, seconds):
    """The step, compiled and recorded: a function without arguments that times it and returns a row."""
    torch.manual_seed(0)
    torch.compiler.reset()
    pure = torch.bfloat16 if mode == "pure" else torch.float32
    model = Model(c).to(device, pure)
    graphs = mode != "eager"
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1, fused=True, capturable=graphs)
    x, y = data(c, device)
    x = x.to(pure) if x.is_floating_point() else x
    run = torch.compile(model) if graphs else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=dtype == "bf16" and mode != "pure"):
            loss = run(x, y)
        loss.backward()
        optimizer.step()

    whole = whole_step(step) if graphs else step

    def row(alive=step):  # a graph reads the batch and the moments, and does not keep them
        times = step_milliseconds(whole, device, seconds)
        return {"workload": name, "peer": f"torch {torch.__version__}", "mode": mode, "dtype": dtype, "device": device,
                "steps": len(times), "ms_min": round(min(times), 4), "ms_median": round(statistics.median(times), 4),
                "parameters": sum(p.numel() for p in model.parameters())}
    return row


def share(part, tables, device, seconds, wait, all_ready, turn):
    """One process: makes its part ready, waits until the others are, and times one after another."""
    def attempt(make, name, dtype, mode):
        try:
            return make()
        except Exception as error:  # one workload that the peer cannot run must not hide the others
            return {"workload": name, "mode": mode, "dtype": dtype, "error": (str(error) or repr(error)).splitlines()[0][:300]}

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    steps = [((mode, dtype, name), attempt(lambda: ready(name, tables[name], dtype, mode, device, seconds), name, dtype, mode))
             for mode, dtype, name in part]
    if device != "cpu":
        torch.cuda.synchronize()
    try:
        all_ready.wait()
    except threading.BrokenBarrierError:
        pass  # a process is gone: what is here is timed all the same
    while wait and not os.path.exists(wait):
        time.sleep(0.05)
    for (mode, dtype, name), made in steps:
        with turn:
            row = made if isinstance(made, dict) else attempt(made, name, dtype, mode)
            print(json.dumps(row), flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("workloads", nargs="+")
    arguments.add_argument("--seconds", type=float, default=1)
    arguments.add_argument("--only", default="", help="names, separated by commas")
    arguments.add_argument("--dtypes", default="bf16,f32")
    arguments.add_argument("--modes", default="graphs,eager")
    arguments.add_argument("--device", default="cuda")
    arguments.add_argument("--at-once", type=int, default=1, help="processes that make steps ready")
    arguments.add_argument("--wait", default="", metavar="FILE", help="time nothing before it exists")
    arguments.add_argument("--leave-out", default="", metavar="NAME/DTYPE,NAME/MODE,…")
    given = arguments.parse_args()
    tables = workloads.read(*given.workloads)
    names = given.only.split(",") if given.only else list(tables)
    todo = [key for key in itertools.product(given.modes.split(","), given.dtypes.split(","), names)
            if key[:2] != ("pure", "f32") and not {f"{key[2]}/{key[0]}", f"{key[2]}/{key[1]}"} & set(given.leave_out.split(","))]
    print(json.dumps({"planned": len(todo)}), flush=True)
    count = min(given.at_once, len(todo))
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1" if count > 1 else "16")
    start = multiprocessing.get_context("spawn")
    all_ready, turn = start.Barrier(count), start.Lock()
    processes = [start.Process(target=share, args=(todo[i::count], tables, given.device, given.seconds, given.wait, all_ready, turn))
                 for i in range(count)]
    for process in processes:
        process.start()
    running = {process.sentinel: process for process in processes}
    while running:
        for ended in multiprocessing.connection.wait(running):
            process = running.pop(ended)
            process.join()
            if process.exitcode:
                all_ready.abort()  # the others are not to wait for it
    return max(abs(process.exitcode) for process in processes)


if __name__ == "__main__":
    sys.exit(main())
