#!/usr/bin/env python3
"""results_pages.py ROOT PROGRAM: the pages of results in docs/ are those that the published trials of docs/results/trials
give: imported into a fresh folder, without data sets and weights, and reported. Exit 77 where a study with results has no
published trials. Left out of the comparison: the line with the machine that wrote the index, what a figure is drawn like
(its title and description are compared), and the last digits of head_choices.json."""
import glob
import json
import math
import os
import re
import subprocess
import sys
import tempfile

root, program = (os.path.abspath(path) for path in sys.argv[1:3])
docs = os.path.join(root, "docs")
trials = os.path.join(docs, "results", "trials")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def call(folder, *arguments):
    """The program, where no data set and no weights can be found."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HEADROOM_")}
    done = subprocess.run([program, *arguments], cwd=folder, env={**environment, "HOME": folder}, text=True,
                          capture_output=True, check=False)
    if done.returncode != 0:
        print(f"FAILED: {' '.join(arguments[:2])} …: {done.stderr}")
        sys.exit(1)
    return done.stdout


def comparable(name, text):
    """What of a file must be the same wherever it is written."""
    if name.endswith(".svg"):
        return re.findall(r"<(title|desc)[^>]*>(.*?)</\1>", text, re.S)
    return [line for line in text.splitlines() if not line.startswith("Machine: ")]


def is_near(a, b):
    """Equal JSON, but for the last digits of numbers."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_near, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(is_near(a[key], b[key]) for key in a)
    return a == b


if not os.path.isdir(trials):
    skip("docs/results/trials does not exist")
for page in sorted(glob.glob(os.path.join(docs, "results", "*.md"))):
    text = read(page)
    head = re.search(r"^`([^`]+)` · profile `([^`]+)`", text, re.M)
    if head and "No trial has run." not in text:
        published = os.path.join(trials, head[1], head[2] + ".jsonl.gz")
        if not os.path.exists(published):
            skip(f"{os.path.relpath(published, root)} does not exist")

passed, failures = 0, []
with tempfile.TemporaryDirectory() as folder:
    call(folder, "import", trials)
    studies = sorted(glob.glob(os.path.join(root, "experiments", "*.toml")))
    call(folder, "report", *studies, "--profile", "quick", "--also", "medium", "--results", "results.md", "--guide",
         "how-many-heads.md", "--choices", "head_choices.json")
    pages = ("results.md", "how-many-heads*", "results/*.*")
    made, kept = ({os.path.relpath(path, place): path for pattern in pages
                   for path in glob.glob(os.path.join(place, pattern))} for place in (folder, docs))
    for name in sorted(made.keys() | kept.keys()):
        if name not in made or name not in kept:
            failures.append(f"docs/{name}: only {'the published trials give it' if name in made else 'docs/ has it'}")
            continue
        ours, theirs = comparable(name, read(made[name])), comparable(name, read(kept[name]))
        passed += ours == theirs
        if ours != theirs:
            at = next((i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
            failures.append(f"docs/{name}: differs\n    published trials: {ours[at:at + 1]}\n    docs/: {theirs[at:at + 1]}")
    choices = os.path.join("experiments", "data", "head_choices.json")
    if is_near(json.loads(read(os.path.join(folder, "head_choices.json"))), json.loads(read(os.path.join(root, choices)))):
        passed += 1
    else:
        failures.append(f"{choices}: differs")

print("\n".join(f"FAILED: {line}" for line in failures))
tally = f"{passed} passed, {len(failures)} failed, 0 skipped"
if "HEADROOM_TALLY" in os.environ:
    with open(os.environ["HEADROOM_TALLY"], "a", encoding="utf-8") as file:
        file.write(f"results-pages: {tally}\n")
print(tally)
sys.exit(bool(failures))
