"""The steps of run_all.py, in their order: a method of Shot for each of LIMITS."""
import hashlib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import time

import kernel_times
import predict
import workloads
from runner import end_all_of, json_lines

HERE = pathlib.Path(__file__).resolve().parent
# Seconds of each step, in their order: together the ten minutes that a GPU is lent for, less one to start and to send.
# The peers get ready from `ops` to `sanitizers`; `kernels` is before that, as it wants the card for itself.
LIMITS = {"doctor": 15, "ceilings": 20, "kernels": 45, "ops": 60, "tests": 40, "determinism": 25, "sanitizers": 55, "peer": 120,
          "timings": 110, "copies": 25, "study": 25}
AT_ONCE = 8
# The files of tests in gpu-test, by Catch2's name for them.
TESTS = ["device_test", "bf16_test", "recorded_decoder_test", "rows_test", "optim_test", "choose_token_test",
         "class_scores_test", "decoding_test", "joined_sums_test", "pointwise_test", "scatter_test", "side_stream_test", "golden_test", "runtime_test", "storage_test",
         "products_test", "attention_test", "sdpa_test"]
# torch.compile with the whole step as one CUDA graph, made ready by a dozen processes while the checks run. All steps lie in
# the card's memory at once: hence GPT-2 once in f32 and in pure bf16.
PEER = ["--modes", "graphs,pure", "--at-once", "12", "--leave-out", "gpt2-124m-50304/f32,gpt2-124m-50304/pure,nanogpt/pure"]
# Under compute-sanitizer: what synchronises threads or reads what others wrote. Of attention one small problem for each kernel,
# as all samples of the op suite did not end in time.
SANITIZED = ["attention on CUDA: a small problem for each kernel", "softmax on CUDA", "layer_norm on CUDA", "sum on CUDA",
             "embedding on CUDA", "cross_entropy on CUDA"]
TOOLS = ["memcheck", "racecheck", "synccheck", "initcheck"]
# Every switch of docs/cuda.md. Each timing with it stands beside one without it, taken just before.
SWITCHES = [  # name, workloads, dtypes, variables
    ("our attention", ["gpt2-124m", "nanogpt", "eff-d64", "narrow-d16"], ["bf16"], {"HEADROOM_CUDNN": "off"}),
    ("bias gradients by cuBLASLt", ["ntp-h4", "gpt2-124m"], ["bf16"], {"HEADROOM_EPILOGUES": "on"}),
    ("bias apart", ["gpt2-124m", "ngram", "eff-d64"], ["bf16"],
     {"HEADROOM_EPILOGUES": "off", "HEADROOM_CUDA_REFUSES": "epilogues"}),
    ("q, k and v apart", ["eff-d4", "ntp-h4"], ["bf16"], {"HEADROOM_JOINT_QKV": "off"}),
    ("hidden values without padding", ["gpt-wikitext"], ["bf16"], {"HEADROOM_PADDED_FFN": "off"}),
    ("dq apart", ["ngram", "ntp-h32", "mlm-h8", "eff-d16", "narrow-d4"], ["bf16"], {"HEADROOM_JOINT_DQ": "off"}),
    ("dropout apart", ["mlm-h8", "nanogpt"], ["bf16", "f32"], {"HEADROOM_JOINED_DROPOUT": "off"}),
    ("gradients apart", ["ntp-h4", "induction", "instruction-12l", "gpt2-124m"], ["bf16"], {"HEADROOM_JOINED_GRADIENTS": "off"}),
    ("one stream", ["nanogpt-cpu", "ntp-h4", "eff-d16", "gpt2-124m"], ["bf16", "f32"], {"HEADROOM_SIDE_STREAM": "off"}),
]
# Equal trials at once, for what small models leave idle.
COPIED, COPIES = ["nanogpt-cpu", "ntp-h4", "induction"], [1, 4, 16]
PROFILED = [("gpt2-124m", "bf16"), ("ntp-h32", "bf16"), ("mlm-h8", "bf16"), ("induction", "bf16"), ("narrow-d4", "bf16"), ("eff-d64", "f32")]
# On the emulator: one op each of elements, rows and products, and a file of tests that takes seconds.
EMULATED_OPS = ["gelu", "sum", "linear"]
EMULATED_TESTS = ["storage_test", "scatter_test"]


