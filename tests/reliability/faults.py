"""faults.py PROGRAM LIBRARY [--shared] [--every N] [--mallocs N] [--flips N] [--kind K]: whatever call of a small
study fails, no trial that was said to have finished is lost, the error is named, and the next run ends in the same
bits.

LIBRARY is faults.cpp, which makes the n-th write, sync, rename, open, read or allocation of a run fail, the disk
full from the n-th write on, all reads short, or the clock jump back. Each case is a fresh folder: a run with the
fault, one without, and then metrics, weights and `doctor` are compared with an undisturbed run. Then one bit of
each file is flipped at --flips places, also of checkpoints and claims that a killed run has left: no command may
give other metrics, and after `doctor --repair` and one more run all is as before. --every N tries each N-th call
alone; of allocations, which are hundreds of thousands, --mallocs are tried, evenly spread. The last line is "N
passed, N failed, 0 skipped"."""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from race import STUDY, metrics_of, weights_of

SMALL = re.sub(r'"train.optimizer.lr".*\n', "", STUDY % "race")
SMALL = re.sub(r"seed = .*", "seed = [1]", SMALL)
for old, new in (("steps = 150", "steps = 2"), ("eval_every = 25", "eval_every = 1"), ("= 0.05", "= 0")):
    SMALL = SMALL.replace(old, new)
RUN = pathlib.Path("runs/race/own")


