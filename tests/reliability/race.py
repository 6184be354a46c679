"""race.py PROGRAM [--kills N] [--stops N] [--stop-seconds S] [--seed N] [--shared] [--workers N]: whatever is killed or
stopped, and whenever, a study ends with the metrics and the weights of a run that nobody disturbed.

In each arena, a fresh folder, two `run` (--workers) of one of five studies in rounds with kept weights race with
`report`, `doctor`, `status`, `export`, `serve`, with `rm` of another study's run next to it, and with `import` of half
of the study's own trials, as an undisturbed run exported them: so an import brings what the study is to find anyway,
but without weights. All are killed at random instants, the runs up to eighty times. In an arena of a stop a run is
stopped for longer than its lease, others take over and go on, some of them killed, and then it continues. In the end
one run is let finish, and everything is compared. With --shared the folder is one of shards and claims. What is not
killed must succeed, or fail for a reason that the race itself gives it. The last line is "N passed, N failed, 0
skipped"."""
import argparse
import collections
import gzip
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from small_study import small_study  # noqa: E402

TRAIN = """steps = 150
eval_every = 25
judged = "best"
save_every = 0.05
keep_weights = true"""
SWEEP = """"model.heads" = [1, 2]
"train.optimizer.lr" = { best_of = { from = 1e-5, to = 3.16e-5, extend = true, limits = [1e-5, 1e-3] } }
seed = { from = 1, until = "decided", at_most = 5 }"""
STUDY = small_study("%s", "Race", TRAIN, SWEEP, model="ffn_width = 16\ndropout = 0.1",
                    more='[[claim]]\nkind = "less_than"\nat = 2\nthan = { at = 1 }')

# The studies that are raced in turn: what each changes in this one.
STUDIES = [[], [('positions = "sinusoidal"', 'positions = "learned"'), ("dropout = 0.1", "")],
           [('kind = "adamw", lr = 1e-3, beta2 = 0.99', 'kind = "sgd", lr = 1e-3, momentum = 0.9')],
           [("layers = 1", "layers = 2"), ("width = 8", "width = 12")],
           [("n = 2", "n = 3"), ("batch = 4", "batch = 3")]]


def study(number, name="race"):
    text = STUDY % name
    for old, new in STUDIES[number % len(STUDIES)]:
        text = text.replace(old, new, 1)
    return text


# What the race itself may make a command say.
EXPECTED = {
    "rm": ["has no such run", "there is no run store", "is training it", "a process uses its store"],
    "other": ["disk I/O error", "no such table", "store.sqlite: run store", "cannot be"],  # `rm` takes its folder away
    "status": ["there is no run store"],
    "export": ["there is no run store"],
    "report": ["there is no run store", "no trial has finished yet"],
    "doctor": ["there is no", "is no run store, and no folder"],
    "serve": ["there is no such folder"],
}


class Race:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.run_words = ["run", "study.toml", "--quiet"] + (["--shared"] if options.shared else [])
        self.lock = threading.Lock()
        self.kills = self.stops = self.passed = self.failed = self.arenas = 0
        self.killed = collections.Counter()
        self.models, self.model_lock = {}, threading.Lock()
        self.locked = 0

    def check(self, is_right, what):
        with self.lock:
            self.passed += is_right
            self.failed += not is_right
        if not is_right:
            print("FAILED: " + what, flush=True)

    def begin(self, folder, words, name):
        out, err = open(folder / (name + ".out"), "w"), open(folder / (name + ".err"), "w")
        with out, err:
            return subprocess.Popen([self.options.program] + words, cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
                                    stderr=err, env=dict(os.environ, HEADROOM_THREADS="1"))

    def kill(self, process, kind):
        """True when it was still running."""
        was_running = process.poll() is None
        if was_running:
            process.kill()
            process.wait()
            with self.lock:
                self.kills += 1
                self.killed[kind] += 1
        return was_running

    def model(self, number):
        """Metrics and weights of a study's undisturbed run."""
        with self.model_lock:
            if number not in self.models:
                self.models[number] = make_model(self, number)
            return self.models[number]

    def is_enough(self):
        return self.kills >= self.options.kills

    def judge(self, folder, kind, name, process):
        """Of a command that ended by itself."""
        if process.returncode == 0:
            return True
        err = (folder / (name + ".err")).read_text()
        if "database is locked" in err:  # a stopped process may hold the lock for longer than SQLite waits
            with self.lock:
                self.locked += 1
            return self.options.stop_seconds >= 60
        if not any(text in err for text in EXPECTED.get(kind, [])):
            out = (folder / (name + ".out")).read_text()
            self.check(False, f"{folder.name}: {kind}: status {process.returncode}: {out[-300:]}{err[:300]}")
        return False


