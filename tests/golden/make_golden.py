#!/usr/bin/env python3
"""Write the golden fixtures: small Transformers, their losses, gradients and three AdamW steps, by PyTorch in f64.

    python make_golden.py [FOLDER]        needs torch; the tests read only the JSON files it leaves

The models are written from plain tensor operations and the formulas, so that they share no code with what they check.
Weights have three decimals: exact enough in f32, and short in the file.
"""
import json
import math
import pathlib
import sys

import torch
import torch.nn.functional as F

F64 = torch.float64
# eps far above rounding: some gradients are 0 in theory (the keys' bias), and Adam would turn their noise into steps.
OPTIMIZER = dict(lr=1e-2, beta1=0.9, beta2=0.95, eps=1e-4, weight_decay=0.1)
STEPS = 3


def config(**changes):
    c = dict(layers=2, width=8, groups=[head_group(2, 4, 4)], max_length=6, vocab=0, input_dim=0, output_dim=0,
             tied=False, pooling="none", causal=False, positions="learned", rope_base=10000.0, norm="layer_norm",
             norm_place="pre", final_norm=True, norm_eps=1e-5, ffn_width=16, activation="gelu", attention_bias=True,
             ffn_bias=True, logit_scale=None)
    assert not changes.keys() - c.keys()
    return c | changes


def head_group(heads, qk_dim, v_dim, kv_heads=0):
    return dict(heads=heads, qk_dim=qk_dim, v_dim=v_dim, kv_heads=kv_heads)


CASES = {
    "encoder_pre_gelu": dict(
        config=config(input_dim=3, output_dim=2, positions="sinusoidal"), objective="mse", batch=3, length=6),
    "encoder_post_relu": dict(
        config=config(vocab=11, output_dim=5, norm_place="post", activation="relu", pooling="mean"),
        objective="cross_entropy", batch=4, length=5),
    "decoder_swiglu_tied": dict(
        config=config(vocab=13, tied=True, causal=True, norm="rms_norm", norm_eps=1e-6, activation="swiglu",
                      ffn_width=10, attention_bias=False, ffn_bias=False),
        objective="cross_entropy", batch=3, length=6),
    "groups_alibi": dict(
        config=config(width=7, groups=[head_group(2, 3, 5), head_group(1, 4, 2), head_group(4, 1, 1, kv_heads=2)],
                      vocab=9, output_dim=9, causal=True, positions="alibi", logit_scale=0.7, ffn_width=12),
        objective="cross_entropy", batch=3, length=6),
    "rope_shared_masked": dict(
        config=config(groups=[head_group(4, 4, 3, kv_heads=2)], input_dim=4, output_dim=3, positions="rope",
                      rope_base=100.0, activation="gelu_tanh", pooling="mean", attention_bias=False),
        objective="mse", batch=3, length=6, kept=[6, 4, 1]),
}


def parameter_shapes(c):
    """(name, shape, decays) in the order of registration."""
    def linear(name, n_in, n_out, bias):
        yield f"{name}.weight", (n_out, n_in), True
        if bias:
            yield f"{name}.bias", (n_out,), False

    def norm(name):
        if c["norm"] != "none":
            yield f"{name}.weight", (c["width"],), False
        if c["norm"] == "layer_norm":
            yield f"{name}.bias", (c["width"],), False

    D = c["width"]
    if c["positions"] == "learned":
        yield "positions", (c["max_length"], D), False
    if c["vocab"]:
        yield "tokens.weight", (c["vocab"], D), True
    else:
        yield from linear("input", c["input_dim"], D, True)
    for i in range(c["layers"]):
        block = f"blocks.{i}"
        yield from norm(f"{block}.attention_norm")
        for j, g in enumerate(c["groups"]):
            group, kv = f"{block}.attention.{j}", g["kv_heads"] or g["heads"]
            if c["positions"] == "alibi":
                yield f"{group}.log_slopes", (g["heads"],), False
            yield from linear(f"{group}.q_proj", D, g["heads"] * g["qk_dim"], c["attention_bias"])
            yield from linear(f"{group}.k_proj", D, kv * g["qk_dim"], c["attention_bias"])
            yield from linear(f"{group}.v_proj", D, kv * g["v_dim"], c["attention_bias"])
        yield from linear(f"{block}.attention.o_proj", sum(g["heads"] * g["v_dim"] for g in c["groups"]), D,
                          c["attention_bias"])
        yield from norm(f"{block}.ffn_norm")
        if c["activation"] == "swiglu":
            yield from linear(f"{block}.ffn.gate", D, c["ffn_width"], c["ffn_bias"])
        yield from linear(f"{block}.ffn.up", D, c["ffn_width"], c["ffn_bias"])
        yield from linear(f"{block}.ffn.down", c["ffn_width"], D, c["ffn_bias"])
    if c["final_norm"] and c["norm_place"] == "pre":
        yield from norm("final_norm")
    if not c["tied"]:
        yield from linear("readout", D, c["output_dim"], True)


