"""Holds random models of every kind of rotary scaling against transformers, and their GGUF files against llama.cpp.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install torch transformers xllamacpp
    /tmp/peers/bin/python tests/peers/rope_peer.py build/experiments/headroom --seed $(date +%Y%m%d)

Llamas, Mistrals, Qwens and Gemmas with texts on both sides of the original length. Each is written by transformers in f32
and computed by it at once and token by token through its cache; by headroom from the folder in both ways, from the GGUF file
that it makes of it, and from the folder that it makes of that. Without xllamacpp, llama.cpp is left out. The exit status is
1 where a logit differs by more than 1e-5 of the largest (llama.cpp's log probabilities: 1e-4).
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import urllib.request

import torch
import transformers as tf

try:
    import xllamacpp
except ImportError:
    xllamacpp = None

TOLERANCE, OF_LLAMA_CPP = 1e-5, 1e-4
VOCAB = 61
KINDS = ("default", "linear", "llama3", "yarn", "longrope", "dynamic")
FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "gemma3_text")


def write_tokenizer(folder):
    """llama.cpp reads no file without one: letters, and one merge."""
    tokens = [chr(c) for c in range(33, 33 + VOCAB - 3)] + ["\u010a", "\u0120", "AB"]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "vocab": {t: i for i, t in enumerate(tokens)}, "merges": [["A", "B"]], "byte_fallback": False}
    (folder / "tokenizer.json").write_text(json.dumps({"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": level,
                                                       "post_processor": None, "decoder": level, "model": model}))


def factors(draw, pairs):
    return [round(draw.uniform(1, 1.5), 3) for _ in range(pairs)], [round(draw.uniform(1.5, 8), 3) for _ in range(pairs)]


def rope_of(draw, kind, head_dim, original, longest):
    """rope_parameters of a kind. Every second yarn has what GGUF files of all families can say."""
    factor = draw.choice([2, 4.0, round(longest / original, 3)])
    rope = {"rope_type": kind, "rope_theta": draw.choice([10000.0, 500000.0, 100])}
    if kind in ("linear", "dynamic"):
        rope["factor"] = factor
    elif kind == "llama3":
        rope |= {"factor": factor, "low_freq_factor": 1, "high_freq_factor": draw.choice([4, 3.0]), "original_max_position_embeddings": original}
    elif kind == "yarn":
        rope |= {"factor": factor, "original_max_position_embeddings": original}
        for key, value in (("mscale", 0.7), ("mscale_all_dim", 1.0)) if draw.random() < 0.3 else ():
            rope[key] = value
        if draw.random() < 0.3:
            rope["attention_factor"] = draw.choice([0.8, 1.3])
        if draw.random() < 0.5:
            rope |= draw.choice([{"beta_fast": 16, "beta_slow": 2}, {"truncate": False}, {"beta_fast": 40.0}])
    elif kind == "longrope":
        rope["short_factor"], rope["long_factor"] = factors(draw, head_dim // 2)
        rope["original_max_position_embeddings"] = original
        if draw.random() < 0.5:
            rope |= draw.choice([{"factor": factor}, {"attention_factor": 1.2}])
    return rope


def model_of(draw, family, kind):
    kv_heads, head_dim = draw.choice([1, 2]), 2 * draw.randint(2, 9)
    heads = kv_heads * draw.choice([1, 2])
    original = draw.choice([8, 16, 24])
    longest = original if kind == "dynamic" else original * draw.choice([2, 4])
    sizes = dict(
        vocab_size=VOCAB, hidden_size=heads * head_dim, intermediate_size=draw.randint(8, 40), num_hidden_layers=draw.randint(1, 3),
        num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=head_dim, max_position_embeddings=longest, bos_token_id=1,
        eos_token_id=2, attn_implementation="eager", tie_word_embeddings=draw.random() < 0.5,
        rope_parameters=rope_of(draw, kind, head_dim, original, longest),
    )
    if family == "gemma3_text":
        plain = {"rope_type": "default", "rope_theta": 10000.0}
        sizes["rope_parameters"].pop("truncate", None)
        sizes |= dict(pad_token_id=0, query_pre_attn_scalar=head_dim, sliding_window=12, layer_types=[draw.choice(["full_attention", "sliding_attention"]) for _ in range(sizes["num_hidden_layers"])],
                      rope_parameters={"full_attention": sizes["rope_parameters"], "sliding_attention": draw.choice([plain, dict(sizes["rope_parameters"])])})
    if family == "mistral":
        sizes["sliding_window"] = None
    model = tf.AutoModelForCausalLM.from_config(tf.AutoConfig.for_model(family, **sizes)).float().eval()
    generator = torch.Generator().manual_seed(draw.randrange(2**31))
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            p.copy_(1 + 0.2 * noise if "norm" in name and family != "gemma3_text" else 0.2 * noise)
    return model, original


def by_token(model, ids):
    cache, rows = tf.DynamicCache(config=model.config), []
    for token in ids:
        rows.append(model(torch.tensor([[token]]), past_key_values=cache, use_cache=True).logits[0, -1])
    return torch.stack(rows).double()


def logits_of(program, model, ids, *options):
    run = subprocess.run([program, "logits", str(model), "--tokens", ",".join(map(str, ids)), "--top", str(VOCAB), "--json", *options],
                         capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(run.stderr.strip())
    rows = torch.empty(len(ids), VOCAB, dtype=torch.float64)
    for row, prediction in enumerate(json.loads(run.stdout)):
        for token, logit in prediction["top"]:
            rows[row, token] = logit
    return rows


def llama_cpp(file, ids, context):
    """Log probabilities of the likeliest tokens behind the ids."""
    p = xllamacpp.CommonParams()
    p.model.path, p.n_ctx, p.n_parallel, p.fit_params, p.warmup, p.port, p.endpoint_props = str(file), context, 1, False, False, 0, False
    p.cpuparams.n_threads = 1
    p.cache_type_k = p.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    p.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    server = xllamacpp.Server(p)
    body = {"prompt": ids, "n_predict": 1, "n_probs": 8, "temperature": 0.0, "cache_prompt": False}
    request = urllib.request.Request(server.listening_address + "/completion", data=json.dumps(body).encode(), headers={"Content-Type": "application/json"})
    answer = json.load(urllib.request.urlopen(request, timeout=60))
    return {each["id"]: each["logprob"] for each in answer["completion_probabilities"][0]["top_logprobs"]}


def errors_of(program, folder, model, original, ids):
    """By way of computing, how far headroom is from its peer, relative to the largest logit or absolute for llama.cpp."""
    with torch.no_grad():
        theirs = model(torch.tensor([ids])).logits[0].double()
        stepwise = by_token(model, ids)
    scale = max(1.0, theirs.abs().max().item())
    model.save_pretrained(folder / "hf")
    write_tokenizer(folder / "hf")
    out = {"folder": (logits_of(program, folder / "hf", ids) - theirs).abs().max().item() / scale,
           "by token": (logits_of(program, folder / "hf", ids, "--one-by-one") - stepwise).abs().max().item() / scale}
    made = subprocess.run([program, "convert", str(folder / "hf"), "-o", str(folder / "m.gguf")], capture_output=True, text=True, check=False)
    if made.returncode:
        return out, made.stderr.strip().splitlines()[-1]
    back = subprocess.run([program, "convert", str(folder / "m.gguf"), "-o", str(folder / "back")], capture_output=True, text=True, check=False)
    if back.returncode:
        raise RuntimeError(back.stderr.strip())
    # GGUF files cannot say that a base grows: theirs is the model in texts of its length. transformers keeps the base of a
    # longer text for one of just that length.
    short = ids if model.config.rope_parameters.get("rope_type") != "dynamic" else ids[: original - 1]
    with torch.no_grad():
        theirs = model(torch.tensor([short])).logits[0].double()
    for name in ("m.gguf", "back"):
        out[name] = (logits_of(program, folder / name, short) - theirs).abs().max().item() / scale
    if xllamacpp:
        # It chooses longrope's factors by its context, which is never as short as these texts.
        context, is_long = model.config.max_position_embeddings, len(short) > original
        if len(short) < context and (is_long or model.config.rope_parameters.get("rope_type") != "longrope"):
            rows = logits_of(program, folder / "m.gguf", short)[-1].log_softmax(-1)
            out["llama.cpp"] = max(abs(rows[token].item() - p) for token, p in llama_cpp(folder / "m.gguf", short, context).items())
    return out, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2, help="models of each family and kind")
    arguments = parser.parse_args()
    tf.logging.set_verbosity_error()
    torch.set_num_threads(1)
    draw, worst, count, failed, refused = random.Random(arguments.seed), {}, {}, 0, {}
    for family, kind in [(f, k) for f in FAMILIES for k in KINDS] * arguments.rounds:
        model, original = model_of(draw, family, kind)
        ids = [draw.randrange(VOCAB) for _ in range(draw.choice([original // 2, original, original + 1, 2 * original + 5]))]
        with tempfile.TemporaryDirectory() as folder:
            errors, refusal = errors_of(arguments.program, pathlib.Path(folder), model, original, ids)
        if refusal:
            refused[family, kind] = refusal.split(": ", 2)[-1]
        for way, error in errors.items():
            worst[way], count[way] = max(worst.get(way, 0), error), count.get(way, 0) + 1
        wrong = [way for way, error in errors.items() if not error <= (OF_LLAMA_CPP if way == "llama.cpp" else TOLERANCE)]
        failed += bool(wrong)
        if wrong:
            print(f"{family} {kind}, original length {original}, {len(ids)} tokens: {errors}, {model.config.rope_parameters}", flush=True)
    for (family, kind), reason in refused.items():
        print(f"no GGUF file: {family} {kind}: {reason}")
    print(f"seed {arguments.seed}: " + ", ".join(f"{way} {count[way]} models, at most {worst[way]:.1e}" for way in worst) + f"; {failed} differ")
    sys.exit(failed > 0)


main()
