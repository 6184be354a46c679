#!/usr/bin/env python3
"""Compare what peer-cases wrote with PyTorch: python compare.py FILE. See README.md.

PyTorch computes every case in f64 from the same inputs, so f32 results are held against the truth and not against
PyTorch's own rounding; f64 results against f64. Exit status 1 when a case differs or an op has no twin here.
"""
import collections
import importlib.util
import json
import math
import pathlib
import sys

import torch
import torch.nn.functional as F
from safetensors import safe_open

F64 = torch.float64

# What may differ, the same in f32 and f64: |ours - theirs| <= ulps · ulp(theirs) + scale · (S + eps · size). `ulps` bounds
# every element for itself. S is how far the tensor moves at most when every input is moved by one eps (six times, random
# signs): what rounding inputs alone would do. `size`, where a name stands in SIZES, are terms that cancel by the formula
# whatever the inputs are.
Bound = collections.namedtuple("Bound", "ulps scale why", defaults=("",))
EXACT = Bound(0, 0, "moves or copies numbers")
SUM = Bound(4, 16, "sums of terms of both signs, in another order")
VALUE = {
    # Bounds of engine/ops/elementwise, which tests/engine/math.cpp holds over all of f32. f64: C's functions.
    "neg": EXACT, "relu": EXACT, "exp": Bound(4, 0), "log": Bound(3, 0), "sqrt": Bound(1, 0), "rsqrt": Bound(2, 0),
    "tanh": Bound(4, 0), "sigmoid": Bound(4, 0), "silu": Bound(5, 0), "gelu": Bound(8, 4, "f64: erfc's argument is rounded"),
    "gelu_tanh": Bound(8, 4, "PyTorch rounds x³ and the exponent"), "swiglu": Bound(6, 0),
    "add": Bound(1, 0), "sub": Bound(1, 0), "mul": Bound(1, 0), "div": Bound(1, 0),
    "scale": Bound(2, 0, "the factor is rounded"),
    "reshape": EXACT, "permute": EXACT, "transpose": EXACT, "slice": EXACT, "expand": EXACT, "concat": EXACT,
    "embedding": EXACT, "where": EXACT, "max": EXACT, "min": EXACT, "maximum": EXACT, "minimum": EXACT, "abs": EXACT,
    "select": EXACT, "squeeze": EXACT, "unsqueeze": EXACT, "stack": EXACT, "split": EXACT, "chunk": EXACT,
    "gather": EXACT, "index_select": EXACT, "clamp": Bound(1, 0, "the bounds are rounded"),
    "pow": Bound(8, 16, "b · log a is rounded, which e^ multiplies by its size"),
    "masked_fill": Bound(1, 0, "the value is rounded"), "dropout": Bound(2, 0, "1/(1 - p) is rounded"),
    "rope": Bound(4, 64, "angles of up to 200 rad, from powers that are rounded otherwise"),
    "softmax": Bound(72, 0, "x - max x is rounded, which e^ multiplies by its size: up to 104 where e^ is not 0"),
}
GRADIENT = {
    "exp": Bound(5, 0), "log": Bound(2, 0), "sqrt": Bound(3, 0), "rsqrt": Bound(8, 0),
    "tanh": Bound(8, 0), "sigmoid": Bound(8, 0),
    "silu": Bound(12, 4, "f' is near 0 at -1.278"), "gelu": Bound(12, 4, "f' is near 0 at -0.752"),
    "gelu_tanh": Bound(12, 4, "f' is near 0 at -0.752"),
    "gelu_tanh float64": Bound(12, 40, "PyTorch rounds x³ and the exponent w, whose error e^ multiplies by w"),
    **{op: Bound(4, 70, "as many terms one after the other") for op in ("gather", "index_select", "embedding")},
    "rope": VALUE["rope"], "swiglu": Bound(12, 4, "silu' is near 0 at -1.278"),
}
top = lambda x: x[torch.isfinite(x)].abs().max().item() if x.numel() and torch.isfinite(x).any() else 0.0


def norm_size(o, dy, x, weight, bias=None):
    """dx = (g - mean g - x̂ mean(g x̂)) / σ: in a row of one number, and near it, all of g cancels."""
    spread = x.var(-1, correction=0) if "layer" in o["op"] else (x * x).mean(-1)
    return top(dy) * top(weight) * max(top(1 / torch.sqrt(spread + o["eps"])), 1)