def first_value(name, shape, generator):
    x = torch.randn(shape, generator=generator, dtype=F64)
    if "norm" in name:
        x = 0.2 * x + (1.0 if name.endswith("weight") else 0.0)
    elif name.endswith("log_slopes"):
        x = 0.7 * x - 0.7
    elif name.endswith("weight"):
        x = x * 1.2 / math.sqrt(shape[-1])
    else:
        x = 0.3 * x
    return torch.round(x, decimals=3)


class Model:
    def __init__(self, c, weights):
        self.c, self.w = c, weights

    def linear(self, name, x):
        y = x @ self.w[f"{name}.weight"].T
        return y + self.w[f"{name}.bias"] if f"{name}.bias" in self.w else y

    def norm(self, name, x):
        eps = self.c["norm_eps"]
        if self.c["norm"] == "none":
            return x
        if self.c["norm"] == "rms_norm":
            return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * self.w[f"{name}.weight"]
        centred = x - x.mean(-1, keepdim=True)
        return (centred / torch.sqrt((centred * centred).mean(-1, keepdim=True) + eps) * self.w[f"{name}.weight"]
                + self.w[f"{name}.bias"])

    def rotate(self, x):  # (B, H, T, D)
        half = x.shape[-1] // 2
        frequency = self.c["rope_base"] ** (-torch.arange(half, dtype=F64) / half)
        angle = torch.arange(x.shape[2], dtype=F64)[:, None] * frequency
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)

    def heads(self, name, g, x, mask):
        B, T, _ = x.shape
        kv = g["kv_heads"] or g["heads"]
        split = lambda part, n: self.linear(f"{name}.{part}", x).view(B, T, n, -1).transpose(1, 2)  # (B, H, T, D)
        q, k, v = split("q_proj", g["heads"]), split("k_proj", kv), split("v_proj", kv)
        if self.c["positions"] == "rope":
            q, k = self.rotate(q), self.rotate(k)
        k, v = (t.repeat_interleave(g["heads"] // kv, 1) for t in (k, v))
        scale = self.c["logit_scale"] if self.c["logit_scale"] is not None else 1 / math.sqrt(g["qk_dim"])
        scores = scale * (q @ k.transpose(-1, -2))  # (B, H, T, T)
        t = torch.arange(T)
        if self.c["positions"] == "alibi":
            scores = scores - self.w[f"{name}.log_slopes"].exp()[:, None, None] * (t[:, None] - t).abs()
        hidden = ~mask[:, None, None, :]
        if self.c["causal"]:
            hidden = hidden | (t > t[:, None])
        p = scores.masked_fill(hidden, -math.inf).softmax(-1)
        return (p @ v).transpose(1, 2).reshape(B, T, -1)

    def attention(self, name, x, mask):
        parts = [self.heads(f"{name}.{j}", g, x, mask) for j, g in enumerate(self.c["groups"])]
        return self.linear(f"{name}.o_proj", torch.cat(parts, -1))

    def ffn(self, name, x):
        up, kind = self.linear(f"{name}.up", x), self.c["activation"]
        if kind == "swiglu":
            gate = self.linear(f"{name}.gate", x)
            h = gate * torch.sigmoid(gate) * up
        elif kind == "relu":
            h = up.clamp(min=0)
        elif kind == "silu":
            h = up * torch.sigmoid(up)
        elif kind == "gelu":
            h = up * torch.special.ndtr(up)
        else:
            h = 0.5 * up * (1 + torch.tanh(math.sqrt(2 / math.pi) * (up + 0.044715 * up**3)))
        return self.linear(f"{name}.down", h)

    def __call__(self, x, mask):
        c = self.c
        T, D = x.shape[1], c["width"]
        h = self.w["tokens.weight"][x] if c["vocab"] else self.linear("input", x)
        if c["positions"] == "learned":
            h = h + self.w["positions"][:T]
        elif c["positions"] == "sinusoidal":
            frequency = torch.exp(torch.arange(0, D, 2, dtype=F64) * (-math.log(1e4) / D))
            angle = torch.arange(T, dtype=F64)[:, None] * frequency
            h = h + torch.stack([angle.sin(), angle.cos()], -1).view(T, D)
        for i in range(c["layers"]):
            for part, branch in (("attention", lambda n, z: self.attention(n, z, mask)), ("ffn", self.ffn)):
                name, norm = f"blocks.{i}.{part}", lambda z: self.norm(f"blocks.{i}.{part}_norm", z)
                h = h + branch(name, norm(h)) if c["norm_place"] == "pre" else norm(h + branch(name, h))
        if c["final_norm"] and c["norm_place"] == "pre":
            h = self.norm("final_norm", h)
        if c["pooling"] == "mean":
            h = (h * mask[..., None]).sum(1) / mask.sum(1)[:, None]
        return h @ self.w["tokens.weight"].T if c["tied"] else self.linear("readout", h)


def loss_of(objective, y, target):
    if objective == "mse":
        return ((y - target) ** 2).mean()
    return F.cross_entropy(y.flatten(0, -2), target.flatten(), ignore_index=-100)


def data(case, generator):
    c, B, T = case["config"], case["batch"], case["length"]
    integers = lambda high, shape: torch.randint(high, shape, generator=generator)
    reals = lambda shape: torch.round(torch.randn(shape, generator=generator, dtype=F64), decimals=3)
    x = integers(c["vocab"], (B, T)) if c["vocab"] else reals((B, T, c["input_dim"]))
    shape = (B,) if c["pooling"] == "mean" else (B, T)
    outputs = c["vocab"] if c["tied"] else c["output_dim"]
    if case["objective"] == "mse":
        return x, reals(shape + (outputs,))
    target = integers(outputs, shape)
    if c["pooling"] == "none":
        target[0, -2:] = -100
    return x, target


def tensor(t):
    return dict(shape=list(t.shape), values=t.flatten().tolist())


def make(case):
    generator = torch.Generator().manual_seed(1)
    c = case["config"]
    shapes = list(parameter_shapes(c))
    weights = {name: first_value(name, shape, generator).requires_grad_() for name, shape, _ in shapes}
    x, target = data(case, generator)
    kept = torch.tensor(case.get("kept", [case["length"]] * case["batch"]))
    mask = torch.arange(case["length"]) < kept[:, None]  # (B, T)
    model = Model(c, weights)
    o = OPTIMIZER
    optimizer = torch.optim.AdamW(
        [dict(params=[weights[n] for n, _, d in shapes if d], weight_decay=o["weight_decay"]),
         dict(params=[weights[n] for n, _, d in shapes if not d], weight_decay=0.0)],
        lr=o["lr"], betas=(o["beta1"], o["beta2"]), eps=o["eps"])
    before = {n: w.detach().clone() for n, w in weights.items()}
    losses, gradients = [], {}
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(case["objective"], model(x, mask), target)
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            gradients = {n: w.grad.clone() for n, w in weights.items()}
        optimizer.step()
    parameters = {n: dict(decays=d, **tensor(before[n]), gradient=gradients[n].flatten().tolist(),
                          after=weights[n].detach().flatten().tolist()) for n, _, d in shapes}
    golden = dict(config=c, objective=case["objective"], optimizer=o, input=tensor(x), target=tensor(target),
                  losses=losses, parameters=parameters)
    if "kept" in case:
        golden["key_mask"] = tensor(mask.int())
    return golden


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    for name, case in CASES.items():
        golden = make(case)
        rows = lambda table: ",\n".join(f'"{k}": {json.dumps(v, separators=(",", ":"))}' for k, v in table.items())
        parameters = rows(golden.pop("parameters"))
        (folder / f"{name}.json").write_text(f'{{{rows(golden)},\n"parameters": {{\n{parameters}\n}}}}\n')


if __name__ == "__main__":
    main()
