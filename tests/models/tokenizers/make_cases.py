"""Writes cases.json: small tokenizer.json files of every kind that is read, random strings, and their ids by `tokenizers`.

    python3 -m venv env && env/bin/pip install tokenizers==0.23.3
    env/bin/python tests/models/tokenizers/make_cases.py

With more strings, and with the vocabulary of a large tokenizer.json beside the small ones:

    env/bin/python tests/models/tokenizers/make_cases.py --strings 5000 --out /tmp/cases.json --large DIR/tokenizer.json
    HEADROOM_TOKENIZER_CASES=/tmp/cases.json build/tests/tokenizer-test "*made by tokenizers*"
"""

import argparse
import json
import pathlib
import random

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
WORDS = (
    "the of and to in a is that for it as was with be by on not he this are or his from at which but have an had they "
    "you were their one all we can her has there been if more when will would who so no it's don't we're I'm you'll he'd "
    "I've THE Paris 2024 1234567 3.14 50% $99 caf\u00e9 na\u00efve stra\u00dfe \u4f60\u597d \u4e16\u754c \u041c\u0438\u0440 "
    "\u05e9\u05dc\u05d5\u05dd \u0e20\u0e32\u0e29\u0e32 \U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467"
).split()
SPACES = [" ", " ", " ", " ", " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", "\u00a0", "\u3000", "\u2003", "\u2028", ""]
# Combining marks, digits of other scripts, controls, the mark of a space itself, letters that NFC composes.
ODD = [chr(c) for c in (0x301, 0x308, 0x0660, 0x0966, 0xBD, 0x2160, 0x1, 0x7F, 0x85, 0x200B, 0xFEFF, 0xFFFD, 0x2581)] + [
    "e\u0301", "A\u030a", "\u1100\u1161\u11a8", "\u212b", "\ufb01", "<s>", "</s>", "<|im_start|>", "<tool>", "<s> x", "'S", "'Re",
]


def random_string(rng):
    parts = []
    for _ in range(rng.randint(0, 12)):
        kind = rng.random()
        if kind < 0.65:
            parts.append(rng.choice(WORDS))
        elif kind < 0.85:
            parts.append(rng.choice(ODD))
        elif kind < 0.95:
            parts.append("".join(rng.choice("abcXYZ019.,;:!?-_'\"()[]{}") for _ in range(rng.randint(1, 8))))
        else:
            code = rng.choice([rng.randint(0x20, 0x2FFF), rng.randint(0x1F000, 0x1FAFF), rng.randint(0xE000, 0xFFFD)])
            parts.append(chr(code))
        parts.append(rng.choice(SPACES))
    return "".join(parts)


def merges_and_words(text, alphabet, size):
    """BPE trained on the text: the merges, as pairs."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Split("\u0000", "isolated")
    tokenizer.train_from_iterator(text, trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, special_tokens=[]))
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [m if isinstance(m, list) else m.split(" ") for m in model["merges"]]


def character_base(rng):
    """A model as those that are made of SentencePiece's: unknown, two control tokens, the bytes, then pieces."""
    lines = ["\u2581" + "\u2581".join(rng.choice(WORDS[:70]) for _ in range(30)) for _ in range(200)]
    vocab, merges = merges_and_words(lines, [], 260)
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    tokens += [t for t, _ in sorted(vocab.items(), key=lambda item: item[1])]
    model = {
        "type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None,
        "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
        "vocab": {t: i for i, t in enumerate(tokens)}, "merges": merges,
    }
    return model, len(tokens)


def byte_base(rng):
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    lines = [" ".join(rng.choice(WORDS) for _ in range(30)) for _ in range(200)]
    lines = [byte_level.pre_tokenize_str(line)[0][0] for line in lines]
    vocab, merges = merges_and_words(lines, alphabet, 420)
    tokens = [t for t, _ in sorted(vocab.items(), key=lambda item: item[1])]
    model = {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "",
        "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
        "vocab": {t: i for i, t in enumerate(tokens)}, "merges": merges,
    }
    return model, len(tokens)


