#!/usr/bin/env python3
"""Holds headroom's fine-tuning against transformers': the losses of some steps of AdamW on the same batches, and tokens
per second in turn, on the same threads. By hand, for it needs torch and transformers; no test runs it.

    python finetune_peer.py PROGRAM MODEL --text FILE [--table FILE.tsv] [--lora R] [--steps 5] [--rounds 3] [--batch 4]
        [--context 256] [--threads 2] [--recompute]

MODEL is a folder as Hugging Face has them, in f32. The program says in its log which windows of the text (or sentences of
the table) each step saw, and its own tokenizer gives the ids, so that both train on the same numbers. Of a table,
transformers loads the classifier that the program wrote after one step with a learning rate of 1e-30, and both train it.
With --lora both train an adapter of that rank, beginning from the program's: PEFT's losses, gradient norms and logits after
each step are compared, and the program's GGUF adapter in llama.cpp if --llama-python names a Python that has it.
Exits 1 where a loss differs by more than 1e-4 of its size (with --lora: losses, norms and logits by 1e-5, llama.cpp's
logits by 1e-4 of the largest).
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

LEARNING_RATE, DECAY, CLIP, TOLERANCE, LORA_TOLERANCE = 2e-5, 0.01, 1.0, 1e-4, 1e-5
PROMPT = "The capital of France is Paris, and that of Italy is"


def ours(a, folder, data, steps, out, rate=LEARNING_RATE):
    """Runs the program; its log, a list of one object a step."""
    log = os.path.join(folder, "log.jsonl")
    command = [a.program, "finetune", a.model, "-o", os.path.join(folder, out), "--force", *data, "--steps", str(steps),
               "--lr", str(rate), "--weight-decay", str(DECAY), "--clip", str(CLIP), "--schedule", "constant",
               "--batch", str(a.batch), "--threads", str(a.threads), "--log", log, "--json"]
    if a.recompute:
        command.append("--recompute")
    if a.lora and "--text" in data:
        command += ["--lora-rank", str(a.lora)]
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
    trained = [p for p in model.parameters() if p.requires_grad]
    matrices = [p for p in trained if p.ndim >= 2]
    vectors = [p for p in trained if p.ndim < 2]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}],
                             lr=LEARNING_RATE)


def step(torch, model, optimizer, loss_of):
    """One step of training; its loss."""
    return loss_and_norm(torch, model, optimizer, loss_of)[0]


def loss_and_norm(torch, model, optimizer, loss_of):
    loss = loss_of(model)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], CLIP)
    optimizer.step()
    optimizer.zero_grad()
    return loss.item(), norm.item()


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


def with_adapter(a, torch, folder):
    """transformers' model with the adapter that the program drew: B is 0, but for a step of 1e-30."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    ours(a, folder, text_arguments(a), 1, "start", rate=1e-30)
    base = AutoModelForCausalLM.from_pretrained(a.model, dtype=torch.float32).train()
    model = PeftModel.from_pretrained(base, os.path.join(folder, "start"), is_trainable=True)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "lora_B" in name:
                p.zero_()
    return model


def known_logits(a, folder, adapter):
    """The program's ten largest logits after each token of the prompt: ids, places, values."""
    out = os.path.join(folder, "known.json")
    subprocess.run([a.program, "verify-model", a.model, "--adapter", os.path.join(folder, adapter), "--write", out,
                    "--force", "--prompt", PROMPT], check=True, stdout=subprocess.DEVNULL)
    text = json.load(open(out))["texts"][0]
    return text["ids"], [[i for i, _ in row] for row in text["top10"]], [[v for _, v in row] for row in text["top10"]]


def logit_difference(torch, logits, places, values):
    """Largest difference, over the largest logit."""
    there = torch.gather(logits, 1, torch.tensor(places))
    return ((there - torch.tensor(values)).abs().max() / torch.tensor(values).abs().max()).item()