def attention_size(o, dy, q, k, v, **rest):
    """ds = p (dy·v - Σ p dy·v): over one key, and near it, all cancels."""
    reach = max(q.shape[1], k.shape[1]) if "slopes" in rest else 1
    return top(dy) * top(v) * math.sqrt(v.shape[-1]) * max(top(q), top(k), reach) * (o["scale"] or 1)


SIZES = {
    "layer_norm": norm_size, "rms_norm": norm_size, "attention": attention_size,
    "softmax": lambda o, dy, x: top(dy), "log_softmax": lambda o, dy, x: top(dy), "cross_entropy": lambda o, dy, **_: top(dy),
    "kl_divergence": lambda o, dy, **_: top(dy),
}


# The same for values: log p - log q is rounded, each of size 1, however small their mean.
VALUE_SIZES = {"kl_divergence": lambda o, y, logits, teacher: 1 if o["mean"] else max(1, logits[..., 0].numel())}


class Exactly(torch.autograd.Function):
    """f with a derivative of its own, where PyTorch's cancels."""
    @staticmethod
    def forward(ctx, x, f, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return f(x)

    @staticmethod
    def backward(ctx, dy):
        return dy * ctx.slope(ctx.saved_tensors[0]), None, None


def tame(f):
    """f(x) = x · F(x) with its limits at ±infinity, where PyTorch has NaN."""
    return lambda x: torch.where(x > 2000, x, f(torch.where(x.abs() > 2000, 2000 * x.detach().sign(), x)))


silu = tame(lambda x: x * torch.sigmoid(x))


def attention(o, q, k, v, **rest):
    B, Tq, H, D = q.shape
    Tk, group = k.shape[1], H // k.shape[2]
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    s = (o["scale"] or 1 / math.sqrt(D)) * (q @ k.transpose(-1, -2))  # (B, H, Tq, Tk)
    i, j = torch.arange(Tq)[:, None] + Tk - Tq, torch.arange(Tk)
    if "slopes" in rest:
        s = s - rest["slopes"][:, None, None] * (i - j).abs()
    hidden = (j > i) if o["causal"] else torch.zeros(Tq, Tk, dtype=torch.bool)
    hidden = hidden.expand(B, 1, Tq, Tk)
    if "key_mask" in rest:
        hidden = hidden | ~rest["key_mask"][:, None, None, :]
    p = s.masked_fill(hidden, -math.inf).softmax(-1)
    blind = hidden.all(-1, keepdim=True)  # a query that may attend nothing gives 0
    p = torch.where(blind, torch.zeros_like(p), p)
    return (p @ v).transpose(1, 2)


def rope(o, x, positions):
    half = x.shape[-1] // 2
    frequency = o["base"] ** (-torch.arange(half, dtype=F64) / half)
    angle = (positions.to(F64)[..., None] * frequency).unsqueeze(-2)  # (…, T, 1, D/2)
    cos, sin = angle.cos(), angle.sin()
    a, b = (x[..., 0::2], x[..., 1::2]) if o["interleaved"] else (x[..., :half], x[..., half:])
    a, b = a * cos - b * sin, a * sin + b * cos
    return torch.stack([a, b], -1).flatten(-2) if o["interleaved"] else torch.cat([a, b], -1)


def over(function):
    """A reduction over o["axes"], all when empty."""
    return lambda o, x: function(x, o["axes"] or list(range(x.dim())), o["keep"])


def largest(x, axes, keep):
    """The gradient goes to the first of equal maxima, as ours does: amax shares it."""
    axes = sorted(a % x.dim() for a in axes) if x.dim() else []
    rest = [a for a in range(x.dim()) if a not in axes]
    flat = x.permute(rest + axes).flatten(len(rest)) if axes else x.unsqueeze(-1)
    y = flat.max(-1).values
    return y.view([1 if a in axes else n for a, n in enumerate(x.shape)]) if keep else y


def first_of_largest(x, axes, keep):
    axes = sorted(a % x.dim() for a in axes) if x.dim() else []
    rest = [a for a in range(x.dim()) if a not in axes]
    flat = x.detach().permute(rest + axes).flatten(len(rest)) if axes else x.detach().unsqueeze(-1)
    y = (flat == flat.max(-1, keepdim=True).values).to(torch.int64).argmax(-1)
    return y.view([1 if a in axes else n for a, n in enumerate(x.shape)]) if keep else y


def kl_divergence(o, logits, teacher):
    y = F.kl_div(F.log_softmax(logits, -1), F.log_softmax(teacher.detach(), -1), log_target=True, reduction="sum")
    rows = logits[..., 0].numel()
    return y / rows if o["mean"] and rows else y


def cross_entropy(o, logits, targets):
    y = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), ignore_index=o["ignore"],
                        reduction="mean" if o["mean"] else "sum")
    return logits.sum() * 0 if bool((targets == o["ignore"]).all()) else y  # a mean over none: 0 here, NaN there


