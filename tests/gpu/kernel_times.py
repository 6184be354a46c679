"""What Nsight Compute times of one eager step: its command, and its table by kernel. Time alone: for a second counter it
runs each kernel again and puts the memory back before, which took GPT-2 more than 40 s."""
import csv
import io
import re

TIME = "gpu__time_duration.sum"


def command(tool, nodes):
    """Counts as many kernels as a step has, from somewhere in the fourth step on: any so long stretch has each of a
    step's kernels once. Clocks and caches stay as they are in the timings: by default the caches are emptied before each
    kernel."""
    return [tool, "--clock-control", "none", "--cache-control", "none", "--csv", "--page", "raw", "--print-units", "base",
            "--metrics", TIME, "--launch-skip", str(3 * nodes), "--launch-count", str(nodes), "--kill", "yes"]


def short(name):
    """A kernel's name without its namespaces, arguments and types."""
    name = re.sub(r"\(anonymous namespace\)::|<unnamed>::", "", name)
    name = re.sub(r"^(void|static) ", "", name).split("(")[0]
    head = name.split("<")[0]
    return head.split("::")[-1][:60]


def read(text):
    """[{kernel, calls, us}], the longest first. Empty where there is no table in `text`."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    sums = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        try:
            us = float((row.get(TIME) or "").replace(",", "")) * 1e-3
        except ValueError:
            continue  # the row of units
        of = sums.setdefault(short(row["Kernel Name"]), [0, 0.0])
        of[0] += 1
        of[1] += us
    rows = [{"kernel": name, "calls": calls, "us": round(us, 2)} for name, (calls, us) in sums.items()]
    return sorted(rows, key=lambda row: -row["us"])
