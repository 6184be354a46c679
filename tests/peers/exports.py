#!/usr/bin/env python3
"""Perplexity of a compat or plain export in headroom, transformers and llama.cpp, which must agree to 0.05 %.

    python exports.py PROGRAM MODEL --text FILE [--tokens 4096] [--window 512] [--cache-dtype f32] [--work FOLDER]
        [--torch-python PYTHON] [--llama-python PYTHON] [--peers llama.cpp]

MODEL is what `headroom compress -o` wrote at full shape, or any other: a Hugging Face folder or a GGUF file. `headroom
convert` makes what the peers load, a GGUF file in f32 and a folder. The text's first --tokens tokens are scored in
disjoint windows, every token of a window but its first, which is <bos> where the tokenizer puts it before a text, by
headroom (--exact), transformers and llama.cpp in f32. Token ids are those of transformers' tokenizer and of llama.cpp's,
which must be the same. With another --cache-dtype headroom and llama.cpp hold keys and values so, and nothing is
required. A GGUF file whose layers have unequal heads is llama.cpp's alone: --peers. The peers may be in environments of
their own. Comparison only: no test runs it.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile


PEERS = ("transformers", "llama.cpp")


def torch_worker(folder, text_file, tokens, window, _cache):
    import torch
    import torch.nn.functional as F
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    text = open(text_file, encoding="utf-8", newline="").read()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    begin = torch.tensor(tokenizer("").input_ids, dtype=torch.long)  # <bos>, or nothing
    ids = tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids[0, :tokens]
    step = window - len(begin)
    windows = [torch.cat([begin, chunk]) for chunk in ids[: len(ids) // step * step].view(-1, step)]
    with torch.no_grad():
        total = sum(F.cross_entropy(model(w[None]).logits[0, :-1].double(), w[1:], reduction="sum").item()
                    for w in windows)
    return {"nll": total, "scored": len(windows) * (window - 1), "ids": ids.tolist()}


def llama_worker(file, text_file, tokens, window, cache):
    import numpy
    import llama_cpp

    held = getattr(llama_cpp, "GGML_TYPE_" + cache.upper())
    llm = llama_cpp.Llama(file, n_ctx=window, n_batch=window, logits_all=True, type_k=held, type_v=held,
                          flash_attn=cache != "f32", verbose=False)
    text = open(text_file, "rb").read()
    begin = llm.tokenize(b"", add_bos=True, special=False)  # <bos>, or nothing
    ids = llm.tokenize(text, add_bos=False, special=False)[:tokens]
    total, step = 0.0, window - len(begin)
    for at in range(0, len(ids) // step * step, step):
        chunk = begin + ids[at : at + step]
        llm.reset()
        llm.eval(chunk)
        logits = numpy.asarray(llm.scores[: len(chunk) - 1], dtype=numpy.float64)
        top = logits.max(axis=1)
        log_sum = top + numpy.log(numpy.exp(logits - top[:, None]).sum(axis=1))
        total += float((log_sum - logits[numpy.arange(len(chunk) - 1), chunk[1:]]).sum())
    return {"nll": total, "scored": len(ids) // step * (window - 1), "ids": list(ids)}


def by_peer(python, worker, *arguments):
    command = [python, os.path.abspath(__file__), "--worker", worker, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def by_headroom(program, model, text, tokens, window, cache):
    command = [program, "eval", model, "--text", text, "--max-tokens", str(tokens), "--context", str(window), "--exact",
               "--cache-dtype", cache, "--json"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {"nll": answer["nll_sum"], "scored": answer["tokens_scored"]}


def main():
    if sys.argv[1:2] == ["--worker"]:
        worker, model, text, tokens, window, cache = sys.argv[2:]
        run = {"torch": torch_worker, "llama": llama_worker}[worker]
        print(json.dumps(run(model, text, int(tokens), int(window), cache)))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--text", required=True)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--window", type=int, default=512)
    parser.add_argument("--cache-dtype", choices=("f32", "f16", "q4_0", "q8_0"), default="f32")
    parser.add_argument("--work")
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--llama-python", default=sys.executable)
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = a.work or temporary
        os.makedirs(work, exist_ok=True)
        # llama.cpp rounds activations where matrices are in blocks: it gets the same numbers in f32.
        file, folder = os.path.join(work, "file.gguf"), a.model
        subprocess.run([a.program, "convert", a.model, "-o", file, "--dtype", "f32"], check=True, stdout=sys.stderr)
        if a.model.endswith(".gguf") and "transformers" in a.peers:
            folder = os.path.join(work, "folder")
            subprocess.run([a.program, "convert", a.model, "-o", folder, "--dtype", "f32"], check=True, stdout=sys.stderr)
        ours = by_headroom(a.program, a.model, a.text, a.tokens, a.window, a.cache_dtype)
        how = {"transformers": (a.torch_python, "torch", folder), "llama.cpp": (a.llama_python, "llama", file)}
        peers = {name: by_peer(*how[name], a.text, a.tokens, a.window, a.cache_dtype) for name in a.peers}
    ppl = math.exp(ours["nll"] / ours["scored"])
    print(f"headroom      {ppl:.6f}  ({ours['scored']} tokens)")
    same = all(peer["ids"] == peers[a.peers[0]]["ids"] for peer in peers.values())
    print(f"token ids     {'the same' if same else 'DIFFER'}")
    worst = 0.0
    for name, peer in peers.items():
        theirs = math.exp(peer["nll"] / peer["scored"])
        off = theirs / ppl - 1
        worst = max(worst, abs(off)) if peer["scored"] == ours["scored"] else math.inf
        print(f"{name:<13} {theirs:.6f}  ({peer['scored']} tokens)  {100 * off:+.4f} %")
    return 0 if same and (worst <= 5e-4 or a.cache_dtype != "f32") else 1


if __name__ == "__main__":
    sys.exit(main())
