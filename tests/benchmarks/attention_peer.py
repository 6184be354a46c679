#!/usr/bin/env python3
"""Times attention-bench and PyTorch's scaled_dot_product_attention side by side: forward and backward, best of each.

    python attention_peer.py build/tests/benchmarks/attention-bench [THREADS [ROUNDS]]

The two take turns, round by round, so that what else the machine does falls on both. Prints one line per shape: the
milliseconds of each and how many times ours is faster.
"""
import json
import subprocess
import sys
import time

import torch
import torch.nn.functional as F


def torch_times(case, steps=2):
    B, T, H, D = case["shape"]
    q, k, v = (torch.randn(B, T, H, D).transpose(1, 2).requires_grad_() for _ in range(3))
    dy = torch.randn(B, T, H, D).transpose(1, 2)
    forward = backward = float("inf")
    for step in range(steps + 1):
        start = time.perf_counter()
        y = F.scaled_dot_product_attention(q, k, v, is_causal=case["causal"], dropout_p=case["dropout"])
        middle = time.perf_counter()
        torch.autograd.grad(y, (q, k, v), dy)
        end = time.perf_counter()
        if step:
            forward, backward = min(forward, middle - start), min(backward, end - middle)
    return 1e3 * forward, 1e3 * backward


def main():
    program = sys.argv[1]
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    torch.set_num_threads(threads)
    best = {}
    for _ in range(rounds):
        lines = subprocess.run([program, str(threads), "0.2"], check=True, capture_output=True, text=True).stdout
        for case in map(json.loads, lines.splitlines()):
            times = (case["forward_ms"], case["backward_ms"], *torch_times(case))
            best[case["name"]] = [min(pair) for pair in zip(times, best.get(case["name"], times))]
    for name, (forward, backward, peer_forward, peer_backward) in best.items():
        print(f"{name:13} ours {forward:8.2f} {backward:8.2f}   torch {peer_forward:8.2f} {peer_backward:8.2f}"
              f"   {(peer_forward + peer_backward) / (forward + backward):6.2f}x")


main()