class Faults:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.run_words = ["run", "study.toml", "--json"] + (["--shared"] if options.shared else [])
        self.passed = self.failed = self.cases = 0
        self.rows, self.row = {}, collections.Counter()

    def check(self, is_right, what):
        self.passed += is_right
        self.failed += not is_right
        if not is_right:
            print("FAILED: " + what, flush=True)

    def run(self, folder, words, fault="", **more):
        env = dict(os.environ, HEADROOM_THREADS="1", **more)
        if fault or more:
            env |= {"HEADROOM_FAULT": fault, "LD_PRELOAD": self.options.library}
        return subprocess.run([self.options.program] + words, cwd=folder, env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120)

    def fresh(self, copied=None):
        self.cases += 1
        folder = self.folder / f"case-{self.cases}"
        if copied:
            shutil.copytree(copied, folder)
        else:
            folder.mkdir()
            (folder / "study.toml").write_text(SMALL)
        return folder

    def is_named(self, done, name):
        """Ended well, or with a message; never by a signal or without a word. nlohmann::json allocates in its
        destructor: where that fails, no program can go on."""
        aborts = name.startswith("malloc") and done.returncode == -signal.SIGABRT and "std::bad_alloc" in done.stderr
        self.row["aborted"] += aborts
        ends = done.returncode == 0 or aborts or (done.returncode == 1 and "headroom: error: " in done.stderr)
        self.row["named" if done.returncode else "went on"] += 1
        self.check(ends, f"{name}: status {done.returncode}: {done.stderr[-300:]}")

    def ends_the_same(self, folder, name, kept=frozenset()):
        before = self.failed
        done = self.run(folder, self.run_words)
        self.check(done.returncode == 0, f"{name}: the next run: {done.returncode}: {done.stderr[-300:]}")
        lost = kept & finished(done.stdout)
        self.check(not lost, f"{name}: trained again: {lost}")
        if done.returncode == 0:
            self.check(metrics_of(self, folder) == self.metrics, f"{name}: other metrics")
            self.check(weights_of(folder) == self.weights, f"{name}: other weights")
            self.check(not (folder / RUN / "checkpoints").exists(), f"{name}: checkpoints are left")
            doctor = self.run(folder, ["doctor", "runs"])
            self.check(doctor.returncode == 0, f"{name}: doctor: {doctor.stdout[-300:]}{doctor.stderr[-300:]}")
        if self.failed == before:
            shutil.rmtree(folder)

    def fail_at(self, fault):
        folder = self.fresh()
        done = self.run(folder, self.run_words, fault)
        self.is_named(done, fault)
        self.ends_the_same(folder, fault, finished(done.stdout))

    def begin_row(self, name):
        self.row = self.rows[name] = collections.Counter()

    def fail_all(self):
        """Every call, or some of them, of an undisturbed run."""
        model = self.fresh()
        counts = self.folder / "counts"
        done = self.run(model, self.run_words, HEADROOM_FAULT_COUNTS=str(counts))
        self.metrics, self.weights = metrics_of(self, model), weights_of(model)
        print(done.stderr, end="")
        calls = {kind: int(count) for kind, count in (line.split() for line in counts.read_text().splitlines())}
        for kind in ("sync", "rename", "open", "read", "write", "full", "malloc"):
            if self.options.kind not in ("", kind):
                continue
            self.begin_row(kind)
            self.row["calls"] = calls[kind]
            step = max(1, calls[kind] // self.options.mallocs) if kind == "malloc" else self.options.every
            for n in range(1, calls[kind] + 1, step):
                self.fail_at(f"{kind}:{n}")
            self.say(kind)
        for kind, fault in (("short", "short:1"), ("clock", f"clock:{max(2, calls['clock'] // 2)}:-86400")):
            if self.options.kind in ("", kind):
                self.begin_row(kind)
                self.row["calls"] = calls[kind]
                self.fail_at(fault)
                self.say(kind)

    def flip_all(self):
        model = self.folder / "case-1"
        cut = self.fresh()
        process = subprocess.Popen([self.options.program] + self.run_words, cwd=cut, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=dict(os.environ, HEADROOM_THREADS="1"))
        # In a run that saves at each step there is a checkpoint, or soon another.
        while process.poll() is None and not list((cut / RUN).glob("checkpoints/[0-9a-f]*.safetensors")):
            time.sleep(0.0005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for source, kinds in ((model, ("store.sqlite", "weights", "shards")), (cut, ("checkpoints", "claims"))):
            for kind in kinds:
                files = [file for file in sorted((source / RUN).glob(kind + "*")) if file.is_file()]
                files += [file for file in sorted((source / RUN / kind).glob("*")) if file.is_file()]
                if not any(file.stat().st_size for file in files):
                    continue
                self.begin_row("flipped bit: " + kind)
                for file in files:
                    self.flip(source, file)
                self.say("flipped bit: " + kind)

    def flip(self, source, file):
        size = file.stat().st_size
        for i in range(min(self.options.flips, size)):
            place, bit = (2 * i + 1) * size // (2 * self.options.flips), i % 8
            folder = self.fresh(source)
            own, name = folder / file.relative_to(source), f"{file.name}: bit {bit} of byte {place}"
            text = bytearray(own.read_bytes())
            text[min(place, size - 1)] ^= 1 << bit
            own.write_bytes(text)
            if own.parent.name in ("shards", "claims"):  # else it may be on its way over a network, or waited for
                os.utime(own, (time.time() - 120,) * 2)
            self.row["calls"] += 1
            if source.name == "case-1":
                done = self.run(folder, ["export", "csv", "race", "--metrics-only"])
                self.is_named(done, name)
                is_whole = done.returncode != 0 or done.stdout.encode() == self.metrics
                self.check(is_whole or "shards" in str(own), f"{name}: other metrics, and no error")
                self.run(folder, ["doctor", "--repair", "runs"])
            else:
                self.row["went on"] += 1  # checked below
            self.ends_the_same(folder, name)

    def say(self, name):
        row = self.rows[name]
        named = f"{row['named']}" + (f", {row['aborted']} by abort()" if row["aborted"] else "")
        print(f"| {name} | {row['calls']} | {row['named'] + row['went on']} | {named} | {row['went on']} |", flush=True)


def finished(events):
    """The trials that a run with --json said to have finished."""
    events = [json.loads(line) for line in events.splitlines()]
    return {event["trial"] for event in events if event["event"] == "trial" and event["status"] == "finished"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("library")
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--mallocs", type=int, default=200)
    parser.add_argument("--flips", type=int, default=24)
    parser.add_argument("--kind", default="", help="this one alone; 'none': only flipped bits")
    options = parser.parse_args()
    for name in ("program", "library"):
        setattr(options, name, str(pathlib.Path(getattr(options, name)).resolve()))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="headroom-faults-"))
    faults = Faults(options, folder)
    print("| fails | calls | tried | ended with an error | went on |\n|---|---|---|---|---|", flush=True)
    faults.fail_all()
    if options.kind in ("", "none"):
        faults.flip_all()
    if faults.failed == 0:
        shutil.rmtree(folder)
    else:
        print("kept:", folder)
    print(f"{faults.passed} passed, {faults.failed} failed, 0 skipped")
    return faults.failed != 0


if __name__ == "__main__":
    sys.exit(main())
