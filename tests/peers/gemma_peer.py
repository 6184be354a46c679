"""Holds random Gemma 3 models, with windows of 4 to 64 and texts longer than they are, against transformers.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install torch transformers
    /tmp/peers/bin/python tests/peers/gemma_peer.py build/experiments/headroom --seed $(date +%Y%m%d)

Each model is written by transformers in f32, computed by it (eager attention), by headroom from the folder, from the GGUF
file that headroom converts it to, and from the folder that it converts that file to. The exit status is 1 where a logit
differs by more than 1e-4.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import torch
import transformers as tf

TOLERANCE = 1e-4
VOCAB = 61


def rope(theta, factor):
    return {"rope_type": "linear", "factor": factor, "rope_theta": theta} if factor else {"rope_type": "default", "rope_theta": theta}


def config_of(draw):
    """GGUF files know one scale of scores and layers without a window at equal distances: every second model has these."""
    layers, head_dim, kv_heads = draw.randint(1, 7), 2 * draw.randint(2, 17), draw.choice([1, 2])
    is_plain = draw.random() < 0.5
    kinds = [draw.choice(["sliding_attention", "full_attention"]) for _ in range(layers)]
    every = draw.randint(1, 6)
    if is_plain:
        kinds = ["sliding_attention" if (i + 1) % every else "full_attention" for i in range(layers)]
    heads = kv_heads * draw.choice([1, 2, 3])
    return tf.Gemma3TextConfig(
        vocab_size=VOCAB, hidden_size=heads * draw.randint(3, 12), intermediate_size=draw.randint(5, 60), num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=head_dim, max_position_embeddings=512,
        query_pre_attn_scalar=head_dim if is_plain else draw.randint(4, 40), sliding_window=draw.randint(4, 64),
        layer_types=kinds, attention_bias=draw.random() < 0.2, bos_token_id=1, eos_token_id=2, pad_token_id=0,
        attn_implementation="eager",
        rope_parameters={"full_attention": rope(draw.uniform(1e3, 1e6), draw.choice([0, 0, 4.0])), "sliding_attention": rope(draw.uniform(50, 1e4), 0)},
    ), is_plain


def randomize(model, generator):
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            p.copy_(0.2 * noise if "norm" in name or "bias" in name else 0.25 * noise)


def logits_of(program, model, ids):
    run = subprocess.run(
        [program, "logits", str(model), "--tokens", ",".join(map(str, ids)), "--top", str(VOCAB), "--json"],
        capture_output=True, text=True, check=True,
    )
    rows = torch.empty(len(ids), VOCAB, dtype=torch.float64)
    for row, prediction in enumerate(json.loads(run.stdout)):
        for token, logit in prediction["top"]:
            rows[row, token] = logit
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", type=int, default=20)
    arguments = parser.parse_args()
    draw, generator = random.Random(arguments.seed), torch.Generator().manual_seed(arguments.seed)
    worst, failed = 0.0, 0
    for index in range(arguments.models):
        config, is_plain = config_of(draw)
        model = tf.Gemma3ForCausalLM(config).eval()
        randomize(model, generator)
        ids = [draw.randrange(VOCAB) for _ in range(draw.randint(2, 3 * config.sliding_window + 20))]
        with torch.no_grad():
            theirs = model(torch.tensor([ids])).logits[0].double()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            model.save_pretrained(path / "hf")
            made = [path / "hf"]
            if is_plain:
                for name in ("m.gguf", "back"):
                    subprocess.run([arguments.program, "convert", str(made[-1]), "-o", str(path / name)], check=True, capture_output=True)
                    made.append(path / name)
            errors = [(logits_of(arguments.program, each, ids) - theirs).abs().max().item() for each in made]
        worst, failed = max(worst, *errors), failed + (max(errors) > TOLERANCE)
        print(f"{index}: window {config.sliding_window}, {len(ids)} tokens, {config.num_hidden_layers} layers, largest logit "
              f"{theirs.abs().max():.1f}, differences {', '.join(f'{e:.1e}' for e in errors)}", flush=True)
    print(f"{arguments.models} models, seed {arguments.seed}: {failed} differ; the largest difference is {worst:.1e}")
    sys.exit(failed > 0)


main()