def added(id, content, special=True, normalized=False):
    return {
        "id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": normalized,
        "special": special,
    }


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def byte_level(use_regex):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def metaspace(scheme, cut):
    return {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": cut}


def variants(bytes_size, large):
    """Name: base, and what replaces its parts."""
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    prepend = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, replace]}
    decoder = {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ],
    }
    own = [added(0, "<unk>"), added(1, "<s>"), added(2, "</s>")]
    older = [added(0, "<unk>", normalized=True), added(1, "<s>", normalized=True), added(2, "</s>", normalized=True)]
    chat = [added(bytes_size, "<|im_start|>"), added(bytes_size + 1, "<tool>", special=False, normalized=True)]
    all_bytes = {"decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}}
    characters = {"decoder": decoder, "added_tokens": own}
    out = {
        "Llama 2": ("characters", {**characters, "pre_tokenizer": metaspace("first", False)}),
        "TinyLlama, Mistral": ("characters", {**characters, "normalizer": prepend}),
        "Llama 2, older": ("characters", {**characters, "normalizer": prepend, "added_tokens": older}),
        "Metaspace, words": ("characters", {**characters, "pre_tokenizer": metaspace("always", True)}),
        "Metaspace, never": ("characters", {**characters, "pre_tokenizer": metaspace("never", True)}),
        "GPT-2": ("bytes", {**all_bytes, "added_tokens": chat, "pre_tokenizer": byte_level(True)}),
        "SmolLM2": (
            "bytes",
            {
                **all_bytes, "added_tokens": chat,
                "pre_tokenizer": sequence({"type": "Digits", "individual_digits": True}, byte_level(True)),
            },
        ),
        "Llama 3": (
            "bytes",
            {
                **all_bytes, "added_tokens": chat, "model": {"ignore_merges": True},
                "pre_tokenizer": sequence(split(LLAMA3), byte_level(False)),
            },
        ),
        "Qwen 2": (
            "bytes",
            {
                **all_bytes, "added_tokens": chat, "normalizer": {"type": "NFC"},
                "pre_tokenizer": sequence(split(QWEN2), byte_level(False)),
            },
        ),
    }
    words = {**characters, "pre_tokenizer": metaspace("always", True), "model": {"ignore_merges": True}}
    out["Metaspace, whole words"] = ("characters", words)
    for name in ("Llama 2", "TinyLlama, Mistral", "Llama 2, older", "Metaspace, words") if large else ():
        out[name + ", large"] = ("large", out[name][1])
    return out


def patched(base, patch):
    whole = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
        "post_processor": None, "decoder": None, "model": base,
    }
    for key, value in patch.items():
        whole[key] = {**base, **value} if key == "model" else value
    return whole


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strings", type=int, default=40)
    parser.add_argument("--out", default=pathlib.Path(__file__).parent / "cases.json")
    parser.add_argument("--large")
    arguments = parser.parse_args()
    rng = random.Random(13)
    (characters, _), (bytes_model, size) = character_base(rng), byte_base(rng)
    bases = {"characters": characters, "bytes": bytes_model}
    if arguments.large:
        bases["large"] = json.load(open(arguments.large))["model"]
    strings = ["", " ", "  ", "\u2581", "<s>", "<s>a", " <s> a", "a<s>", "a</s> b<s>c"]
    strings += [random_string(rng) for _ in range(arguments.strings)]
    cases = []
    for name, (base, patch) in variants(size, arguments.large).items():
        tokenizer = Tokenizer.from_str(json.dumps(patched(bases[base], patch)))
        ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in strings]
        cases.append({"name": name, "base": base, "patch": patch, "ids": ids})
    out = {"bases": bases, "strings": strings, "cases": cases}
    pathlib.Path(arguments.out).write_text(json.dumps(out, separators=(",", ":")) + "\n")


main()
