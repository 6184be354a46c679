"""Writes what transformers computes with a GGUF file, dequantised to f32, as tests/models/trained_models_test.cpp reads it:

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install torch transformers gguf
    /tmp/peers/bin/python tests/golden/make_trained.py MODEL.gguf WIKITEXT_2_TEST_RAW >tests/golden/NAME.json
"""

import hashlib
import json
import pathlib
import sys

import torch
import transformers as tf

PROMPTS = ["The capital of France is", "def fibonacci(n):\n    ", "SELECT name FROM heads WHERE width <"]
# None that Qwen composes first (NFC): a GGUF file cannot say so, and transformers does not know it from there.
STRINGS = ["Hello world", "  leading spaces", "naïve café — “quotes”", "日本語テキスト", "a\tb\nc\r\n", "3.14159 + 2 = 5.14159",
           "\u200bzero", "🙂🙃", "<|im_start|>user\nhi<|im_end|>", "x = [[1, 2], [3, 4]]\n\n\n    return x", ""]
KEPT, LONG, NEW = 10, 300, 20


def greedy(model, ids):
    """NEW tokens, each the likeliest, and by how much it is ahead of the second."""
    ids, margins = list(ids), []
    for _ in range(NEW):
        best = model(torch.tensor([ids])).logits[0, -1].topk(2)
        margins.append((best.values[0] - best.values[1]).item())
        ids.append(best.indices[0].item())
    return ids[-NEW:], margins


def main():
    path = pathlib.Path(sys.argv[1])
    tokenizer = tf.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    model = tf.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32,
                                                    attn_implementation="eager").eval()
    raw = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")
    of_raw = tokenizer(raw[:200_000], add_special_tokens=False).input_ids
    texts = []
    with torch.no_grad():
        for ids, text in [(tokenizer(text, add_special_tokens=False).input_ids, text) for text in PROMPTS] + \
                         [(of_raw[:LONG], raw[:3000])]:
            positions = list(range(0, len(ids), max(1, len(ids) // 40)))
            logits = model(torch.tensor([ids])).logits[0]
            top = logits.topk(KEPT)
            after, margins = greedy(model, ids)
            texts.append({"text": text, "ids": ids, "positions": positions,
                          "logsumexp": [logits[i].double().logsumexp(0).item() for i in positions],
                          "top10": [[[int(t), float(z)] for t, z in zip(top.indices[i], top.values[i])] for i in positions],
                          "greedy20_after_first": len(ids), "greedy20": after, "greedy_margin": margins})
        nll, count = 0.0, 0
        for begin in range(0, 4096, 512):
            window = torch.tensor([of_raw[begin:begin + 512]])
            logits = model(window).logits[0, :-1].double()
            nll += torch.nn.functional.cross_entropy(logits, window[0, 1:], reduction="sum").item()
            count += logits.shape[0]
    print(json.dumps({
        "model": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "made_with": f"transformers {tf.__version__} {type(model).__name__}, eager attention, f32, torch {torch.__version__}",
        "config": {"layers": model.config.num_hidden_layers, "width": model.config.hidden_size,
                   "heads": model.config.num_attention_heads, "kv_heads": model.config.num_key_value_heads},
        "texts": texts,
        "strings": [{"text": s, "ids": tokenizer(s, add_special_tokens=False).input_ids} for s in STRINGS],
        "perplexity_wikitext2_test": [{"context": 512, "tokens": 4096, "scored": count, "nll": nll / count,
                                       "ppl": float(torch.tensor(nll / count).exp())}]}, ensure_ascii=False))


main()
