#!/usr/bin/env python3
"""run_all.py [--out FILE.json] [--programs FOLDER] [--seconds S] [--emulated]: on a machine with a GPU, all checks and all
timings, within nine minutes; run-all.sh calls it. The results are one JSON, from which tables.py makes the tables of
docs/performance.md.

  op suite            every op on the GPU
  golden              models against PyTorch's losses, gradients and weights
  runtime             streams, graphs, memory
  sanitizer           compute-sanitizer (memory, shared-memory races) over some ops, where it is installed
  study               ntp-shakespeare, quick profile, one seed
  workloads           each training step in f32 and bf16, beside PyTorch's eager and with CUDA graphs

--programs: where headroom and the test programs lie (default: bin/ of the bundle). --emulated: the same steps on a build
with -Dcuda=emulated, with tiny workloads and the peer on the CPU: it tests this script, and its times mean nothing."""
import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIMIT = 9 * 60  # seconds for everything
# Of the op suite, under compute-sanitizer: what synchronises threads or reads what others wrote.
SANITIZED = ["softmax", "layer_norm", "sum", "attention", "embedding", "cross_entropy"]
# Under the emulator: one op each of elements, rows and products.
EMULATED_OPS = ["gelu", "sum", "linear"]


class Run:
    def __init__(self, given):
        self.given = given
        self.started = time.monotonic()
        self.before = []
        self.programs = pathlib.Path(given.programs or ROOT / "bin")
        self.steps, self.workloads = [], []
        system = ROOT / "lib/system"
        if system.is_dir() and self.call([self.program("headroom"), "--version"], 20)[0] != 0:
            # This machine's C library is older than the bundle's.
            folders = ":".join([str(system), str(ROOT / "lib"), os.environ.get("LD_LIBRARY_PATH", "")])
            self.before = [str(next(system.glob("ld-linux*"))), "--library-path", folders]

    def left(self):
        return LIMIT - (time.monotonic() - self.started)

    def program(self, name):
        """In a bundle all lie side by side; in a build folder each in its own."""
        for path in (self.programs / name, self.programs / "tests" / name, self.programs / "experiments" / name):
            if path.exists():
                return str(path)
        return None

    def call(self, command, limit, environment=None):
        """(exit status, output, seconds); 124 when it took too long."""
        begin = time.monotonic()
        if command[0] is None:
            return 127, "the program was not built", 0
        if command[0].startswith(str(self.programs)):
            command = self.before + command
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                  timeout=max(1, min(limit, self.left())), env={**os.environ, **(environment or {})},
                                  cwd=ROOT, check=False)
            status, text = done.returncode, done.stdout
        except subprocess.TimeoutExpired as error:
            status, text = 124, (error.stdout or b"").decode(errors="replace") if isinstance(error.stdout, bytes) else ""
        except OSError as error:
            status, text = 127, str(error)
        return status, text, time.monotonic() - begin

    def step(self, name, command, limit, environment=None):
        """A check: passed, failed or skipped (a test program says so with 77)."""
        if command is None or command[0] is None:
            self.note(name, "skipped", 0, "not installed, or packed without it")
            return
        status, text, seconds = self.call(command, limit, environment)
        self.note(name, {0: "passed", 77: "skipped"}.get(status, "failed"), seconds,
                  f"exit {status}\n" * (status not in (0, 77)) + text[-4000:])

    def note(self, name, status, seconds, text):
        self.steps.append({"name": name, "status": status, "seconds": round(seconds, 1), "output": text})
        print(f"{status:8} {seconds:6.1f} s  {name}", flush=True)

    def time_ours(self, workloads, names):
        for name in names:
            for dtype in ("f32", "bf16"):
                command = [self.program("headroom"), "bench", name, "--workloads", workloads, "--device", "cuda",
                           "--precision", dtype, "--seconds", str(self.given.seconds), "--json"]
                status, text, _ = self.call(command, 60)
                row = self.last_json(text) if status == 0 else None
                if row is None:
                    row = {"workload": name, "dtype": dtype, "error": text.strip().splitlines()[-1][:300] if text else ""}
                self.workloads.append({**row, "who": "headroom", "dtype": dtype})

    def time_peer(self, workloads):
        if self.given.no_peer:
            return
        command = [sys.executable, str(HERE / "peer.py"), workloads, "--seconds", str(self.given.seconds)]
        if self.given.emulated:
            command += ["--device", "cpu", "--modes", "eager", "--dtypes", "f32"]
        status, text, seconds = self.call(command, 240)
        rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        self.workloads += [{**row, "who": "PyTorch"} for row in rows]
        self.note("PyTorch's steps", "passed" if status == 0 and rows else "failed", seconds, text[-4000:])

    @staticmethod
    def last_json(text):
        lines = [line for line in text.splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else None


def machine(run):
    """What the numbers were measured on."""
    gpu = run.call(["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm", "--format=csv,noheader"], 20)
    doctor = run.call([run.program("headroom") or "headroom", "doctor"], 60)
    return {"gpu": gpu[1].strip() if gpu[0] == 0 else "none", "processor": platform.processor() or platform.machine(),
            "system": platform.platform(), "doctor": doctor[1][-4000:]}


def warm_peer(workloads):
    """Fills torch.compile's cache on the processor's other cores, while the checks keep the GPU busy."""
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": os.environ["TORCHINDUCTOR_CACHE_DIR"]}
    import tomllib
    names = [name for name in tomllib.loads(pathlib.Path(workloads).read_text()) if name != "defaults"]
    parts = [names[i::4] for i in range(4)]
    return [subprocess.Popen([sys.executable, str(HERE / "peer.py"), workloads, "--seconds", "0", "--modes", "graphs", "--only",
                              ",".join(part)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
            for part in parts if part]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--out", default="measured.json")
    arguments.add_argument("--programs")
    arguments.add_argument("--seconds", type=float, default=1, help="of timing for each workload, dtype and mode")
    arguments.add_argument("--no-peer", action="store_true", help="without PyTorch")
    arguments.add_argument("--emulated", action="store_true")
    given = arguments.parse_args()
    run = Run(given)
    workloads = str(HERE / "tiny.toml") if given.emulated else str(ROOT / "experiments/tools/bench/workloads.toml")
    import tomllib
    names = [name for name in tomllib.loads(pathlib.Path(workloads).read_text()) if name != "defaults"]
    scratch = tempfile.mkdtemp(prefix="headroom-gpu-")
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", scratch + "/inductor")
    warming = [] if given.emulated or given.no_peer else warm_peer(workloads)

    result = {"machine": machine(run), "emulated": given.emulated}
    suite = run.program("gpu-test")
    ops = ",".join(f"{op} on CUDA" for op in EMULATED_OPS) if given.emulated else "[suite]"
    run.step("op suite", [suite, ops], 120)
    run.step("golden", [suite, "[golden]"], 60)
    run.step("runtime", [suite, "~[op]~[suite]~[golden]"], 60)
    sanitizer = shutil.which("compute-sanitizer")
    for tool in ("memcheck", "racecheck"):
        run.step(f"sanitizer: {tool}", sanitizer and [sanitizer, "--tool", tool, "--error-exitcode", "9", suite,
                                                      ",".join(f"{op} on CUDA" for op in SANITIZED)], 75)
    settings = ["--set", "sweep.seed=[101]", "--set", "series=[]", "--set", "claim=[]", "--set", "train.optimizer.lr=1e-3"]
    data = ROOT / "data/tinyshakespeare"
    study_environment = {"HEADROOM_DATA": str(ROOT)} if data.exists() else None
    if given.emulated:
        settings += ["--set", 'sweep."model.heads"=[2]']
    profile = "smoke" if given.emulated else "quick"
    study = [run.program("headroom"), "run", str(ROOT / "experiments/ntp-shakespeare.toml"), "--profile", profile, "--device",
             "cuda", "--out", scratch + "/runs", *settings]
    has_text = study_environment or os.environ.get("HEADROOM_DATA")
    run.step("study", study if has_text else None, 100, study_environment)
    for process in warming:  # the timings want the machine for themselves
        try:
            process.wait(max(1, min(60, run.left() - 240)))
        except subprocess.TimeoutExpired:
            process.terminate()
            process.wait()
    run.time_ours(workloads, names)
    run.time_peer(workloads)
    shutil.rmtree(scratch, ignore_errors=True)

    result.update(steps=run.steps, workloads=run.workloads, seconds=round(time.monotonic() - run.started, 1))
    pathlib.Path(given.out).write_text(json.dumps(result, indent=1) + "\n")
    errors = [row for row in run.workloads if "error" in row]
    failed = [step["name"] for step in run.steps if step["status"] == "failed"]
    for row in errors:
        print(f"error    {row['who']} {row['workload']} {row['dtype']}: {row['error']}")
    print(f"{given.out}: {len(run.steps)} checks, {len(failed)} failed; {len(run.workloads) - len(errors)} timings, "
          f"{len(errors)} missing; {result['seconds']} s")
    sys.exit(1 if failed or any(row["who"] == "headroom" for row in errors) else 0)


if __name__ == "__main__":
    main()