LLAMA = """
import json, sys, llama_cpp
model, adapter, ids = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
llm = llama_cpp.Llama(model, lora_path=adapter, logits_all=True, verbose=False, n_ctx=64, flash_attn=False, type_k=0, type_v=0)
llm.eval(ids)
print(json.dumps([[float(x) for x in row] for row in llm.scores[:len(ids)]]))
"""


def check_llama(a, torch, folder, ids, places, values):
    """The GGUF adapter in llama.cpp, on the same weights and a cache in f32 (type 0)."""
    model, adapter = os.path.join(folder, "base.gguf"), os.path.join(folder, "adapter.gguf")
    subprocess.run([a.program, "convert", a.model, "-o", model], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([a.program, "convert", a.model, "--adapter", os.path.join(folder, "lora"), "-o", adapter, "--format",
                    "adapter"], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run([a.llama_python, "-c", LLAMA, model, adapter, json.dumps(ids)], check=True,
                          capture_output=True, text=True)
    difference = logit_difference(torch, torch.tensor(json.loads(done.stdout)), places, values)
    print(f"llama.cpp with the GGUF adapter: logits differ by {difference:.1e} of the largest")
    return difference <= TOLERANCE


def check_lora(a, torch, folder, ids):
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    model = with_adapter(a, torch, folder)
    optimizer = optimizer_of(torch, model)
    worst = [0.0, 0.0, 0.0]
    for number in range(1, a.steps + 1):
        line = ours(a, folder, text_arguments(a), number, "lora")[-1]
        loss, norm = loss_and_norm(torch, model, optimizer, window_loss(torch, ids, line["examples"], a.context))
        known = known_logits(a, folder, "lora")
        with torch.no_grad():
            logits = logit_difference(torch, model.eval()(torch.tensor([known[0]])).logits[0], *known[1:])
        model.train()
        found = [abs(line["loss"] - loss) / loss, abs(line["gradient_norm"] - norm) / norm, logits]
        worst = [max(pair) for pair in zip(worst, found)]
        print(f"lora step {number}: ours {line['loss']:.7f}, norm {line['gradient_norm']:.7f}; PEFT {loss:.7f}, {norm:.7f}; "
              + "differences of loss, norm, logits " + ", ".join(f"{x:.1e}" for x in found), flush=True)
    base = AutoModelForCausalLM.from_pretrained(a.model, dtype=torch.float32)
    loaded = PeftModel.from_pretrained(base, os.path.join(folder, "lora")).eval()
    with torch.no_grad():
        reads = logit_difference(torch, loaded(torch.tensor([known[0]])).logits[0], *known[1:])
    print(f"lora: largest {', '.join(f'{x:.1e}' for x in worst)}; our folder in PEFT: logits differ by {reads:.1e} of the largest")
    passes = max(worst) <= LORA_TOLERANCE and reads <= TOLERANCE
    return (not a.llama_python or check_llama(a, torch, folder, *known)) and passes


def text_arguments(a):
    return ["--text", a.text, "--context", str(a.context), "--validate-tokens", str(a.context)]


def time_both(a, torch, folder, ids):
    from transformers import AutoModelForCausalLM

    model = (with_adapter(a, torch, folder) if a.lora
             else AutoModelForCausalLM.from_pretrained(a.model, dtype=torch.float32).train())
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
    parser.add_argument("--lora", type=int, default=0)
    parser.add_argument("--llama-python")
    a = parser.parse_args()
    import torch

    torch.set_num_threads(a.threads)
    ids = ids_of(a, open(a.text, encoding="utf-8", newline="").read())
    with tempfile.TemporaryDirectory() as folder:
        passes = (check_lora if a.lora else check_text)(a, torch, folder, ids)
        if a.table:
            passes = check_table(a, torch, folder) and passes
        if a.rounds > 0:
            time_both(a, torch, folder, ids)
    sys.exit(0 if passes else 1)


if __name__ == "__main__":
    main()
