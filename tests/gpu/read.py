#!/usr/bin/env python3
"""read.py RESULT.json [--lines N]: what run_all.py found, for people, in Markdown: what failed, with the first lines of its
log; the tables of docs/performance.md; what was predicted against what was measured; whether the goals are met. Steps
that the file lacks are listed, too: a run that was cut off leaves those before."""
import argparse
import json
import math
import pathlib
import re

import predict
import workloads
from steps import LIMITS

TWELVE = list(workloads.read(workloads.FILES[0]))
# What tells nothing at the head of a test program's log.
BANNER = re.compile(r"^(~+|-+|\.+|=+|\s*|gpu-test is a Catch.*|Run with -\? for options.*)$")


def failures(result, lines=6):
    """[(name, why, [first lines of its log])] of steps, of their parts, and of timings."""
    out = []
    for step in result["steps"]:
        parts = [part for part in step.get("parts", []) if part["status"] == "failed"]
        if step["status"] == "failed" and not parts:
            parts = [step]
        for part in parts:
            said = [line for line in part.get("output", "").splitlines() if not BANNER.match(line)]
            name = step["name"] if part is step else f"{step['name']}: {part['name']}"
            out.append((name, part.get("why", ""), said[:lines]))
    for row in [*result["workloads"], *result.get("copies", [])]:
        if "error" in row:
            out.append((f"{row['who']} {row['workload']} {row['dtype']} {row.get('switch') or row.get('mode', '')}".strip(),
                        row["error"], []))
    found = {step["name"] for step in result["steps"]}
    return out + [(name, "it is not in the file: the run ended before", []) for name in LIMITS if name not in found]


def skipped(result):
    """[(name, why)] of steps and of parts that did not run."""
    return [(row["name"], row.get("why", "")) for step in result["steps"] for row in [step, *step.get("parts", [])]
            if row["status"] == "skipped"]


def times(result):
    """{(workload, dtype): {"headroom", "eager", "graphs", "pure": milliseconds}}"""
    out = {}
    for row in result["workloads"]:
        if "ms_median" in row and "switch" not in row:
            column = "headroom" if row["who"] == "headroom" else row["mode"]
            out.setdefault((row["workload"], row["dtype"]), {})[column] = row["ms_median"]
    return out


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
                      *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


def card_of(result):
    gpu = result["machine"].get("gpu", "")
    return next((card for card in predict.CARDS if card.split()[0] in gpu), None)


def measured(result):
    """The table of docs/performance.md, a row for each workload: our times, the better of the peer's over them, and ours
    over what is predicted, unless the result is of a program before the side stream, with other kernels."""
    card, by, predicted = card_of(result), times(result), predict.predict()
    guesses = bool(card and result.get("side_stream"))
    names = [*predicted, *dict.fromkeys(name for name, _ in by if name not in predicted)]
    rows = []
    for name in names:
        row = [name]
        for dtype in predict.WAYS:
            found = by.get((name, dtype), {})
            ours, peers = found.get("headroom"), [found[mode] for mode in ("eager", "graphs") if mode in found]
            row += [f"{ours:.3f}" if ours else "", f"{min(peers) / ours:.2f}" if peers and ours else ""]
            if guesses:
                known = ours and name in predicted
                row.append(f"{ours / predicted[name]['milliseconds'][card][dtype]:.2f}" if known else "")
        if any(row[1:]):
            rows.append(row)
    columns = ["{}, ms", "PyTorch / ours"] + (["ours / predicted"] if guesses else [])
    head = ["workload", *(column.format(dtype) for dtype in predict.WAYS for column in columns)]
    return f"On {result['machine'].get('gpu', 'no GPU')}, milliseconds per step (median):\n\n" + table(head, rows)


def switches(result):
    """Each step with a switch turned, and without, just before."""
    rows = [[row["workload"], row["dtype"], row["switch"], f"{row['ms_unswitched']:.3f}", f"{row['ms_median']:.3f}",
             f"{row['ms_median'] / row['ms_unswitched']:.2f}"]
            for row in result["workloads"] if "ms_unswitched" in row and "error" not in row]
    return table(["workload", "dtype", "switch", "headroom", "switched", "switched / headroom"], rows) if rows else ""


