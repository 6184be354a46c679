#!/usr/bin/env python3
"""Times decoding of several models, or of one with several types of cache or several texts at once, behind prompts of several
lengths, in turn.

    python decode_contexts.py PROGRAM --text FILE [--contexts 512,8160] [--cache-dtypes f32,f16,q8_0] [--parallel 1,2,4,8]
                              [--rounds N] [--threads N] MODEL…

Each round decodes the same number of tokens with every model, so that what else the machine does falls on all of them;
printed are the medians of tokens per second, and the median and range of the rounds' ratios to the first one.
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
    a = parser.parse_args()
    cases = list(itertools.product(a.models, a.cache_dtypes.split(","), a.parallel.split(",")))
    text = open(a.text, encoding="utf-8", newline="").read(400_000)

    def tokens_of(part):
        out = subprocess.run([a.program, "tokenize", "--tokenizer", a.models[0]], input=part, check=True, capture_output=True,
                             text=True).stdout
        return len(out.split())

    for context in map(int, a.contexts.split(",")):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="", suffix=".txt") as file:
            file.write(cut(text, tokens_of, context))
            file.flush()
            speeds = {case: [] for case in cases}
            for _ in range(a.rounds):
                for case in cases:
                    prompt, speed = generated(a.program, *case, file.name, a.threads)
                    speeds[case].append(speed)
        for case in cases:
            ratios = sorted(own / first for own, first in zip(speeds[case], speeds[cases[0]]))
            print(f"{prompt:6} tokens  {statistics.median(speeds[case]):8.1f} tokens/s  x {statistics.median(ratios):.2f} "
                  f"({ratios[0]:.2f} to {ratios[-1]:.2f})  {' '.join(case[:2])}"
                  f"{'' if case[2] == '1' else f', {case[2]} texts'}", flush=True)


if __name__ == "__main__":
    main()
