"""Writes checkpoints/: small models with random weights in the layouts of Hugging Face and GGUF, and their logits.

    python3 -m venv env && env/bin/pip install torch==2.15.0 transformers==5.23.0 gguf==0.19.0
    env/bin/python tests/models/pretrained/make_checkpoints.py

transformers writes each folder and computes the logits (f32, eager attention); the GGUF files hold the same weights as
llama.cpp's convert_hf_to_gguf.py lays them out. Sizes are odd on purpose.
"""

import json
import pathlib
import shutil

import gguf
import numpy
import torch
import transformers as tf

OUT = pathlib.Path(__file__).parent / "checkpoints"
COMMON = {
    "vocab_size": 37,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "max_position_embeddings": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": None,
    "attn_implementation": "eager",
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}


def llama(**options):
    return tf.LlamaForCausalLM(tf.LlamaConfig(**{**COMMON, **options}))


def rope(theta):
    return {"rope_type": "default", "rope_theta": theta}


MODELS = {
    "llama1": lambda: llama(num_attention_heads=4, rms_norm_eps=1e-6),
    "llama2-gqa": lambda: llama(num_attention_heads=6, num_key_value_heads=2),
    "llama3.1": lambda: llama(num_attention_heads=4, num_key_value_heads=2, head_dim=8, rope_parameters=LLAMA3),
    "llama3.2-tied": lambda: llama(
        num_attention_heads=4, num_key_value_heads=1, rope_parameters={**LLAMA3, "factor": 32.0}, tie_word_embeddings=True
    ),
    "linear-rope": lambda: llama(
        num_attention_heads=2, rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 3.0}
    ),
    "llama-biases": lambda: llama(num_attention_heads=3, attention_bias=True, mlp_bias=True),
    "smollm2": lambda: llama(
        num_attention_heads=3, num_key_value_heads=1, rope_parameters=rope(100000.0), tie_word_embeddings=True
    ),
    "tinyllama-sharded": lambda: llama(num_attention_heads=4, num_key_value_heads=2),
    "mistral": lambda: tf.MistralForCausalLM(
        tf.MistralConfig(**COMMON, num_attention_heads=4, num_key_value_heads=2, sliding_window=32)
    ),
    "qwen2": lambda: tf.Qwen2ForCausalLM(
        tf.Qwen2Config(**COMMON, num_attention_heads=4, num_key_value_heads=2, rope_parameters=rope(1e6))
    ),
    "qwen3": lambda: tf.Qwen3ForCausalLM(
        tf.Qwen3Config(**COMMON, num_attention_heads=2, num_key_value_heads=1, head_dim=16, rope_parameters=rope(1e6))
    ),
    "gpt2": lambda: tf.GPT2LMHeadModel(
        tf.GPT2Config(
            vocab_size=37, n_embd=24, n_layer=2, n_head=3, n_positions=64, bos_token_id=1, eos_token_id=2,
            attn_implementation="eager",
        )
    ),
    "mistral-window": lambda: tf.MistralForCausalLM(
        tf.MistralConfig(**COMMON, num_attention_heads=4, num_key_value_heads=2, sliding_window=6)
    ),
    "gemma3": lambda: tf.Gemma3ForCausalLM(
        tf.Gemma3TextConfig(**{
            **COMMON, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 8,
            "query_pre_attn_scalar": 8, "sliding_window": 5, "sliding_window_pattern": 3,
            "rope_parameters": {"full_attention": rope(1e5), "sliding_attention": rope(100.0)},
        })
    ),
}
SHARDED = {"tinyllama-sharded"}
DTYPES = {"llama1": torch.float32, "llama2-gqa": torch.float16, "qwen2": torch.float32, "gpt2": torch.float32}
AS_GGUF = ["llama2-gqa", "llama3.1", "qwen2", "qwen3", "gpt2", "gemma3"]


def randomize(model, generator):
    """Weights large enough that attention is not uniform; norms near 1, which Gemma's files hold less 1; rounded to the
    dtype that is saved."""
    middle = 0 if model.config.model_type == "gemma3_text" else 1
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            p.copy_(middle + 0.2 * noise if p.dim() == 1 and "bias" not in name else 0.25 * noise)


def logits_of(model, folder, ids):
    # Read anew: model.to(bfloat16) has rounded the rotary frequencies, which no file holds.
    model = type(model).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].double().numpy()