def copies(result):
    """Equal trials at once: steps per second of all, beside those of one."""
    by = {(row["workload"], row["copies"]): row["steps_per_s"] for row in result.get("copies", []) if "error" not in row}
    rows = [[name, count, f"{all_of_them:.0f}", f"{all_of_them / count:.0f}",
             f"{all_of_them / by[name, 1]:.2f}" if (name, 1) in by else ""] for (name, count), all_of_them in by.items()]
    return table(["workload, bf16", "copies", "steps/s", "of each", "all / one alone"], rows) if rows else ""


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def goals(result):
    """[(goal, what was found)], of docs/performance.md."""
    by = times(result)

    def ratio(names, dtype, mode="graphs"):
        pairs = [by.get((name, dtype), {}) for name in names]
        return [row[mode] / row["headroom"] for row in pairs if mode in row and "headroom" in row]

    out = []
    for dtype, mode, goal in (("f32", "graphs", "at least 1.3 times PyTorch"), ("bf16", "graphs", "at least 1.3 times PyTorch"),
                              ("bf16", "pure", "beside PyTorch in pure bf16")):
        found = ratio(TWELVE, dtype, mode)
        mean = geometric_mean(found)
        out.append((f"the twelve, {dtype}: {goal} with one CUDA graph, geometric mean",
                    f"{mean:.2f} of {len(found)}" if mean else "not measured"))
    for name in ("narrow-d4", "narrow-d8"):
        found = ratio([name], "bf16")
        out.append((f"{name}, bf16: at least 3 times PyTorch with one CUDA graph", f"{found[0]:.2f}" if found else "not measured"))
    ours = by.get(("gpt2-124m", "bf16"), {}).get("headroom")
    out.append(("gpt2-124m, bf16: at least llm.c's speed on the same card",
                f"{8 * 1024 / ours * 1e3:.0f} tokens/s, to be set against llm.c's own" if ours else "not measured"))
    return out


def kernels(result, most=12):
    """Nsight Compute's counts of a step: its longest kernels."""
    out = []
    for name, rows in result.get("kernels", {}).items():
        total = sum(row["us"] for row in rows)
        out.append(f"{name}: {sum(row['calls'] for row in rows)} kernels, {total * 1e-3:.2f} ms\n\n" + table(
            ["kernel", "calls", "us", "share"],
            [[row["kernel"], row["calls"], row["us"], f"{100 * row['us'] / total:.0f} %"] for row in rows[:most]]))
    return "\n\n".join(out)


def ceilings(result):
    """What the card reaches at best, and what the predictions took for it."""
    assumed = {"small kernel in a graph": predict.LAUNCH * 1e6}
    if card := predict.CARDS.get(card_of(result)):
        assumed.update({"copy": card["memory"] * predict.OF_MEMORY * 1e-9, "a + b": card["memory"] * predict.OF_MEMORY * 1e-9,
                        **{f"product {way}": card[way] * predict.OF_PEAK[way] * 1e-12 for way in predict.WAYS}})
        assumed.update({c["ceiling"]: 1e6 * max(predict.LAUNCH, c["bytes"] / (card["memory"] * predict.OF_MEMORY))
                        for c in result["ceilings"] if "bytes" in c})
    rows = [[c["ceiling"], c["value"], f"{assumed[c['ceiling']]:.4g}" if c["ceiling"] in assumed else "", c["unit"]]
            for c in result["ceilings"]]
    return table(["what", "measured", "assumed", ""], rows)


def report(result, lines=6):
    """All of it."""
    where = result["machine"].get("gpu") or "no GPU"
    out = [f"# {where}, {result.get('seconds', 0)} s"]
    if result.get("emulated"):
        out.append("On the emulator: times mean nothing.")
    failed = failures(result, lines)
    out.append("## Failed" if failed else "Nothing failed.")
    for name, why, said in failed:
        out.append(f"- **{name}**: {why}" + "".join(f"\n      {line}" for line in said))
    if skipped(result):
        out.append("## Not run\n\n" + "\n".join(f"- {name}: {why}" for name, why in skipped(result)))
    out.append("## Times\n\n" + measured(result))
    if result.get("ceilings"):
        out.append("## Ceilings\n\n" + ceilings(result))
    for title, text in (("Switches", switches(result)), ("Equal trials at once", copies(result)),
                        ("Kernels of a step", kernels(result))):
        if text:
            out.append(f"## {title}\n\n{text}")
    out.append("## Goals\n\n" + "\n".join(f"- {goal}: {found}" for goal, found in goals(result)))
    return "\n\n".join(out) + "\n"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("result")
    arguments.add_argument("--lines", type=int, default=6, help="of a failure's log")
    given = arguments.parse_args()
    print(report(json.loads(pathlib.Path(given.result).read_text()), given.lines), end="")


if __name__ == "__main__":
    main()
