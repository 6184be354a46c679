"""mutants.py BUILD [--jobs N] [--files NAME,...] [--seconds S]: which comparisons of the store could be turned round without
a test that fails.

Each `==`, `!=`, `<`, `>`, `<=`, `>=`, `&&`, `||`, `!` and each plain condition of an `if` in the store's sources is a mutant:
the sources are compiled once with all of them, and the environment variable MUTANT says which one is turned round. Each test
of the store runs once to see which mutants it reaches. Each mutant then meets the tests that reach it, the quickest first,
until one fails. mutants.txt says why some survive; others are printed, as are its lines that no survivor needs."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import shlex
import subprocess
import tempfile
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ROOT / "experiments/studies/run"
TESTS = {"tests/run-test": "[#annotations_test],[#shared_folder_test],[#shared_store_test],[#store_damage_test],[#store_test]",
         "tests/export-test": "[#published_test]"}
HOSTILE = ["shared.toml", "store.toml", "trials.toml"]
SKIPPED = 77
HEAD = """#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
namespace mutants {
inline bool on(int n) {
  static const char *const name = std::getenv("MUTANT"), *const file = std::getenv("MUTANTS_SEEN");
  static const int at = name ? std::atoi(name) : 0;
  static void* const seen = file ? mmap(nullptr, 1 << 16, PROT_WRITE, MAP_SHARED, open(file, O_RDWR), 0) : MAP_FAILED;
  if (seen != MAP_FAILED) static_cast<char*>(seen)[n] = 1;
  return at == n;
}
struct Not { int n; };
template <class T> bool operator->*(Not no, const T& x) { return on(no.n) != !x; }
}
#define MUTANT(n, a, is, other, b) (::mutants::on(n) ? (a other b) : (a is b))
"""
OTHER = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "&&": "||", "||": "&&"}
RANK = {"||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, ">": 4, "<=": 4, ">=": 4, "!": 5}
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|^#[^\n]*|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])+\'|'
                   r"(?<= )(?:==|!=|<=|>=|&&|\|\||<|>|=|\+=|-=|\?|:)(?=[ \n])|(?<=[ (\[])!(?=[\w(])|\b(?:if|return)\b|[(){}\[\];,]",
                   re.M)
OPENS, CLOSES = "([{", ")]}"


def end_of_operand(tokens, i, step):
    """The token before the left operand of operator i (step -1), or that after its right one (step 1)."""
    rank, depth = RANK[tokens[i][0]], 0
    enters, leaves = (OPENS, CLOSES) if step > 0 else (CLOSES, OPENS)
    while True:
        i += step
        word = tokens[i][0]
        binds = RANK.get(word, 9) if word != "!" else 9
        if depth == 0 and (word in leaves or binds < rank or (step > 0 and binds == rank) or
                           word in (";", ",", "=", "?", ":", "return", "+=", "-=")):
            return i
        depth += (word in enters) - (word in leaves)


def mutate(text, first):
    """The text with all of its mutants, and what each turns round: {number: (line, expression)}."""
    tokens = [(m[0], m.start(), m.end()) for m in TOKEN.finditer(text) if m[0][0] not in "/#\"'R"]
    edits, found = [], {}  # (place, what comes first there, the widest opens first and closes last, text, up to where)
    for i, (word, at, end) in enumerate(tokens):
        line = text.count("\n", 0, at) + 1
        if re.search(r"\b(constexpr|template|operator|requires)\b", text.split("\n")[line - 1]):
            continue
        n = first + len(found)
        if word in OTHER:
            start, stop = tokens[end_of_operand(tokens, i, -1)][2], tokens[end_of_operand(tokens, i, 1)][1]
            edits.append((start, 1, start - stop, f" MUTANT({n}, (", start))
            edits.append((at, 2, 0, f"), {word}, {OTHER[word]}, (", end))
            edits.append((stop, 0, stop - start, "))", stop))
        elif word == "!":
            start, stop = at, tokens[end_of_operand(tokens, i, 1)][1]
            edits.append((at, 2, 0, f"::mutants::Not{{{n}}}->*", end))
        elif word == "if" and tokens[i + 1][0] == "(":
            depth, j, start = 1, i + 2, tokens[i + 1][2]
            while depth:
                depth += (tokens[j][0] in OPENS) - (tokens[j][0] in CLOSES)
                start = tokens[j][2] if tokens[j][0] == ";" and depth == 1 else start
                j += 1
            stop = tokens[j - 1][1]
            if any(t[0] in RANK or t[0] == "=" for t in tokens[i + 2:j]):
                continue  # a declaration, or one whose parts are mutants
            edits.append((start, 1, -1000, f"::mutants::on({n}) != static_cast<bool>(", start))
            edits.append((stop, 0, 1000, ")", stop))
        else:
            continue
        found[n] = (line, " ".join(text[start:stop].split()))
    out, at = HEAD, 0
    for place, _, _, what, end in sorted(edits):
        out, at = out + text[at:place] + what, end
    return out + text[at:], found


class Mutated:
    """Programs with all mutants, and the tests that run them."""

    def __init__(self, build, folder, objects, most_seconds):
        self.folder, self.build, self.most_seconds = folder, build, most_seconds
        self.seconds, self.seen, self.tests = {}, collections.defaultdict(list), []
        for name, chosen in TESTS.items():
            unit = self.link(name, objects)
            names = subprocess.run([unit, chosen, "-#", "--list-test-names-only"], text=True, capture_output=True).stdout
            self.tests += [[unit, re.sub(r'([\\,"\[\]])', r"\\\1", case.strip()), "--abort"] for case in names.splitlines()]
        self.program = self.link("experiments/headroom", objects)  # of the hostile cases
        for file in HOSTILE:
            cases = tomllib.loads((ROOT / "tests/hostile/cases" / file).read_text())
            self.tests += [[build / "tests/hostile-test", file, "--only", case["name"]]
                           for kind in ("case", "family") for case in cases.get(kind, [])]

    def link(self, name, objects):
        line = shlex.split(subprocess.run(["ninja", "-C", self.build, "-t", "commands", name], text=True, capture_output=True,
                                          check=True).stdout.splitlines()[-1])
        at, program = line.index("-o") + 1, self.folder / pathlib.Path(name).name
        line[at:at + 1] = [program, "-Wl,--allow-multiple-definition", *objects]
        subprocess.run(line, cwd=self.build, check=True)
        return program

    def fails(self, test, n, seen=""):
        with tempfile.TemporaryDirectory() as name:
            os.chmod(name, 0o755)
            program = pathlib.Path(name) / "headroom"  # hostile cases inherit no environment
            program.write_text(f'#!/bin/sh\nMUTANT={n} MUTANTS_SEEN={seen} exec {self.program} "$@"\n')
            program.chmod(0o755)
            env = dict(os.environ, MUTANT=str(n), MUTANTS_SEEN=seen, HEADROOM_PROGRAM=str(program), TMPDIR=name)
            try:
                return subprocess.run(self.tests[test], cwd=name, env=env, timeout=20 + 10 * self.seconds.get(test, 10),
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 << 30,) * 2)).returncode
            except subprocess.TimeoutExpired:
                return True

    def look(self, test):
        """Which mutants a test reaches, and how long it takes."""
        with tempfile.NamedTemporaryFile() as seen:
            seen.truncate(1 << 16)
            os.chmod(seen.name, 0o666)
            start = time.monotonic()
            status = self.fails(test, 0, seen.name)
            if status == SKIPPED:
                return
            assert status == 0, f"fails without a mutant: {self.tests[test]}"
            self.seconds[test] = time.monotonic() - start
            if self.seconds[test] <= self.most_seconds:
                for n, reached in enumerate(seen.read()):
                    self.seen[n] += [test] * reached

    def survives(self, n):
        return not any(self.fails(test, n) for test in sorted(self.seen[n], key=self.seconds.get))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--files", default="")
    parser.add_argument("--seconds", type=float, default=1e9)
    options = parser.parse_args()
    build = options.build.resolve()
    needed = [*TESTS, "experiments/headroom", "tests/hostile-test"]
    subprocess.run(["ninja", "-C", build, *needed], check=True, stdout=subprocess.DEVNULL)
    unit = next(c for c in json.loads((build / "compile_commands.json").read_text())
                if "libheadroom_experiments" in c["output"] and c["output"].endswith(".o"))
    flags = shlex.split(unit["command"])
    flags = flags[:flags.index("-MD")] + ["-O1", "-w", "-c"]
    lines = [line for line in (ROOT / "tests/reliability/mutants.txt").read_text().splitlines() if line and line[0] != "#"]
    expected = {line.removeprefix("~ ") for line in lines}
    mutants, compiling, objects, times = {}, [], [], collections.Counter()
    folder = build / "mutants"
    folder.mkdir(exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for file in [*sorted((RUN / "store").glob("*.cpp")), RUN / "store.cpp"]:
            text, found = mutate(file.read_text(), len(mutants) + 1)
            for n, (line, expression) in found.items():
                key = f"{file.name}: {expression}"
                times[key] += 1
                mutants[n] = (line, key + (f" #{times[key]}" if times[key] > 1 else ""))
            (folder / file.name).write_text(text)
            objects.append(folder / (file.stem + ".o"))
            compiling.append(pool.submit(subprocess.run, flags + [folder / file.name, "-o", objects[-1]], cwd=build, check=True))
        for one in compiling:
            one.result()
        mutated = Mutated(build, folder, objects, options.seconds)
        list(pool.map(mutated.look, range(len(mutated.tests))))
        chosen = [n for n, (_, key) in mutants.items() if key.split(".")[0] in (options.files or key.split(".")[0]).split(",")]
        survivors = []
        for n, is_left in zip(chosen, pool.map(mutated.survives, chosen)):
            line, key = mutants[n]
            if is_left:
                survivors.append(key)
            if is_left and key not in expected:
                print(f"{n}: line {line}, {len(mutated.seen[n])} tests: {key}", flush=True)
    certain = {line for line in lines if line[0] != "~"}
    stale = sorted(certain - set(survivors)) if len(chosen) == len(mutants) and not options.files else []
    for key in stale:
        print(f"mutants.txt: caught, or not there: {key}")
    unexplained = set(survivors) - expected
    print(f"{len(chosen)} mutants: {len(chosen) - len(survivors)} caught, {len(survivors) - len(unexplained)} explained, "
          f"{len(unexplained)} neither")
    return bool(unexplained or stale)


if __name__ == "__main__":
    raise SystemExit(main())