def turned(x, is_turned):
    return x.transpose(-1, -2) if is_turned else x


TWINS = {
    "rsqrt": lambda o, x: torch.rsqrt(x),
    "silu": lambda o, x: silu(x),
    # F.gelu, and torch.special.ndtr, cancel in the left tail.
    "gelu": lambda o, x: tame(lambda x: 0.5 * x * torch.special.erfc(-x * math.sqrt(0.5)))(x),
    "gelu_tanh": lambda o, x: tame(lambda x: x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))(x),
    "tanh": lambda o, x: Exactly.apply(x, torch.tanh, lambda x: 1 / torch.cosh(x) ** 2),
    "sigmoid": lambda o, x: Exactly.apply(x, torch.sigmoid, lambda x: torch.sigmoid(x) * torch.sigmoid(-x)),
    "swiglu": lambda o, gate, up: silu(gate) * up,
    "equal": lambda o, a, b: torch.eq(a, b),
    "select": lambda o, x: x.select(o["axis"], o["i"]),
    "squeeze": lambda o, x: x.squeeze(o["axis"]),
    "unsqueeze": lambda o, x: x.unsqueeze(o["axis"]),
    "stack": lambda o, **parts: torch.stack(list(parts.values()), o["axis"]),
    "split": lambda o, x: x.split(o["sizes"], o["axis"])[o["part"]],
    "chunk": lambda o, x: x.split(o["sizes"], o["axis"])[o["part"]],
    "gather": lambda o, x, index: x.gather(o["axis"], index),
    "index_select": lambda o, x, indices: x.index_select(o["axis"], indices),
    "variance": lambda o, x: x.var(o["axes"], correction=o["correction"], keepdim=o["keep"]),
    "min": over(lambda x, axes, keep: -largest(-x, axes, keep)),
    "argmax": over(lambda x, axes, keep: first_of_largest(x, axes, keep)),
    "argmin": over(lambda x, axes, keep: first_of_largest(-x, axes, keep)),
    "clamp": lambda o, x: x.clamp(o["low"], o["high"]),
    "scale": lambda o, x: o["factor"] * x,
    "sum": over(lambda x, axes, keep: x.sum(axes, keepdim=keep) if x.dim() else x.clone()),
    "mean": over(lambda x, axes, keep: x.mean(axes, keepdim=keep) if x.dim() else x.clone()),
    "max": over(largest),
    "reshape": lambda o, x: x.reshape(o["shape"]),
    "permute": lambda o, x: x.permute(o["axes"]),
    "transpose": lambda o, x: x.transpose(o["a"], o["b"]),
    "slice": lambda o, x: x.narrow(o["axis"], o["begin"], o["end"] - o["begin"]),
    "expand": lambda o, x: x.expand(o["shape"]),
    "concat": lambda o, **parts: torch.cat(list(parts.values()), o["axis"]),
    "softmax": lambda o, x: torch.softmax(x, -1),
    "log_softmax": lambda o, x: torch.log_softmax(x, -1),
    "matmul": lambda o, a, b: turned(a, o["transpose_a"]) @ turned(b, o["transpose_b"]),
    "linear": lambda o, x, weight, bias=None: F.linear(x, weight, bias),
    "quantized_linear": lambda o, x, weight, bias=None: F.linear(x, weight, bias),
    "rope": rope,
    "attention": attention,
    "layer_norm": lambda o, x, weight, bias=None: F.layer_norm(x, x.shape[-1:], weight, bias, o["eps"]),
    "rms_norm": lambda o, x, weight: x / torch.sqrt((x * x).mean(-1, keepdim=True) + o["eps"]) * weight,
    "embedding": lambda o, table, indices: F.embedding(indices, table),
    "cross_entropy": cross_entropy,
    "kl_divergence": kl_divergence,
    "mse": lambda o, prediction, target: F.mse_loss(prediction, target, reduction="mean" if o["mean"] else "sum"),
    "where": lambda o, condition, a, b: torch.where(condition, a, b),
    "masked_fill": lambda o, x, mask: x.masked_fill(mask.expand(x.shape), o["value"]),
    "dropout": lambda o, x, kept: torch.where(kept, x / (1 - o["p"]), x * 0.0),
}


