"""Writes head_measures.json: what each head of some of tests/models/pretrained/checkpoints does at some queries.

    env/bin/python tests/tasks/measure/make_head_measures.py     (env: see tests/models/pretrained/make_checkpoints.py)

Queries and keys are those that transformers gives its own attention, f32; the rest is numpy in f64, with the Jacobian as a
matrix.
"""

import importlib
import json
import pathlib

import numpy
import torch
import transformers as tf

HERE = pathlib.Path(__file__).parent
CHECKPOINTS = HERE.parent.parent / "models/pretrained/checkpoints"
MODELS = {"llama2-gqa": "llama", "llama3.1": "llama", "smollm2": "llama", "qwen3": "qwen3"}
TOKENS = [(i * i + 3 * i + 1) % 37 for i in range(24)]
POSITIONS = [1, 12, 23]


def measures(query, keys, scale, position):
    z_all = scale * keys @ query
    z = z_all[: position + 1]
    p = numpy.exp(z - z.max())
    p /= p.sum()
    jacobian = numpy.diag(p) - numpy.outer(p, p)
    return {
        "jacobian_norm": numpy.linalg.norm(jacobian, 2),
        "entropy": -(p * numpy.log(p)).sum(),
        "sink_mass": p[0],
        "largest_probability": p.max(),
        "logits_rms": numpy.sqrt((z**2).mean()),
        "logits_rms_all": numpy.sqrt((z_all**2).mean()),
        "logits_deviation": z.std(),
        "largest_logit": numpy.abs(z).max(),
    }


def heads_of(name, family):
    module = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    eager, seen = module.eager_attention_forward, []

    def watched(self, query, key, value, mask, scaling, **options):
        seen.append((query[0].double().numpy(), key[0].double().numpy(), scaling))
        return eager(self, query, key, value, mask, scaling=scaling, **options)

    module.eager_attention_forward = watched
    model = tf.AutoModelForCausalLM.from_pretrained(CHECKPOINTS / name, attn_implementation="eager", dtype=torch.float32)
    with torch.no_grad():
        model(torch.tensor([TOKENS]))
    module.eager_attention_forward = eager
    layers = []
    for q, k, scale in seen:
        shared = q.shape[0] // k.shape[0]
        layers.append(
            [[measures(q[h, t], k[h // shared], scale, t) for t in POSITIONS] for h in range(q.shape[0])]
        )
    return layers


out = {"tokens": TOKENS, "positions": POSITIONS, "models": {}}
for name, family in MODELS.items():
    out["models"][name] = heads_of(name, family)
text = json.dumps(json.loads(json.dumps(out), parse_float=lambda x: float(f"{float(x):.8g}")))
(HERE / "head_measures.json").write_text(text + "\n")
