"""The branches of readers of users' files, store, shards and `serve` that tests take, counted by gcov:
coverage.py BUILD

Makes the build folder BUILD, where those files are compiled with counters, runs the tests that concern them, all
hostile cases and each third failing call, prints a table, and writes each line with a branch that was not taken to
BUILD/not-taken.txt. A `require` counts as two branches; what the compiler adds for exceptions does not count, nor do
branches that only a lack of memory takes, uncounted.txt. About an hour on two cores."""

import collections
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = """gguf-test safetensors-test tokenizer-test models-test pretrained-test convert-test model-export-test
  config-test language-test data-test perplexity-test export-test finetune-test run-test shared-run-test serve-test
  program-test run-commands-test data-commands-test resume-test field-test fuzz-safetensors fuzz-shard-index fuzz-gguf
  fuzz-config-json fuzz-compact-config fuzz-tokenizer-json fuzz-sentencepiece-model serve-floods race race-shared"""
GROUPS = {  # in this order; writers and what else is in these folders does not count
    "no": r".*(writer|config_json|model_edit|reference_logits|atomic_file|output|staging_folder|rename_new|"
          r"temporary_name)\.",
    "serve": r"experiments/program/serve/",
    "shards": r"experiments/studies/run/store/(shard_|shards|fold|lease|open_file|trial_line|reading_line)",
    "store": r"experiments/studies/run/store",
    "readers": r"models/(files|safetensors|gguf|hugging_face|tokenizers|checkpoints|families)/|tasks/data/(table|"
               r"manifest|zip_member|locate)|tasks/language/(text_files|instruction_data|token_cache|utf8)|"
               r"tasks/finetune/sentences|tasks/measure/choice_items|experiments/studies/toml/|"
               r"experiments/studies/export/(published|gzip_lines)"}
COMPILER = r"""#!/bin/sh
for source; do :; done
case $source in
  tests/serve-test.p/* | tests/run-test.p/*) exec c++ "$@" -O0 --coverage -fprofile-update=atomic ;;  # with inline code
  tests/* | ../tests/*) ;;
  *.cpp) ! { echo "$source"; cat "$source"; } | grep -Eq '%s' ||
    exec c++ "$@" -O0 --coverage -fprofile-update=atomic ;;
esac
exec c++ "$@"
""" % "|".join(list(GROUPS.values())[1:])


def run(build):
    if not build.exists():
        build.mkdir()
        (build / "c++").write_text(COMPILER)
        (build / "c++").chmod(0o755)
        subprocess.run(["meson", "setup", build, "--buildtype=release", "-Dcuda=disabled", "-Db_pch=false",
                        "-Dcpp_link_args=--coverage"],
                       check=True, cwd=ROOT, env={**os.environ, "CXX": str(build / "c++")})
    os.umask(0)  # some cases run as another user, who counts, too
    subprocess.run(["meson", "test", "-C", build, "-t", "10", *TESTS.split()])
    program = str(build / "experiments/headroom")
    subprocess.run([build / "tests/hostile-test"], env={**os.environ, "HEADROOM_PROGRAM": program})
    for more in ([], ["--shared"]):
        subprocess.run([sys.executable, ROOT / "tests/reliability/faults.py", program, build / "tests/libfaults.so",
                        "--every", "3", "--mallocs", "6", "--flips", "2", *more])


def counted(build):
    """{(file, line): [(times run, [(how often a branch was taken, "" or "throw"), …], how often the last call
    returned), …]}, one for each function that the line is in."""
    lines = collections.defaultdict(list)
    for unit in build.glob("**/*.gcda"):
        out = subprocess.run(["gcov", "-b", "-c", "-t", unit], capture_output=True, text=True, cwd=build).stdout
        name = None
        for row in out.splitlines():
            if source := re.match(r" +-: +0:Source:(.*)", row):
                name = os.path.relpath(build / source[1], ROOT)
                if next((g for g, names in GROUPS.items() if re.match(names, name)), "no") == "no":
                    name = None
            elif name and (line := re.match(r" *([\d#=]+)\*?: *(\d+):", row)):
                lines[name, int(line[2])].append([int(line[1]) if line[1].isdigit() else 0, [], None])
                last = lines[name, int(line[2])][-1]
            elif name and (branch := re.match(r"branch +\d+ (?:taken (\d+)|never executed)(?: \((\w+)\))?", row)):
                last[1].append((int(branch[1] or 0), "throw" if branch[2] == "throw" else ""))
            elif name and (call := re.match(r"call +\d+ (?:returned (\d+)|never executed)", row)):
                last[2] = int(call[1] or 0)
    return lines


def branches(code, functions):
    """How often each branch of a line was taken: the pairs that operators of the line make, without those of calls that
    may throw, and of clean-up, which follow them."""
    operators, questions = len(re.findall(r"&&|\|\|", code)), code.count("?")
    pairs = operators + questions + max(len(re.findall(r"\b(?:if|for|while)\b", code)), operators > 0)
    taken, fails = {0: []}, 0
    for count, all_of, returned in [of for of in functions if of[0]] or functions:  # some programs never run their copy
        if len(all_of) % 2 or "switch" in code:
            own = [taken_by for taken_by, throws in all_of if not throws]
        else:
            both = [all_of[i:i + 2] for i in range(0, len(all_of), 2)]
            own = [taken_by for two in both if not any(throws for _, throws in two) for taken_by, _ in two][:2 * pairs]
        taken[len(own)] = [max(two) for two in zip(taken.get(len(own), own), own)]
        thrown = [taken_by for taken_by, throws in all_of if throws]
        fails += sum(thrown) if thrown else max(0, count - (count if returned is None else returned))
    has_condition = re.search(r"\b(if|for|while|switch|case|default)\b|require\(|&&|\|\||\?", code)
    found = taken[max(taken)] if has_condition else []
    reached = sum(count for count, _, _ in functions)
    is_refusal = re.search(r"\b(fail|complain)\(|\bthrow\b", code)
    if re.search(r"\bcatch\b", code) or (is_refusal and not found and not reached):
        return [reached]
    return found + [reached, fails] if "require(" in code else found


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    run(build)
    listed = [line.split(": ", 2) for line in (ROOT / "tests/reliability/uncounted.txt").read_text().splitlines()
              if line[0] != "#"]
    uncounted = {(name, text): int(count) for name, count, text in listed}
    totals, left = collections.defaultdict(lambda: [0, 0]), []
    for (name, number), functions in sorted(counted(build).items()):
        text = (ROOT / name).read_text().splitlines()[number - 1]
        counts = branches(re.sub(r'"(\\.|[^"\\])*"|//.*', "", text), functions)
        group = next(g for g, names in GROUPS.items() if re.match(names, name))
        missing = sum(count == 0 for count in counts)
        out = min(missing, uncounted.get((name, text.strip()), 0))
        missing -= out
        totals[group][0] += len(counts) - out
        totals[group][1] += sum(count > 0 for count in counts)
        if missing:
            left.append(f"{group} {name}:{number}: {missing} of {len(counts)} not taken: {text.strip()}\n")
    (build / "not-taken.txt").write_text("".join(sorted(left)))
    for group, (all_of, taken) in totals.items():
        print(f"{group}: {taken} of {all_of} branches, {100 * taken / all_of:.1f} %")


main()