def twin_of(op):
    """The function of PyTorch that an op is: the table's, else the one of the same name."""
    if op in TWINS:
        return TWINS[op]
    function = getattr(torch, op, None) or getattr(F, op, None)
    return function and (lambda o, **inputs: function(*inputs.values()))


def problem(got, want, bound, moved, size, is_gradient):
    """An empty string, or what differs. `want` is f64; beyond `got`'s range it counts as infinite."""
    if got.shape != want.shape:
        return f"shape {tuple(got.shape)}, PyTorch {tuple(want.shape)}"
    if not got.is_floating_point():
        return "" if torch.equal(got, want.to(got.dtype)) else "differs"
    info = torch.finfo(got.dtype)
    want = want.detach().to(F64)
    narrow, ours = want.to(got.dtype).to(F64), got.to(F64)
    exponent = torch.floor(torch.log2(want.abs().clamp(min=info.tiny, max=info.max)))
    ulp = torch.exp2(exponent) * info.eps
    allowed = bound.ulps * ulp + bound.scale * (moved + info.eps * size) + info.smallest_normal * info.eps
    same = (ours == narrow) | (ours.isnan() & want.isnan()) | ((ours - want).abs() <= allowed)
    # At the end of the range rounding decides, and a slope that has overflowed stays infinite times a dy below 1.
    same |= (want.abs() > info.max * (1e-5 if is_gradient else 1 - 32 * info.eps)) & ours.isinf() & (ours.sign() == want.sign())
    same |= narrow.isinf() & ours.isnan() & is_gradient  # a sum of terms that overflow with both signs
    same |= narrow.isinf() & (ours.abs() > info.max * (1 - 32 * info.eps)) & (ours.sign() == want.sign())
    if same.all():
        return ""
    error = torch.where(same, torch.zeros_like(ours), (ours - want).abs().nan_to_num(nan=math.inf))
    at = int(error.flatten().argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(at), want.shape)) if want.dim() else ()
    return (f"element {index}: ours {ours.flatten()[at]:.9g}, PyTorch {want.flatten()[at]:.9g}: "
            f"{(error / ulp).flatten()[at]:.3g} ulp, {error.flatten()[at] / (moved + info.eps * size + 1e-320):.3g} of S")


def run(function, inputs, dy, eps=0.0):
    """Value and gradients of function(**inputs), every floating input and dy moved by up to one `eps`."""
    def shifted(x):
        return x * (1 + eps * (2 * torch.randint(0, 2, x.shape).to(F64) - 1)) if x.is_floating_point() else x
    leaves = {n: shifted(x).requires_grad_() if x.is_floating_point() else x for n, x in inputs.items()}
    y = function(**leaves)
    if dy is not None and y.requires_grad:
        y.backward(shifted(dy))
    gradients = {n: torch.zeros_like(x) if x.grad is None else x.grad for n, x in leaves.items() if x.is_floating_point()}
    return y.detach(), gradients


def movement(function, inputs, dy, eps, y, gradients):
    """S of the value and of each gradient."""
    out = collections.defaultdict(float)
    for _ in range(6):
        other, others = run(function, inputs, dy, eps)
        for name, a, b in [("", y, other)] + [(n, gradients[n], others[n]) for n in gradients]:
            out[name] = max(out[name], top((a - b).to(F64)))
    return out


