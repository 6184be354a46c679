#!/usr/bin/env python3
"""What headroom writes for TensorBoard and Weights & Biases, read by their own programs.

    python boards.py PROGRAM [--wandb COMMAND] [--work FOLDER]

A small study is trained with `run --tensorboard`, killed three times, and trained to its end; then it is exported. TensorBoard's
EventAccumulator must find points while the trials train, and in the end those of `export json`, each step once, in the event
files of the run and in those of the export. `wandb sync` uploads the offline runs to a server on the
loopback interface which answers as W&B's does as far as a sync asks: what arrives must be the configs, histories,
summaries, names, tags, notes and exit codes of `export json`. Where the Python package still has its DataStore (versions
up to 0.22), that reads every file, too. Wants tensorboard and wandb; comparison only: no test runs it.
"""

import argparse
import gzip
import http.server
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from small_study import small_study  # noqa: E402

STUDY = small_study("boards", "Boards", "steps = 3000\neval_every = 100\nsave_every = 0.1",
                    '"model.heads" = [1, 2]\nseed = [1, 2]', model="ffn_width = 16")


def single(value):
    """The nearest f32, as event files have it."""
    import struct

    return struct.unpack("<f", struct.pack("<f", value))[0]


def points_of(trial):
    """(tag, step) → value, as `export tensorboard` has it."""
    points = {(f"{p['split']}/{p['metric']}", p["step"]): single(p["value"]) for p in trial["history"]}
    points.update({(f"test/{name}", trial["steps"]): single(value) for name, value in trial["test"].items()})
    return points


def accumulated(folder):
    """Folder of a trial → (tag, step) → value. Fails where a step stands twice."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    runs = {}
    for trial in sorted({file.parent for file in folder.glob("*/*/*/events.out.tfevents.*")}):
        accumulator = EventAccumulator(str(trial), size_guidance={"scalars": 0})
        accumulator.Reload()
        points = {}
        for tag in accumulator.Tags()["scalars"]:
            for event in accumulator.Scalars(tag):
                assert (tag, event.step) not in points, f"{trial.name}: {tag} has step {event.step} twice"
                points[tag, event.step] = event.value
        runs[trial.name] = points
    return runs


def same(ours, theirs):
    return ours.keys() == theirs.keys() and all(
        value == theirs[key] or (math.isnan(value) and math.isnan(theirs[key])) for key, value in ours.items())


def check_tensorboard(program, work, trials):
    wanted = {trial["trial"][:8]: points_of(trial) for trial in trials}
    subprocess.run([program, "export", "tensorboard", "--to", "events"], cwd=work, check=True, stdout=subprocess.DEVNULL)
    for folder in ("live", "events"):
        found = accumulated(work / folder)
        assert len(found) == len(trials), f"{folder}: {len(found)} runs, not {len(trials)}"
        for name, points in found.items():
            assert same(wanted[name[-8:]], points), f"{folder}/{name}: other points than export json has"
        files = len(list((work / folder).glob("*/*/*/events*")))
        print(f"{folder:7} {len(found)} trials, {sum(map(len, found.values()))} points, {files} event files: the same")


class Server(http.server.ThreadingHTTPServer):
    """Answers what `wandb sync` asks, and keeps what it uploads."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.runs, self.lock = {}, threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def run(self, name):
        return self.runs.setdefault(name, {"history": {}, "summary": {}, "exit": None, "bucket": {}})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        bytes_ = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return gzip.decompress(bytes_) if self.headers.get("Content-Encoding") == "gzip" else bytes_

    def do_GET(self):
        self.answer({})

    def do_PUT(self):
        self.body()
        self.answer({})

    def do_POST(self):
        request = json.loads(self.body())
        with self.server.lock:
            self.answer(self.graphql(request) if self.path == "/graphql" else self.stream(request))

    def graphql(self, request):
        query, given = request["query"], request.get("variables") or {}
        if "upsertBucket" in query:
            kept = self.server.run(given["name"])["bucket"]
            kept.update({key: value for key, value in given.items() if value is not None})
            project = {"id": "P", "name": given["project"], "entity": {"id": "E", "name": "us"}}
            bucket = {"id": "B", "name": given["name"], "displayName": kept.get("displayName"), "description": "",
                      "config": "{}", "sweepName": None, "historyLineCount": 0, "project": project}
            return {"data": {"upsertBucket": {"bucket": bucket, "inserted": True}}}
        if "createRunFiles" in query:
            address = f"http://127.0.0.1:{self.server.server_port}/files"
            files = [{"name": name, "uploadUrl": f"{address}/{name}"} for name in given["files"]]
            return {"data": {"createRunFiles": {"runID": "B", "uploadHeaders": [], "files": files}}}
        if "viewer" in query:
            user = {"id": "V", "entity": "us", "username": "us", "flags": "{}", "teams": {"edges": []}}
            return {"data": {"viewer": user}}
        if "serverInfo" in query:
            info = {"features": [], "cliVersionInfo": {"max_cli_version": "9.9.9"}, "latestLocalVersionInfo": None}
            return {"data": {"serverInfo": info}}
        return {"data": {}}

    def stream(self, request):
        run = self.server.run(self.path.split("/")[-2])
        files = request.get("files") or {}
        if history := files.get("wandb-history.jsonl"):
            for i, line in enumerate(history["content"]):
                run["history"][history["offset"] + i] = json.loads(line)
        if summary := files.get("wandb-summary.json"):
            run["summary"] = json.loads(summary["content"][-1])
        if request.get("complete"):
            run["exit"] = request["exitcode"]
        return {"exitcode": None, "limits": {}}


