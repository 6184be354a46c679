"""scale.py PROGRAM [--shards N] [--trials N]: what a shared folder costs with the shards of so many workers.

A small study is run; its first line, with other seeds and right ids and checksums, makes N shards. Then are measured, in
seconds of processor time: `status`, sixty trials trained beside them and alone, and `report`, which merges the shards
once they are old enough; `status` again after it. Fails where trials are lost on the way."""
import argparse
import hashlib
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

from race import STUDY

RUN = pathlib.Path("runs/race/own")


def study(seeds):
    text = re.sub(r'"train.optimizer.lr".*\n', "", STUDY % "race")
    text = re.sub(r"steps = \d+", "steps = 20", text).replace("keep_weights = true", "keep_weights = false")
    return re.sub(r"seed = .*", f"seed = [{', '.join(map(str, seeds))}]", text)


def id_of(config):
    """FNV-1a of 128 bits, as trial_id_of() has it."""
    value = 0x6C62272E07BB014262B821756295C58D
    for byte in ("trial 3" + config).encode():
        value = (value ^ byte) * ((1 << 88) + 0x13B) % (1 << 128)
    return f"{value:032x}"


def line_of(model, seed):
    config = re.sub(r'"seed":\d+', f'"seed":{seed}', model["config"])
    body = json.dumps({**model, "id": id_of(config), "config": config}, separators=(",", ":"))[:-1]
    return f'{body},"sha256":"{hashlib.sha256(body.encode()).hexdigest()}"}}\n'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--shards", type=int, default=10000)
    parser.add_argument("--trials", type=int, default=100000)
    options = parser.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    with tempfile.TemporaryDirectory(prefix="headroom-scale-") as name:
        folder = pathlib.Path(name)

        def take(what, words):
            before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
            done = subprocess.run([program] + words, cwd=folder, env=dict(os.environ, HEADROOM_THREADS="1", PATH=""),
                                  capture_output=True, text=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"| {what} | {cpu:.1f} | {time.time() - begin:.1f} | {len(list((folder / RUN / 'shards').glob('*.jsonl')))} |",
                  flush=True)
            if done.returncode:
                sys.exit(f"{words}: {done.stderr[-500:]}")
            return done.stdout

        (folder / "few.toml").write_text(study([1]))
        (folder / "more.toml").write_text(study(range(1, 61)))
        print("| | processor seconds | seconds | shards after it |\n|---|---|---|---|")
        take("one seed", ["run", "few.toml", "--quiet", "--shared"])
        shards = folder / RUN / "shards"
        first = next(shards.glob("*.jsonl")).read_text().splitlines()[0]
        model = json.loads(first)
        del model["sha256"]
        take("sixty seeds, alone", ["run", "more.toml", "--quiet", "--jobs", "1"])
        each = options.trials // options.shards
        for n in range(options.shards):
            (shards / f"node{n}-{n}.jsonl").write_text("".join(line_of(model, 1000 + n * each + i) for i in range(each)))
        total = len(list(shards.glob("*.jsonl")))
        take("status", ["status"])
        (folder / "most.toml").write_text(study(range(1, 121)))
        take("sixty seeds beside them", ["run", "most.toml", "--quiet", "--jobs", "1"])
        for file in shards.glob("*.jsonl"):
            os.utime(file, (time.time() - 100,) * 2)
        take("report, which merges", ["report", "most.toml"])
        left = len(list(shards.glob("*.jsonl")))
        take("status after it", ["status"])
        sound = take("doctor", ["doctor", "runs"])
    found = int(re.search(r": (\d+) trials", sound)[1])
    print(f"{found} trials in {total} shards, then {left}")
    return found < options.shards * each


if __name__ == "__main__":
    sys.exit(main())
