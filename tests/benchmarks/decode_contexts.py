#!/usr/bin/env python3
"""Times decoding of several models, or of one with several types of cache or several texts at once, behind prompts of several
lengths, in turn.

    python decode_contexts.py PROGRAM --text FILE [--contexts 512,8160] [--cache-dtypes f32,f16,q8_0] [--parallel 1,2,4,8]
                              [--rounds N] [--threads N] [--llama-python PYTHON] MODEL…

Each round decodes the same number of tokens with every model, so that what else the machine does falls on all of them;
printed are the medians of tokens per second, and the median and range of the rounds' ratios to the first one. With
--llama-python llama.cpp takes its turn behind the same text with the same types of cache (llama-cpp-python, built for
this machine: pip install --no-binary llama-cpp-python llama-cpp-python), and ratios are to llama.cpp's with that type.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import tempfile

DECODE = 32


def generated(program, model, cache, texts, file, threads):
    out = subprocess.run([program, "generate", model, "--prompt-file", file, "--max-tokens", str(DECODE), "--ignore-eos",
                          "--threads", str(threads), "--cache-dtype", cache, "--parallel", str(texts), "--json"],
                         check=True, capture_output=True, text=True).stdout
    answer = json.loads(out.splitlines()[-1])
    decoded = sum(len(text["tokens"]) - 1 for text in answer.get("texts", [answer]))
    return answer["prompt_tokens"], decoded / answer["decode_seconds"]


# Reads the prompt once, which takes it minutes where it is long, and then times as many tokens behind it for each line that it is sent.
LLAMA_WORKER = """
import json, sys, time
import llama_cpp
model, file, threads, cache = sys.argv[1], sys.argv[2], int(sys.argv[3]), getattr(llama_cpp, "GGML_TYPE_" + sys.argv[4].upper())
llm = llama_cpp.Llama(model, n_threads=threads, n_threads_batch=threads, n_ctx=8192, n_batch=512, logits_all=False,
                      type_k=cache, type_v=cache, flash_attn=True, verbose=False)
tokens = llm.tokenize(open(file, "rb").read(), add_bos=False)
llm.eval(tokens)
print("ready", flush=True)
for _ in sys.stdin:
    llm.n_tokens = len(tokens)
    start = time.perf_counter()
    for token in tokens[:DECODE - 1]:  # any will do: choosing them in Python would cost llama.cpp time
        llm.eval([token])
    print((DECODE - 1) / (time.perf_counter() - start), flush=True)
""".replace("DECODE", str(DECODE))


class Llama:
    """llama.cpp with a prompt in its cache. It does nothing until it is asked."""

    def __init__(self, python, model, cache, file, threads):
        self.worker = subprocess.Popen([python, "-c", LLAMA_WORKER, model, file, str(threads), cache],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.worker.stdout.readline() != "ready\n":
            raise SystemExit(f"{python}: llama.cpp did not read {model} and the prompt")

    def decoded(self):
        """Tokens a second."""
        print(file=self.worker.stdin, flush=True)
        return float(self.worker.stdout.readline())

    def end(self):
        self.worker.stdin.close()
        self.worker.wait()


def cut(text, tokens_of, wanted):
    """The beginning of the text that has about so many tokens, and no more."""
    length = wanted * 4
    for _ in range(6):
        length = int(length * wanted / tokens_of(text[:length]))
    while tokens_of(text[:length]) > wanted:
        length -= 8
    return text[:length]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--text", required=True)
    parser.add_argument("--contexts", default="512,8160")
    parser.add_argument("--cache-dtypes", default="f16")
    parser.add_argument("--parallel", default="1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--llama-python")
    a = parser.parse_args()
    cases = list(itertools.product(a.models, a.cache_dtypes.split(","), a.parallel.split(",")))
    text = open(a.text, encoding="utf-8", newline="").read(400_000)

    def tokens_of(part):
        out = subprocess.run([a.program, "tokenize", a.models[0]], input=part, check=True, capture_output=True,
                             text=True).stdout
        return len(out.split())

    for context in map(int, a.contexts.split(",")):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="", suffix=".txt") as file:
            file.write(cut(text, tokens_of, context))
            file.flush()
            speeds = {case: [] for case in cases}
            llamas = {case: Llama(a.llama_python, *case[:2], file.name, a.threads) for case in cases if a.llama_python}
            peers = {case: [] for case in llamas}
            for _ in range(a.rounds):
                for case in cases:
                    prompt, speed = generated(a.program, *case, file.name, a.threads)
                    speeds[case].append(speed)
                    if llamas:
                        peers[case].append(llamas[case].decoded())
            for llama in llamas.values():
                llama.end()
        for case in cases:
            ratios = sorted(own / other for own, other in zip(speeds[case], peers.get(case, speeds[cases[0]])))
            print(f"{prompt:6} tokens  {statistics.median(speeds[case]):8.1f} tokens/s  x {statistics.median(ratios):.2f} "
                  f"({ratios[0]:.2f} to {ratios[-1]:.2f})  {' '.join(case[:2])}"
                  f"{'' if case[2] == '1' else f', {case[2]} texts'}", flush=True)
            if peers:
                print(f"{'':14}  {statistics.median(peers[case]):8.1f} tokens/s  llama.cpp", flush=True)


if __name__ == "__main__":
    main()
