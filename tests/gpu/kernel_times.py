"""What Nsight Compute counts of one eager step: its command, and its table by kernel."""
import csv
import io
import re

TIME, MEMORY, MULTIPROCESSORS = ("gpu__time_duration.sum", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
                                 "sm__throughput.avg.pct_of_peak_sustained_elapsed")


def command(tool, nodes):
    """Counts as many kernels as a step has, from somewhere in the fourth step on: any so long stretch has each of a
    step's kernels once. Clocks stay as they are in the timings."""
    return [tool, "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--metrics",
            ",".join([TIME, MEMORY, MULTIPROCESSORS]), "--launch-skip", str(3 * nodes), "--launch-count", str(nodes),
            "--kill", "yes"]


def short(name):
    """A kernel's name without its namespaces, arguments and types."""
    name = re.sub(r"\(anonymous namespace\)::|<unnamed>::", "", name)
    name = re.sub(r"^(void|static) ", "", name).split("(")[0]
    head = name.split("<")[0]
    return head.split("::")[-1][:60]


def read(text):
    """[{kernel, calls, us, memory, multiprocessors}], the longest first; the last two in percent, weighted by time. Empty
    where there is no table in `text`."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    sums = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        try:
            ns, memory, multiprocessors = (float((row.get(key) or "").replace(",", "")) for key in (TIME, MEMORY, MULTIPROCESSORS))
        except ValueError:
            continue  # the row of units
        of = sums.setdefault(short(row["Kernel Name"]), [0, 0.0, 0.0, 0.0])
        for i, value in enumerate((1, ns, ns * memory, ns * multiprocessors)):
            of[i] += value
    rows = [{"kernel": name, "calls": calls, "us": round(ns * 1e-3, 2), "memory": round(memory / ns, 1) if ns else 0,
             "multiprocessors": round(sms / ns, 1) if ns else 0} for name, (calls, ns, memory, sms) in sums.items()]
    return sorted(rows, key=lambda row: -row["us"])
