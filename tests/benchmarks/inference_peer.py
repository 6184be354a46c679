#!/usr/bin/env python3
"""Times headroom against llama.cpp and transformers on trained models, in turn, on the same threads.

    python inference_peer.py PROGRAM --text FILE --gguf FILE [--gguf FILE …] [--eval FILE] [--rounds N] [--threads N]
        [--llama-python PYTHON] [--torch-python PYTHON]

For each --gguf: tokens per second of a prompt of 512 tokens and of 128 decoded ones, ours and llama.cpp's
(llama-cpp-python, built for this machine: pip install --no-binary :all: llama-cpp-python). For --eval: tokens per
second of scoring the text's first 32768 tokens in windows of 512 in f32, ours (--exact) and transformers' (torch,
transformers, accelerate). The peers may be in environments of their own. Both sides run each task once before it is
timed, and take turns, round by round, so that what else the machine does falls on both; printed are the medians, and
the median and range of the rounds' ratios. Comparison only: no test runs it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

PROMPT, DECODE, WINDOW, SCORED = 512, 128, 512, 32768


def llama_worker(path, text_file, threads):
    import llama_cpp

    llm = llama_cpp.Llama(path, n_threads=threads, n_threads_batch=threads, n_ctx=1024, n_batch=PROMPT,
                          logits_all=False, verbose=False)
    text = open(text_file, "rb").read(20000)
    # The longest beginning of the text that is a prompt of that length.
    end = len(text)
    while len(llm.tokenize(text[:end], add_bos=False)) > PROMPT or not is_text(text[:end]):
        end -= 1 if len(llm.tokenize(text[:end], add_bos=False)) < PROMPT + 40 else 100
    tokens = llm.tokenize(text[:end], add_bos=False)

    def run():
        llm.reset()
        start = time.perf_counter()
        llm.eval(tokens)
        prompt = time.perf_counter() - start
        start = time.perf_counter()
        for token in tokens[: DECODE - 1]:  # any will do: choosing them in Python would cost llama.cpp time
            llm.eval([token])
        return {"prompt": len(tokens) / prompt, "decode": (DECODE - 1) / (time.perf_counter() - start)}

    serve({"prompt_text": text[:end].decode(), "tokens": len(tokens)}, run)


def is_text(bytes_):
    try:
        return bool(bytes_.decode())
    except UnicodeDecodeError:
        return False


def torch_worker(path, text_file, threads):
    import torch
    import torch.nn.functional as F
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(threads)
    where = {"pretrained_model_name_or_path": os.path.dirname(path), "gguf_file": os.path.basename(path)}
    model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(**where)
    ids = tokenizer(open(text_file, encoding="utf-8", newline="").read(), return_tensors="pt",
                    add_special_tokens=False).input_ids[0, :SCORED]
    windows = ids[: len(ids) // WINDOW * WINDOW].view(-1, WINDOW)

    def nll(batch_size, count):
        total = 0.0
        with torch.no_grad():
            for i in range(0, count, batch_size):
                batch = windows[i : i + batch_size]
                logits = model(batch).logits[:, :-1]
                total += F.cross_entropy(logits.reshape(-1, logits.shape[-1]), batch[:, 1:].reshape(-1),
                                         reduction="sum").item()
        return total / (count * (WINDOW - 1))

    def seconds(batch_size, count):
        start = time.perf_counter()
        value = nll(batch_size, count)
        return time.perf_counter() - start, value

    nll(1, 2)
    best = min((1, 2, 4), key=lambda size: seconds(size, 4)[0])  # whichever suits it

    def run():
        spent, value = seconds(best, len(windows))
        return {"eval": len(windows) * WINDOW / spent, "nll": value}

    serve({"batch": best}, run)


def serve(hello, run):
    """A line of JSON for each line of input: what run() gives."""
    print(json.dumps(hello), flush=True)
    for line in sys.stdin:
        print(json.dumps(run()), flush=True)


class Peer:
    def __init__(self, python, kind, path, text, threads):
        env = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        self.process = subprocess.Popen([python, __file__, "--worker", kind, path, text, str(threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.hello = json.loads(self.process.stdout.readline())

    def run(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def ours_generating(program, path, prompt, threads):
    out = subprocess.run([program, "generate", path, "--prompt", prompt, "--max-tokens", str(DECODE), "--ignore-eos",
                          "--threads", str(threads), "--rounds", "2", "--json"], check=True, capture_output=True,
                         text=True).stdout
    last = json.loads(out.splitlines()[-1])
    return {"prompt": last["prompt_tokens"] / last["prompt_seconds"],
            "decode": (len(last["tokens"]) - 1) / last["decode_seconds"]}


def ours_scoring(program, path, text, threads):
    out = subprocess.run([program, "eval", path, "--text", text, "--context", str(WINDOW), "--max-tokens", str(SCORED),
                          "--exact", "--threads", str(threads), "--json"], check=True, capture_output=True,
                         text=True).stdout
    result = json.loads(out)
    return {"eval": result["windows"] * WINDOW / result["seconds"], "nll": result["nll"]}


def compare(name, ours, peer, peer_name, measures, rounds):
    ours(), peer()  # warm
    pairs = [(ours(), peer()) for _ in range(rounds)]
    for measure in measures:
        ratios = sorted(own[measure] / other[measure] for own, other in pairs)
        medians = [statistics.median(side[measure] for side in sides) for sides in zip(*pairs)]
        print(f"{name:34} {measure:7} ours {medians[0]:8.1f}  {peer_name} {medians[1]:8.1f} tokens/s   "
              f"ratio {statistics.median(ratios):5.2f}  ({ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)
    return pairs[-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--text", required=True)
    parser.add_argument("--gguf", action="append", default=[])
    parser.add_argument("--eval")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--llama-python", default=sys.executable)
    parser.add_argument("--torch-python", default=sys.executable)
    a = parser.parse_args()
    for path in a.gguf:
        peer = Peer(a.llama_python, "llama", path, a.text, a.threads)
        prompt = peer.hello["prompt_text"]
        compare(os.path.basename(path), lambda: ours_generating(a.program, path, prompt, a.threads), peer.run,
                "llama.cpp", ["prompt", "decode"], a.rounds)
        peer.close()
    if a.eval:
        peer = Peer(a.torch_python, "torch", a.eval, a.text, a.threads)
        own, other = compare(os.path.basename(a.eval), lambda: ours_scoring(a.program, a.eval, a.text, a.threads),
                             peer.run, "transformers", ["eval"], max(1, a.rounds // 2))
        print(f"{'':34} NLL     ours {own['nll']:.7f}  transformers {other['nll']:.7f}")
        peer.close()


if len(sys.argv) > 1 and sys.argv[1] == "--worker":
    {"llama": llama_worker, "torch": torch_worker}[sys.argv[2]](sys.argv[3], sys.argv[4], int(sys.argv[5]))
else:
    main()