def metrics_of(race, folder):
    return subprocess.run([race.options.program, "export", "csv", "race", "--metrics-only"], cwd=folder, check=True,
                          capture_output=True).stdout


def weights_of(folder):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted((folder / "runs/race/own/weights").glob("*.safetensors"))}


def make_model(race, number):
    """The undisturbed run of a study, and an export of half of its trials."""
    folder = race.folder / f"undisturbed-{number}"
    folder.mkdir()
    (folder / "study.toml").write_text(study(number))
    start = time.time()
    for words in (["run", "study.toml", "--quiet"], ["export", "trials", "race", "--to", "trials"]):
        subprocess.run([race.options.program] + words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    head, *trials = gzip.open(folder / "trials/race/own.jsonl.gz").read().splitlines()
    head, half = json.loads(head), trials[::2]
    head["trials"] = len(half)
    rest = [json.loads(trial) for trial in trials[1::2]]
    head["missing"] = sorted(([trial["id"], place] for trial in rest for place in trial["plan"]), key=lambda m: m[1][0])
    with gzip.open(folder / "half.jsonl.gz", "wb") as file:
        file.write(b"\n".join([json.dumps(head).encode()] + half) + b"\n")
    weights = weights_of(folder)
    seconds = time.time() - start
    print(f"study {number + 1}, undisturbed: {len(trials)} trials, {len(weights)} files of weights, {seconds:.1f} s",
          flush=True)
    return metrics_of(race, folder), weights


class Arena:
    def __init__(self, race, number, stops):
        self.race, self.number, self.stops = race, number, stops
        self.random = random.Random(race.options.seed * 100003 + number)
        self.folder = race.folder / f"arena-{number}"
        self.folder.mkdir()
        self.metrics, self.weights = race.model(number % len(STUDIES))
        (self.folder / "study.toml").write_text(study(number))
        (self.folder / "other.toml").write_text(study(number, "other").replace("steps = 150", "steps = 20"))
        shutil.copy(race.folder / f"undisturbed-{number % len(STUDIES)}/half.jsonl.gz", self.folder)
        self.is_over = threading.Event()
        self.kills_left = 80

    def sometimes(self, most):
        """Seconds until the next blow; short ones are as frequent as long ones."""
        with self.race.lock:
            return most * self.random.random() ** 2

    def run_until_killed(self, slot, kind, words, most):
        """False when it ended by itself."""
        name = f"{kind}-{slot}"
        process = self.race.begin(self.folder, words, name)
        try:
            process.wait(timeout=self.sometimes(most))
        except subprocess.TimeoutExpired:
            return self.race.kill(process, kind)
        self.race.judge(self.folder, kind, name, process)
        return False

    def trainer(self, slot):
        finished = 0
        while finished < 2 and self.kills_left > 0 and not self.race.is_enough():
            self.kills_left -= 1
            finished += not self.run_until_killed(slot, "run", self.race.run_words, 3)

    def bystander(self):
        commands = [
            ("other", ["run", "other.toml"] + self.race.run_words[2:], 1), ("rm", ["rm", "other", "--yes"], 0.2),
            ("import", ["import", "half.jsonl.gz"], 0.2), ("report", ["report", "study.toml"], 0.5),
            ("doctor", ["doctor", "runs"], 0.3), ("status", ["status"], 0.1),
            ("export", ["export", "csv", "race", "--metrics-only"], 0.2), ("serve", ["serve", "--port", "0"], 0.5)]
        while not self.is_over.is_set() and not self.race.is_enough():
            with self.race.lock:
                kind, words, most = self.random.choice(commands)
            self.run_until_killed(0, kind, words, most)
            time.sleep(0.05)

    def stopped_trainer(self):
        process = self.race.begin(self.folder, self.race.run_words, "stopped")
        time.sleep(0.05 + self.sometimes(2))
        if process.poll() is None:
            process.send_signal(signal.SIGSTOP)
            # Later ones come to trials that the stopped one had, and so wait for the end of its lease.
            until = time.time() + self.race.options.stop_seconds
            while time.time() < until:
                heir = self.race.begin(self.folder, self.race.run_words, "heir")
                is_left_alone = self.number % 2 == 0
                try:
                    heir.wait(timeout=max(0.1, until - time.time()) if is_left_alone else 0.1 + self.sometimes(20))
                    self.race.judge(self.folder, "run", "heir", heir)
                    if heir.returncode == 0:
                        time.sleep(max(0, until - time.time()))
                except subprocess.TimeoutExpired:
                    self.race.kill(heir, "run")
            process.send_signal(signal.SIGCONT)
            with self.race.lock:
                self.race.stops += 1
            if self.number % 4 == 3:
                time.sleep(self.sometimes(0.3))
                self.race.kill(process, "run")
        process.wait()
        if process.returncode >= 0:
            self.race.judge(self.folder, "run", "stopped", process)

    def finish(self):
        race, name = self.race, self.folder.name
        for words in (race.run_words, ["doctor", "runs/race"]):
            done = subprocess.run([race.options.program] + words, cwd=self.folder, capture_output=True, text=True)
            race.check(done.returncode == 0, f"{name}: {words[0]}: {done.stdout[-300:]}{done.stderr[-300:]}")
        race.check(metrics_of(race, self.folder) == self.metrics, f"{name}: other metrics")
        race.check(weights_of(self.folder) == self.weights, f"{name}: other weights: {weights_of(self.folder)}")
        race.check(not (self.folder / "runs/race/own/checkpoints").exists(), f"{name}: checkpoints are left")
        if race.failed == 0:
            shutil.rmtree(self.folder)

    def play(self):
        workers = [lambda slot=slot: self.trainer(slot) for slot in range(self.race.options.workers)]
        targets = [self.stopped_trainer] if self.stops else workers
        threads = [threading.Thread(target=target) for target in targets]
        bystander = threading.Thread(target=self.bystander)
        for thread in threads + ([] if self.stops else [bystander]):
            thread.start()
        for thread in threads:
            thread.join()
        self.is_over.set()
        if not self.stops:
            bystander.join()
        self.finish()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--stops", type=int, default=0)
    parser.add_argument("--stop-seconds", type=float, default=90)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", help="kept there when something fails")
    options = parser.parse_args()
    options.program = str(pathlib.Path(options.program).resolve())
    folder = pathlib.Path(tempfile.mkdtemp(prefix="headroom-race-", dir=options.folder))
    print(f"seed {options.seed}, {options.kills} kills, {options.stops} stops of {options.stop_seconds:.0f} s", folder)
    race = Race(options, folder)
    stops_left = list(range(options.stops))

    def next_number():
        with race.lock:
            race.arenas += 1
            return race.arenas - 1

    def kill_arenas():
        while not race.is_enough():
            Arena(race, next_number(), stops=False).play()
            print(f"{race.kills} kills, {race.stops} stops, {race.passed} passed, {race.failed} failed", flush=True)

    def stop_arenas():
        while True:
            with race.lock:
                if not stops_left:
                    return
                stops_left.pop()
            Arena(race, next_number(), stops=True).play()

    # Stopped processes cost nothing: many at once, next to one arena of kills.
    threads = [threading.Thread(target=kill_arenas)]
    threads += [threading.Thread(target=stop_arenas) for _ in range(min(12, options.stops))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("killed: " + ", ".join(f"{count} {kind}" for kind, count in race.killed.most_common()))
    print(f"{race.kills} kills, {race.stops} stops, {race.arenas} arenas, {race.locked} times 'database is locked'")
    if race.failed == 0:
        shutil.rmtree(folder)
    print(f"{race.passed} passed, {race.failed} failed, 0 skipped")
    return race.failed != 0


if __name__ == "__main__":
    sys.exit(main())
