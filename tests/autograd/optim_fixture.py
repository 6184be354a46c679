"""Writes optim_fixture.inc: four steps of PyTorch's optimizers on one small parameter pair, in f64.

Run: python3 optim_fixture.py > optim_fixture.inc
"""
import torch

START = [[0.5, -1.0, 2.0], [0.25, -0.125]]  # the first decays, the second does not
CASES = {
    "sgd": (torch.optim.SGD, dict(lr=0.1)),
    "sgd momentum": (torch.optim.SGD, dict(lr=0.1, momentum=0.9)),
    "sgd nesterov": (torch.optim.SGD, dict(lr=0.1, momentum=0.9, nesterov=True)),
    "sgd decay": (torch.optim.SGD, dict(lr=0.1, momentum=0.5, weight_decay=0.02)),
    "adam": (torch.optim.Adam, dict(lr=0.1)),
    "adam decay": (torch.optim.Adam, dict(lr=0.1, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.02)),
    "adamw": (torch.optim.AdamW, dict(lr=0.1, betas=(0.9, 0.99), weight_decay=0.1)),
}


def loss(a, b):
    return (a**2).sum() * 0.5 + torch.exp(b).sum() + (a[:2] * b).sum()


print(f"// Written by optim_fixture.py with PyTorch {torch.__version__.split('+')[0]}.")
for name, (kind, options) in CASES.items():
    a, b = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in START)
    decay = options.pop("weight_decay", 0.0)
    optimizer = kind([{"params": [a], "weight_decay": decay}, {"params": [b], "weight_decay": 0.0}], **options)
    for _ in range(4):
        optimizer.zero_grad()
        loss(a, b).backward()
        optimizer.step()
    values = ", ".join(f"{x!r}" for x in a.tolist() + b.tolist())
    print(f'{{"{name}", {{{values}}}}},')
