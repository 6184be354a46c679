#!/usr/bin/env python3
"""Holds headroom's fine-tuning against transformers': the losses of some steps of AdamW on the same batches, and tokens
per second in turn, on the same threads. By hand, for it needs torch and transformers; no test runs it.

    python finetune_peer.py PROGRAM MODEL --text FILE [--table FILE.tsv] [--steps 5] [--rounds 3] [--batch 4]
        [--context 256] [--threads 2] [--recompute]

MODEL is a folder as Hugging Face has them, in f32. The program says in its log which windows of the text (or sentences of
the table) each step saw, and its own tokenizer gives the ids, so that both train on the same numbers. Of a table,
transformers loads the classifier that the program wrote after one step with a learning rate of 1e-30, and both train it.
Exits 1 where a loss differs by more than 1e-4 of its size.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

LEARNING_RATE, DECAY, CLIP, TOLERANCE = 2e-5, 0.01, 1.0, 1e-4


def ours(a, folder, data, steps, out, rate=LEARNING_RATE):
    """Runs the program; its log, a list of one object a step."""
    log = os.path.join(folder, "log.jsonl")
    command = [a.program, "finetune", a.model, "-o", os.path.join(folder, out), "--force", *data, "--steps", str(steps),
               "--lr", str(rate), "--weight-decay", str(DECAY), "--clip", str(CLIP), "--schedule", "constant",
               "--batch", str(a.batch), "--threads", str(a.threads), "--log", log, "--json"]
    if a.recompute:
        command.append("--recompute")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return [json.loads(line) for line in open(log)]


def ids_of(a, text):
    with tempfile.NamedTemporaryFile("w", suffix=".txt", newline="", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        command = [a.program, "tokenize", a.model, "--text-file", file.name, "--plain", "--json"]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found["ids"] if isinstance(found, dict) else found


def optimizer_of(torch, model):
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}],
                             lr=LEARNING_RATE)


def step(torch, model, optimizer, loss_of):
    """One step of training; its loss."""
    loss = loss_of(model)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def window_loss(torch, ids, starts, context):
    x = torch.tensor([ids[s : s + context + 1] for s in starts])

    def loss(model):
        logits = model(input_ids=x[:, :-1]).logits
        return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), x[:, 1:].reshape(-1))

    return loss


def sentence_loss(torch, rows, examples):
    longest = max(len(rows[i][1]) for i in examples)
    x = torch.zeros(len(examples), longest, dtype=torch.long)
    mask = torch.zeros(len(examples), longest, dtype=torch.long)
    for b, i in enumerate(examples):
        x[b, : len(rows[i][1])] = torch.tensor(rows[i][1])
        mask[b, : len(rows[i][1])] = 1
    labels = torch.tensor([rows[i][0] for i in examples])

    def loss(model):
        x[mask == 0] = model.config.pad_token_id
        return torch.nn.functional.cross_entropy(model(input_ids=x, attention_mask=mask).logits, labels)

    return loss


def compare(name, log, theirs):
    worst = 0
    for line, loss in zip(log, theirs):
        difference = abs(line["loss"] - loss) / abs(loss)
        worst = max(worst, difference)
        print(f"{name} step {line['step']}: ours {line['loss']:.7f}  transformers {loss:.7f}  {difference:.1e}", flush=True)
    print(f"{name}: largest relative difference {worst:.1e}")
    return worst <= TOLERANCE


def check_text(a, torch, folder, ids):
    from transformers import AutoModelForCausalLM

    log = ours(a, folder, text_arguments(a), a.steps, "text")
    model = AutoModelForCausalLM.from_pretrained(a.model, dtype=torch.float32).train()
    optimizer = optimizer_of(torch, model)
    theirs = [step(torch, model, optimizer, window_loss(torch, ids, line["examples"], a.context)) for line in log]
    return compare("text", log, theirs)


def check_table(a, torch, folder):
    from transformers import AutoModelForSequenceClassification

    lines = open(a.table, encoding="utf-8").read().split("\n")[1 : 1 + 64]
    rows = [line.split("\t") for line in lines if line]
    rows = [(int(label), ids_of(a, text)) for label, text in rows]
    small = os.path.join(folder, "table.tsv")
    open(small, "w", encoding="utf-8").write("label\tsentence\n" + "\n".join(l for l in lines if l) + "\n")
    data = ["--table", small, "--validate", small]
    ours(a, folder, data, 1, "head", rate=1e-30)
    log = ours(a, folder, data, a.steps, "table")
    model = AutoModelForSequenceClassification.from_pretrained(os.path.join(folder, "head"), dtype=torch.float32).train()
    optimizer = optimizer_of(torch, model)
    theirs = [step(torch, model, optimizer, sentence_loss(torch, rows, line["examples"])) for line in log]
    return compare("table", log, theirs)


def text_arguments(a):
    return ["--text", a.text, "--context", str(a.context), "--validate-tokens", str(a.context)]


def time_both(a, torch, folder, ids):
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(a.model, dtype=torch.float32).train()
    if a.recompute:
        model.gradient_checkpointing_enable()
    optimizer = optimizer_of(torch, model)
    tokens, speeds = a.batch * a.context, {"ours": [], "torch": []}
    for number in range(a.rounds):
        log = ours(a, folder, text_arguments(a), 4, "time")
        speeds["ours"].append(tokens / statistics.median(line["seconds"] for line in log[1:]))
        seconds = []
        for line in log:
            start = time.perf_counter()
            step(torch, model, optimizer, window_loss(torch, ids, line["examples"], a.context))
            seconds.append(time.perf_counter() - start)
        speeds["torch"].append(tokens / statistics.median(seconds[1:]))
        print(f"round {number + 1}: ours {speeds['ours'][-1]:.0f}, torch {speeds['torch'][-1]:.0f} tokens/s", flush=True)
    ratios = [x / y for x, y in zip(speeds["ours"], speeds["torch"])]
    print(f"tokens/s, median: ours {statistics.median(speeds['ours']):.0f}, torch "
          f"{statistics.median(speeds['torch']):.0f}; ratio {statistics.median(ratios):.2f} "
          f"({min(ratios):.2f} to {max(ratios):.2f})")
    print(f"largest memory of our process: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20:.2f} GiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--text", required=True)
    parser.add_argument("--table")
    for name, value in [("steps", 5), ("rounds", 3), ("batch", 4), ("context", 256), ("threads", 2)]:
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--recompute", action="store_true")
    a = parser.parse_args()
    import torch

    torch.set_num_threads(a.threads)
    ids = ids_of(a, open(a.text, encoding="utf-8", newline="").read())
    with tempfile.TemporaryDirectory() as folder:
        passes = check_text(a, torch, folder, ids)
        if a.table:
            passes = check_table(a, torch, folder) and passes
        if a.rounds > 0:
            time_both(a, torch, folder, ids)
    sys.exit(0 if passes else 1)


if __name__ == "__main__":
    main()