def equal(a, b):
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


def check_uploaded(server, trials):
    runs = {json.loads(run["bucket"]["config"])["headroom"]["value"]["trial"]: run for run in server.runs.values()}
    assert len(runs) == len(server.runs) == len(trials), f"{len(runs)} runs arrived, not {len(trials)}"
    points = 0
    for trial in trials:
        run, bucket = runs[trial["trial"]], runs[trial["trial"]]["bucket"]
        config = {key: entry["value"] for key, entry in json.loads(bucket["config"]).items()}
        assert {key: config[key] for key in trial["config"]} == trial["config"], "another config"
        assert (bucket["project"], bucket["groupName"]) == (trial["study"], trial["profile"])
        assert bucket["displayName"].endswith(f"seed {trial['seed']}")
        assert bucket["tags"] == ["peer"] and bucket["notes"] == "a note\nof two lines"
        lines = [run["history"][i] for i in range(len(run["history"]))]
        steps = [line["_step"] for line in lines]
        assert steps == sorted(set(steps)), "steps that do not grow"
        found = {(key, line["_step"]): value for line in lines for key, value in line.items() if key[0] != "_"}
        wanted = {(f"{p['split']}/{p['metric']}", p["step"]): p["value"] for p in trial["history"]}
        assert found.keys() == wanted.keys() and all(equal(found[key], wanted[key]) for key in wanted), "another history"
        for metric, value in trial["test"].items():
            assert equal(run["summary"][f"test/{metric}"], value), "another summary"
        assert run["summary"]["trial/parameters"] == trial["parameters"]
        assert run["exit"] == (0 if trial["status"] == "finished" else 1)
        points += len(found)
    return points


def check_wandb(program, work, trials, command):
    subprocess.run([program, "export", "wandb", "--to", "."], cwd=work, check=True, stdout=subprocess.DEVNULL)
    files = sorted(work.glob("wandb/offline-run-*/*.wandb"))
    assert len(files) == len(trials)
    try:
        import wandb.sdk.internal.datastore as store
        from wandb.proto import wandb_internal_pb2

        store.wandb._assert_is_internal_process = True
        kinds = {}
        for file in files:
            reader = store.DataStore()
            reader.open_for_scan(str(file))
            while (data := reader.scan_data()) is not None:
                record = wandb_internal_pb2.Record()
                record.ParseFromString(data)
                kind = record.WhichOneof("record_type")
                assert kind is not None
                kinds[kind] = kinds.get(kind, 0) + 1
        print("wandb   DataStore reads", ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    except ImportError:
        print("wandb   this version has no DataStore")
    server = Server()
    home = work / "home"
    home.mkdir()
    environment = dict(os.environ, HOME=str(home), WANDB_BASE_URL=f"http://127.0.0.1:{server.server_port}",
                       WANDB_API_KEY="0" * 40, WANDB_ERROR_REPORTING="false")
    answer = subprocess.run([command, "sync", *map(str, (file.parent for file in files))], cwd=work, env=environment,
                            capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    version = subprocess.run([command, "--version"], capture_output=True, text=True).stdout.strip()
    points = check_uploaded(server, trials)
    print(f"wandb   sync ({version}) uploads {len(trials)} runs, {points} points: the same")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--wandb", default=shutil.which("wandb", path=os.path.dirname(sys.executable)) or "wandb")
    parser.add_argument("--work")
    a = parser.parse_args()
    program = os.path.abspath(a.program)
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(a.work or temporary)
        work.mkdir(exist_ok=True)
        (work / "study.toml").write_text(STUDY)
        run = [program, "run", "study.toml", "--quiet", "--threads", "2", "--tensorboard", "live"]
        seen = 0
        for kills in range(3):
            process = subprocess.Popen(run, cwd=work)
            time.sleep(1)
            seen = max(seen, sum(map(len, accumulated(work / "live").values())))
            if process.poll() is not None:
                print(f"the study ended before kill {kills + 1}: give it more steps")
            process.kill()
            process.wait()
        assert seen > 0, "no point was there while trials trained"
        print(f"live    {seen} points were there while trials trained")
        subprocess.run(run, cwd=work, check=True)
        subprocess.run([program, "tag", "boards", "peer"], cwd=work, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([program, "note", "boards", "a note\nof two lines"], cwd=work, check=True, stdout=subprocess.DEVNULL)
        exported = subprocess.run([program, "export", "json"], cwd=work, check=True, capture_output=True, text=True)
        trials = json.loads(exported.stdout)
        for trial in trials:  # what is not finite is null there
            for point in trial["history"]:
                point["value"] = math.nan if point["value"] is None else point["value"]
        check_tensorboard(program, work, trials)
        check_wandb(program, work, trials, a.wandb)
    return 0


if __name__ == "__main__":
    sys.exit(main())