def compare_case(file, number, case):
    function = twin_of(case["op"])
    if function is None:
        return [f"no twin of {case['op']} in compare.py, and none of that name in PyTorch"]
    inputs = {i["name"]: file.get_tensor(f"{number}.input.{i['name']}") for i in case["inputs"]}
    wide = {n: x.to(F64) if x.is_floating_point() else x for n, x in inputs.items()}
    y = file.get_tensor(f"{number}.y")
    dy = file.get_tensor(f"{number}.dy").to(F64) if case["differentiable"] else None
    options = case["options"] | {"op": case["op"]}
    call = lambda **tensors: function(options, **tensors)
    want, gradients = run(call, wide, dy)
    moved = movement(call, wide, dy, torch.finfo(y.dtype).eps, want, gradients) if y.is_floating_point() else {"": 0}
    size = VALUE_SIZES[case["op"]](options, want, **wide) if case["op"] in VALUE_SIZES else 0
    wrong = problem(y, want, VALUE.get(case["op"], SUM), moved[""], size, False)
    out = [f"value: {wrong}"] if wrong else []
    size = SIZES[case["op"]](options, dy, **wide) if case["op"] in SIZES and dy is not None and dy.numel() else 0
    for i in case["inputs"]:
        key = f"{number}.gradient.{i['name']}"
        if i["differentiable"] and key in file.keys_set:
            wide_name = f"{case['op']} {str(y.dtype).removeprefix('torch.')}"
            bound = GRADIENT.get(wide_name) or GRADIENT.get(case["op"], SUM)
            if wrong := problem(file.get_tensor(key), gradients[i["name"]], bound, moved[i["name"]], size, True):
                out.append(f"gradient of {i['name']}: {wrong}")
    return out


def compare_model(file, number, entry, golden):
    prefix = f"model{number}."
    tensor = lambda name: file.get_tensor(prefix + name)
    weights = {n: tensor(f"value.{n}").to(F64) for n in entry["parameters"]}
    x, mask, dy, ours = tensor("input"), tensor("mask"), tensor("dy").to(F64), tensor("y")
    eps = torch.finfo(ours.dtype).eps
    call = lambda **leaves: golden.Model(entry["config"], {n: w for n, w in leaves.items() if n != "input"})(
        leaves["input"], mask)
    inputs = weights | {"input": x.to(F64) if x.is_floating_point() else x}
    y, gradients = run(call, inputs, dy)
    moved = movement(call, inputs, dy, eps, y, gradients)
    # Each of some hundred roundings moves what follows as an input does. Gradients that are 0 in theory (the keys' bias)
    # are noise of the others': hence the floor.
    largest = max((top(gradients[n]) for n in weights), default=0)
    out = []
    for name, got, want, floor in ([("the output", ours, y, top(y))] + [
            (f"gradient of {n}", tensor(f"gradient.{n}"), gradients[n], max(top(gradients[n]), 1e-2 * largest)) for n in weights]):
        error = (got.to(F64) - want).abs().max().item() if got.numel() else 0
        key = "" if name == "the output" else name.removeprefix("gradient of ")
        if not error <= 20 * moved[key] + 100 * eps * floor:
            out.append(f"{name}: off by {error / eps / (floor or 1):.3g} eps of the largest, {error / (moved[key] or 1e-320):.3g} of S")
    return out


def main():
    path = pathlib.Path(__file__).resolve().parents[1] / "golden" / "make_golden.py"
    spec = importlib.util.spec_from_file_location("make_golden", path)
    golden = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(golden)
    torch.manual_seed(0)
    with safe_open(sys.argv[1], "pt") as file:
        class File:
            keys_set = set(file.keys())
            get_tensor = staticmethod(file.get_tensor)
        cases, models = json.loads(file.metadata()["cases"]), json.loads(file.metadata()["models"])
        counts, failed = collections.Counter(), collections.Counter()
        for number, case in enumerate(cases):
            counts[case["op"]] += 1
            for wrong in compare_case(File, number, case):
                failed[case["op"]] += 1
                dtype = str(file.get_tensor(f"{number}.y").dtype).removeprefix("torch.")
                print(f"case {number}, {case['op']} {dtype} {json.dumps(case['options'])}: {wrong}")
        wrong_models = 0
        for number, entry in enumerate(models):
            for wrong in compare_model(File, number, entry, golden):
                wrong_models += 1
                print(f"Transformer {number}: {wrong}  {json.dumps(entry['config'])}")
    print(f"{len(cases)} cases of {len(counts)} ops, {sum(failed.values())} differences"
          + (f" ({', '.join(f'{op} {n}' for op, n in failed.items())})" if failed else "")
          + f"; {len(models)} Transformers, {wrong_models} differences")
    sys.exit(1 if failed or wrong_models else 0)


if __name__ == "__main__":
    main()