def permuted(weight, heads):
    """llama.cpp's order of query and key rows: pairs (i, i + d/2) become neighbours."""
    rows = weight.shape[0] // heads // 2
    return weight.reshape(heads, 2, rows, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def llama3_divisors(config):
    p = config.rope_parameters
    dim = config.head_dim
    out = []
    for i in range(dim // 2):
        frequency = p["rope_theta"] ** (-2 * i / dim)
        wave = 2 * numpy.pi / frequency
        low, high, length = p["low_freq_factor"], p["high_freq_factor"], p["original_max_position_embeddings"]
        if wave < length / high:
            out.append(1.0)
        elif wave > length / low:
            out.append(p["factor"])
        else:
            s = (length / wave - low) / (high - low)
            out.append(1 / ((1 - s) / p["factor"] + s))
    return numpy.array(out, numpy.float32)


LAYER = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "ln_1": "attn_norm", "ln_2": "ffn_norm",
    "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
}
OUTER = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "transformer.wte": "token_embd",
    "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm",
}


GEMMA_LAYER = {
    **LAYER, "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}


def gguf_name(name, family):
    path, leaf = name.rsplit(".", 1)
    layers = GEMMA_LAYER if family == "gemma3" else LAYER
    for prefix in ("model.layers.", "transformer.h."):
        if path.startswith(prefix):
            layer, part = path[len(prefix):].split(".", 1)
            return f"blk.{layer}.{layers[part]}.{leaf}"
    return f"{OUTER[path]}.{leaf}"


def write_gguf(path, family, model):
    c = model.config
    writer = gguf.GGUFWriter(str(path), family)
    is_gpt2 = family == "gpt2"
    writer.add_block_count(c.num_hidden_layers)
    writer.add_context_length(c.max_position_embeddings)
    writer.add_embedding_length(c.hidden_size)
    writer.add_feed_forward_length(4 * c.hidden_size if is_gpt2 else c.intermediate_size)
    writer.add_head_count(c.num_attention_heads)
    if is_gpt2:
        writer.add_layer_norm_eps(c.layer_norm_epsilon)
    else:
        writer.add_head_count_kv(c.num_key_value_heads)
        writer.add_layer_norm_rms_eps(c.rms_norm_eps)
        ropes = c.rope_parameters
        if family == "gemma3":
            writer.add_sliding_window(c.sliding_window)
            writer.add_uint32("gemma3.attention.sliding_window_pattern", c.layer_types.index("full_attention") + 1)
            writer.add_float32("gemma3.rope.freq_base_swa", ropes["sliding_attention"]["rope_theta"])
            ropes = ropes["full_attention"]
        writer.add_rope_freq_base(ropes["rope_theta"])
        head_dim = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
        writer.add_rope_dimension_count(head_dim)
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
        if ropes["rope_type"] == "llama3":
            writer.add_tensor("rope_freqs.weight", llama3_divisors(c))
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and c.tie_word_embeddings:
            continue
        values = tensor.float().numpy()
        if family == "gemma3" and name.endswith("norm.weight"):
            values = values + 1
        if is_gpt2 and ".c_" in name and name.endswith("weight"):
            values = values.T
        if family == "llama" and "q_proj" in name:
            values = permuted(values, c.num_attention_heads)
        if family == "llama" and "k_proj" in name:
            values = permuted(values, c.num_key_value_heads)
        writer.add_tensor(gguf_name(name, family), numpy.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_tokenizer(folder):
    """Byte-level BPE of 37 tokens: lower-case letters, space, line end, a little punctuation, six merges."""
    merges = ["t h", "th e", "Ġ the", "i n", "e r", "a n"]
    tokens = [*"abcdefghijklmnopqrstuvwxyz", "Ġ", "Ċ", ".", ",", "'"] + [m.replace(" ", "") for m in merges]
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0",
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
        "added_tokens": [],
        "model": {"type": "BPE", "vocab": {t: i for i, t in enumerate(tokens)}, "merges": merges},
    }, ensure_ascii=False, indent=1))


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    generator = torch.Generator().manual_seed(13)
    fixtures = {}
    for name, make in MODELS.items():
        model = make()
        randomize(model, generator)
        model = model.to(DTYPES.get(name, torch.bfloat16))
        model.save_pretrained(OUT / name, max_shard_size="6KB" if name in SHARDED else "1GB")
        if name == "smollm2":
            write_tokenizer(OUT / name)
        ids = torch.randint(0, 37, (28,), generator=generator).tolist()
        if name in AS_GGUF:
            write_gguf(OUT / f"{name}.gguf", name.split("-")[0].rstrip("0123456789.") if name.startswith("llama") else name, model)
        fixtures[name] = {"ids": ids, "logits": [[round(x, 6) for x in row] for row in logits_of(model, OUT / name, ids).tolist()]}
    (OUT / "logits.json").write_text(json.dumps(fixtures))


main()