class Shot:
    def __init__(self, run, seconds, emulated, scratch):
        self.run, self.seconds, self.emulated, self.scratch = run, seconds, emulated, scratch
        self.program, self.suite = run.program("headroom"), run.program("gpu-test")
        self.files = [HERE / "tiny.toml"] if emulated else workloads.FILES
        self.file_of = {name: path for path in self.files for name in workloads.read(path)}
        self.peers, self.go = None, scratch / "go"

    def missing(self, name, *paths):
        """Whether one of these is not there; then the step is skipped, with why."""
        if all(paths):
            return False
        self.run.note(name, "skipped", 0, why="the program was not built")
        return True

    def doctor(self, limit):
        run = self.run
        if self.missing("doctor", self.program):
            return
        system = run.root / "lib/system"
        if system.is_dir() and run.call([self.program, "--version"], limit / 2, "version")[0] != 0:
            # This machine's C library is older than the bundle's.
            folders = ":".join([str(system), str(run.root / "lib"), os.environ.get("LD_LIBRARY_PATH", "")])
            run.before = [str(next(system.glob("ld-linux*"))), "--library-path", folders]
        query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm", "--format=csv,noheader"]
        gpu = run.call(query, limit / 2, "nvidia-smi")
        row, text = run.part("doctor", [self.program, "doctor"], limit / 2)
        folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
        found = {str(path.resolve()) for folder in folders if folder for path in pathlib.Path(folder).glob("libcudart.so*")}
        run.result["machine"].update(gpu=gpu[2].strip() if gpu[0] == 0 else "none", doctor=text[:6000], cudart=sorted(found))
        run.note(**row)

    def ceilings(self, limit):
        if self.missing("ceilings", self.suite):
            return
        row, text = self.run.part("ceilings", [self.suite, "ceilings"], limit,
                                  {"HEADROOM_CEILING_SIZE": "32"} if self.emulated else None)
        self.run.result["ceilings"] = [line for line in json_lines(text) if "ceiling" in line]
        self.run.note(**row)

    def kernels(self, limit):
        tool = shutil.which("ncu") or next(iter(map(str, pathlib.Path("/").glob("opt/nvidia/nsight-compute/*/ncu"))), None)
        if self.emulated or not tool:
            return self.run.note("kernels", "skipped", 0, why="the emulator has no counters" if self.emulated
                                 else "ncu (Nsight Compute) is not installed")
        begin, rows = time.monotonic(), []
        counts = predict.predict()
        for name, dtype in PROFILED:
            command = kernel_times.command(tool, counts[name]["kernels"][dtype])
            command += [*self.run.before, self.program, "bench", name, "--workloads", self.file_of[name], "--device",
                        "cuda", "--precision", dtype, "--eager", "--seconds", "0.001"]
            row, text = self.run.part(f"kernels {name} {dtype}", command, limit - (time.monotonic() - begin))
            found = kernel_times.read(text)
            if found:
                self.run.result.setdefault("kernels", {})[f"{name} {dtype}"] = found
                row["status"] = "passed"  # the program is ended once the counts are there
            elif row["status"] == "passed":
                row.update(status="failed", why="no counts", output=text[:4000])
            rows.append(row)
        self.run.note_parts("kernels", rows, time.monotonic() - begin)

    def start_peers(self):
        """The peer's steps are made ready on the processor's other cores while the checks keep the GPU busy."""
        command = [sys.executable, HERE / "peer.py", *self.files, "--seconds", self.seconds, "--wait", self.go]
        command += ["--device", "cpu", "--modes", "eager", "--dtypes", "f32"] if self.emulated else PEER
        with open(self.run.logs / "peer.txt", "wb") as log, open(self.run.logs / "peer-errors.txt", "wb") as errors:
            self.peers = subprocess.Popen([*map(str, command)], stdout=log, stderr=errors, start_new_session=True)

    def end(self):
        if self.peers and self.peers.poll() is None:
            end_all_of(self.peers)

    def ops(self, limit):
        if self.missing("ops", self.suite):
            return
        if importlib.util.find_spec("torch"):
            self.start_peers()
        begin = time.monotonic()
        listed = self.run.call([self.suite, "--list-test-names-only", "[suite]"], 15, "list of ops")[2]
        found = [line.strip() for line in listed.splitlines() if line.strip().endswith(" on CUDA")]
        if self.emulated:
            found = [f"{op} on CUDA" for op in EMULATED_OPS]
        # Those that take longest first.
        found.sort(key=lambda name: not name.startswith(("attention", "linear", "matmul", "quantized")))
        rows = self.run.parts({name: [self.suite, name] for name in found}, limit - (time.monotonic() - begin), AT_ONCE)
        self.run.note_parts("ops", rows, time.monotonic() - begin)

    def tests(self, limit):
        if self.missing("tests", self.suite):
            return
        begin = time.monotonic()
        names = EMULATED_TESTS if self.emulated else TESTS
        rows = self.run.parts({name: [self.suite, "-#", f"[#{name}]"] for name in names}, limit, AT_ONCE)
        self.run.note_parts("tests", rows, time.monotonic() - begin)

    def determinism(self, limit):
        if self.missing("determinism", self.program):
            return
        begin = time.monotonic()
        got = {}
        for name, jobs in (("once", 1), ("again", 1), ("side by side", 4)):
            out = self.scratch / name.replace(" ", "-")
            command = [self.program, "run", HERE / "determinism.toml", "--quiet", "--device", "cuda", "--jobs", jobs, "--out", out]
            command += ["--profile", "emulated"] if self.emulated else []
            row, _ = self.run.part(f"determinism {name}", command, limit - (time.monotonic() - begin))
            if row["status"] != "passed":
                return self.run.note(**row)
            got[name] = {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
                         for path in sorted(out.rglob("*.safetensors"))}
        differ = [f"{name}: {key}" for name in got for key in got["once"] if got[name].get(key) != got["once"][key]]
        if not got["once"]:
            differ = ["no weights were kept"]
        more = {"why": "; ".join(differ)} if differ else {}
        self.run.note("determinism", "failed" if differ else "passed", time.monotonic() - begin, trials=len(got["once"]), **more)

    def sanitizers(self, limit):
        tool = shutil.which("compute-sanitizer")
        if self.emulated or not tool or not self.suite:
            return self.run.note("sanitizers", "skipped", 0, why="the emulator is no GPU" if self.emulated
                                 else "compute-sanitizer is not installed" if not tool else "the program was not built")
        begin = time.monotonic()
        commands = {f"{name} {test.split()[0]}": [tool, "--tool", name, "--error-exitcode", "9", *self.run.before,
                                                  self.suite, test] for test in SANITIZED for name in TOOLS}
        self.run.note_parts("sanitizers", self.run.parts(commands, limit, AT_ONCE), time.monotonic() - begin)

    def peer(self, limit):
        if not importlib.util.find_spec("torch"):
            return self.run.note("peer", "skipped", 0, why="PyTorch is not installed")
        begin = time.monotonic()
        if not self.peers:
            self.start_peers()
        self.go.touch()
        try:
            status = self.peers.wait(max(1, min(limit, self.run.left())))
        except subprocess.TimeoutExpired:
            self.end()
            status = 124
        text = (self.run.logs / "peer.txt").read_text(errors="replace")
        plan, *rows = json_lines(text) or [{"planned": 0}]  # in an order that has first what matters most
        self.run.result["workloads"] += [{**line, "who": "PyTorch"} for line in rows]
        missing = plan["planned"] - sum("error" not in line for line in rows)
        if status == 0 and plan["planned"] and not missing:
            return self.run.note("peer", "passed", time.monotonic() - begin)
        errors = (self.run.logs / "peer-errors.txt").read_text(errors="replace")
        why = f"{missing} of {plan['planned']} are missing" if missing else f"exit {status}"
        self.run.note("peer", "failed", time.monotonic() - begin, why=why, output=(text + errors)[-4000:])

    def bench(self, name, dtype, limit, log="", environment=None, more=()):
        """What `bench` says of a workload: a row, with `error` where it failed."""
        command = [self.program, "bench", name, "--workloads", self.file_of[name], "--device", "cuda", "--precision", dtype,
                   "--seconds", self.seconds, "--json", *more]
        status, _, text = self.run.call(command, limit, f"bench {name} {dtype} {log}".strip(), environment)
        rows = json_lines(text) if status == 0 else []
        row = rows[-1] if rows else {"workload": name, "error": (text.strip().splitlines() or [f"exit {status}"])[-1][:300]}
        return {**row, "dtype": dtype, "who": "headroom"}

    def switched(self, name, dtype, limit, switch, variables):
        """The row with the switch turned; `ms_unswitched`: the time without it, taken just before."""
        before = self.bench(name, dtype, limit / 2, f"before {switch}")
        row = self.bench(name, dtype, limit / 2, switch, variables)
        return {**row, "switch": switch, **({"ms_unswitched": before["ms_median"]} if "ms_median" in before else before)}

    def timed(self, name, limit, rows, wanted):
        """A step that adds what each function of `wanted` returns, given the seconds left, to `rows`."""
        if self.missing(name, self.program):
            return
        begin, done = time.monotonic(), 0
        for function in wanted:
            left = limit - (time.monotonic() - begin)
            if left < 2:
                break
            rows.append(function(min(left, 30)))
            done += "error" not in rows[-1]
            self.run.write()
        more = {} if done == len(wanted) else {"why": f"{len(wanted) - done} of {len(wanted)} are missing"}
        self.run.note(name, "failed" if more else "passed", time.monotonic() - begin, **more)

    def timings(self, limit):
        self.end()  # a peer that is not done: the timings want the machine for themselves
        wanted = [lambda left, name=name, dtype=dtype: self.bench(name, dtype, left)
                  for name in self.file_of for dtype in ("bf16", "f32")]
        wanted += [lambda left, name=name, dtype=dtype, pair=(switch, variables): self.switched(name, dtype, left, *pair)
                   for switch, names, dtypes, variables in SWITCHES
                   for name in (["tiny-ce"] if self.emulated else names) for dtype in dtypes]
        self.timed("timings", limit, self.run.result["workloads"], wanted)

    def copies(self, limit):
        names, counts = (["tiny-ce"], COPIES[:2]) if self.emulated else (COPIED, COPIES)
        wanted = [lambda left, name=name, count=count: self.bench(name, "bf16", left, f"{count} copies", None,
                                                                  ["--copies", count]) for name in names for count in counts]
        self.timed("copies", limit, self.run.result.setdefault("copies", []), wanted)

    def study(self, limit):
        if self.missing("study", self.program):
            return
        data = self.run.root if (self.run.root / "data/tinyshakespeare").exists() else os.environ.get("HEADROOM_DATA")
        if not data or not (pathlib.Path(data) / "data/tinyshakespeare").exists():
            return self.run.note("study", "skipped", 0, why="packed without the study's text")
        settings = ["sweep.seed=[101]", "series=[]", "claim=[]", "train.optimizer.lr=1e-3"]
        settings += ['sweep."model.heads"=[2]'] if self.emulated else []
        command = [self.program, "run", self.run.root / "experiments/ntp-shakespeare.toml", "--quiet", "--profile",
                   "smoke" if self.emulated else "quick", "--device", "cuda", "--out", self.scratch / "runs"]
        for setting in settings:
            command += ["--set", setting]
        self.run.note(**self.run.part("study", command, limit, {"HEADROOM_DATA": str(data)})[0])
