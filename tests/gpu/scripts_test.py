#!/usr/bin/env python3
"""The scripts in this folder: what kernels.py reads from ptxas and refuses, that docs/performance.md is what tables.py writes,
how run_all.py's steps end, and what read.py makes of them."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import kernel_times
import kernels
import predict
import read
import steps
import workloads
from runner import Run
from step_kernels import Kernel, Step

HERE = pathlib.Path(__file__).resolve().parent
USAGE = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN8headroom6engine4cuda5slopeIfEEvPT_' for 'sm_90a'
ptxas info    : Function properties for _ZN8headroom6engine4cuda5slopeIfEEvPT_
    {stack} bytes stack frame, {spills} bytes spill stores, 4 bytes spill loads
ptxas info    : Used 72 registers, used 1 barriers, 2048 bytes smem, 392 bytes cmem[0]
ptxas info    : Compiling entry function '_ZN8headroom6engine4cuda5slopeIdEEvPT_' for 'sm_80'
ptxas info    : Function properties for _ZN8headroom6engine4cuda5slopeIdEEvPT_
    64 bytes stack frame, 16 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers, 392 bytes cmem[0]
"""


class Kernels(unittest.TestCase):
    def run_on(self, text):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "x.usage").write_text(text)
            return subprocess.run([sys.executable, "-B", str(HERE / "kernels.py"), folder], capture_output=True, text=True)

    def test_reads_what_ptxas_says(self):
        first, second = kernels.parse(USAGE.format(stack=8, spills=4))
        self.assertEqual((first["architecture"], first["registers"], first["spills"], first["shared"]), (90, 72, 8, 2048))
        self.assertEqual((second["architecture"], second["registers"], second["stack"]), (80, 255, 64))
        self.assertEqual(kernels.demangled([first["name"]]), ["slope<float>"])

    def test_a_kernel_that_spills_is_refused_but_not_one_of_f64(self):
        done = self.run_on(USAGE.format(stack=8, spills=4))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "sm_90: slope<float> spills 8 bytes\n")
        done = self.run_on(USAGE.format(stack=0, spills=0).replace("4 bytes spill loads", "0 bytes spill loads"))
        self.assertEqual((done.returncode, done.stdout), (0, "2 kernels on 2 architectures, 0 spill\n"))

    def test_a_folder_without_kernels_is_refused(self):
        self.assertEqual(self.run_on("").returncode, 1)

    def test_occupancy_as_the_programming_guide_counts_it(self):
        self.assertEqual(kernels.occupancy(80, 32, 256, 0), 1)
        self.assertEqual(kernels.occupancy(80, 64, 256, 0), 0.5)
        self.assertEqual(kernels.occupancy(90, 33, 1024, 0), 0.5)  # 40 registers in whole units: one block of two
        self.assertEqual(kernels.occupancy(80, 16, 64, 48 << 10), 6 / 64)  # three blocks of 49 KiB in 164
        self.assertEqual(kernels.occupancy(120, 32, 512, 0), 1)


class Predictions(unittest.TestCase):
    def test_more_work_takes_longer_and_a_faster_card_less(self):
        rows = predict.predict()
        self.assertEqual(len(rows), 18)
        for row in rows.values():
            times = row["milliseconds"]
            self.assertLessEqual(times["H200"]["bf16"], times["H100 SXM"]["bf16"])
            self.assertLess(times["H100 SXM"]["f32"], times["A100 80GB"]["f32"])
            self.assertLess(times["H200"]["bf16"], times["H200"]["f32"])
        self.assertLess(rows["eff-d64"]["milliseconds"]["H200"]["f32"], rows["eff-d128"]["milliseconds"]["H200"]["f32"])

    def test_kernels_aside_cost_what_the_main_stream_does_not_hide(self):
        one = Kernel("little work", 4096)
        aside, end = one._replace(aside=True), one._replace(joins=True)
        full = Kernel("all of the card", 1e9)
        seconds = predict.kernel_seconds("H200", "bf16", full)

        def of(*kernels):
            return predict.step_seconds("H200", "bf16", kernels) / predict.LAUNCH

        self.assertAlmostEqual(of(one, aside, one, end), 3)
        self.assertAlmostEqual(of(one, aside, aside, one, end), 4)
        self.assertAlmostEqual(of(one, one, aside, end), 4)
        self.assertAlmostEqual(of(full, full._replace(aside=True), full, end), 3 * seconds / predict.LAUNCH + 1)

    def test_parameters_are_those_of_the_model(self):
        # 4 layers of 128 with a tied vocabulary of 65 at 64 places: as PyTorch counts them in peer.py.
        self.assertAlmostEqual(predict.predict()["nanogpt-cpu"]["parameters"], 809856, delta=300)

    def test_the_page_is_what_the_script_writes(self):
        done = subprocess.run([sys.executable, "-B", str(HERE / "tables.py"), "--check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_costs_more(self):
        ms = {name: row["milliseconds"]["H100 SXM"]["bf16"] for name, row in predict.predict().items()}
        self.assertAlmostEqual(ms["gpt2-124m"], ms["gpt2-124m-50304"], delta=0.1)  # 50,257 logits lie in padded rows
        # Without gaps their three products, of 0.95 TFLOP each and with aligned rows at 643 TFLOP/s, took three times as long.
        of_logits = [k for k in Step(workloads.read()["gpt2-124m"], "bf16").all() if 50257 in k.product]
        self.assertTrue(len(of_logits) == 3 and all(k.aligned for k in of_logits))
        took = sum(predict.kernel_seconds("H100 SXM", "bf16", k._replace(aligned=False)) -
                   predict.kernel_seconds("H100 SXM", "bf16", k) for k in of_logits)
        self.assertAlmostEqual(1000 * took, 6, delta=1)
        self.assertGreater(ms["narrow-d4"], ms["narrow-d16"])  # four times the exponentials
        c = workloads.read()
        self.assertAlmostEqual(predict.gain_of_seeds(c["nanogpt-cpu"], "H200", "bf16", 1), 1)
        self.assertGreater(predict.gain_of_seeds(c["nanogpt-cpu"], "H200", "bf16", 8), 4)  # bound by launches
        self.assertLess(predict.gain_of_seeds(c["gpt2-124m"], "H200", "bf16", 8), 1.3)


class Steps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name) / "out.json"
        self.run_ = Run(HERE, HERE, self.out, 60)

    def test_limits_fit_into_nine_minutes(self):
        self.assertLessEqual(sum(steps.LIMITS.values()), 540)
        for name in steps.LIMITS:
            self.assertTrue(callable(getattr(steps.Shot, name)))

    def test_a_command_over_its_limit_ends_with_its_children(self):
        begin = time.monotonic()
        row, _ = self.run_.part("slow", ["sh", "-c", "echo begun; sleep 50 & sleep 50"], 1)
        self.assertEqual((row["status"], row["why"], row["output"]), ("failed", "longer than its limit", "begun\n"))
        self.assertLess(time.monotonic() - begin, 10)

    def test_commands_side_by_side_fail_alone_and_are_written_at_once(self):
        rows = self.run_.parts({"good": ["true"], "bad": ["sh", "-c", "seq 100; exit 6"], "absent": ["/no/such"],
                                "misnamed": ["echo", "No test cases matched 'x'"],
                                "none": ["sh", "-c", "echo skipped: no CUDA device; exit 77"]}, 20, 4)
        self.run_.note_parts("all", rows, 1)
        step = json.loads(self.out.read_text())["steps"][0]
        self.assertEqual((step["status"], step["why"]), ("failed", "3 of 5"))
        good, bad, absent, misnamed, none = step["parts"]
        self.assertEqual((good["status"], bad["why"], absent["why"], misnamed["status"]),
                         ("passed", "exit 6", "exit 127", "failed"))
        self.assertEqual((none["status"], none["why"]), ("skipped", "no CUDA device"))
        self.assertIn("\n40\n... 40 lines ...\n81\n", bad["output"])
        self.assertTrue((self.run_.logs / "bad.txt").read_text().startswith("1\n2\n"))

    def test_what_nsight_compute_prints(self):
        head = f'"ID","Process ID","Kernel Name","{kernel_times.TIME}"'
        rows = kernel_times.read("\n".join([
            "==PROF== Connected to process 7", head, '"","","","ns"',
            '"0","7","void headroom::engine::cuda::<unnamed>::matrix_forward<64, 1>(Arguments<float>, int)","3,000"',
            '"1","7","void headroom::engine::cuda::<unnamed>::matrix_forward<64, 1>(Arguments<float>, int)","1000"',
            '"2","7","adam_kernel(float*)","5000"']))
        self.assertEqual(rows, [{"kernel": "adam_kernel", "calls": 1, "us": 5.0}, {"kernel": "matrix_forward", "calls": 2, "us": 4.0}])
        self.assertEqual(kernel_times.read("==ERROR== ERR_NVGPUCTRPERM"), [])

    def test_steps_on_a_card_with_tools_that_are_made_up(self):
        folder = self.out.parent
        header = f'"ID","Kernel Name","{kernel_times.TIME}"'
        copies = 'copies=1; [ "${12}" != --copies ] || copies=${13}'
        tools = {"headroom": f'{copies}; [ -z "$HEADROOM_CUDNN" ] && ms=2 || ms=3; '
                             'echo "{\\"workload\\": \\"$2\\", \\"ms_median\\": $ms, \\"copies\\": $copies, \\"steps_per_s\\": 500}"',
                 "gpu-test": 'case $1 in --list*) printf "  sum on CUDA\\n  gelu on CUDA\\n" ;; *sum*) echo Xid 31; exit 134 ;; esac',
                 "ncu": f"case $* in *'--cache-control none'*) echo '{header}'; echo '\"0\",\"adam()\",\"1000\"' ;; esac; exit 143",
                 "compute-sanitizer": '[ "$2" != racecheck ] || { echo "race at $6"; exit 9; }'}
        for name, body in tools.items():
            (folder / name).write_text(f"#!/bin/sh\n{body}\n")
            (folder / name).chmod(0o755)
        run = Run(folder, folder, self.out, 60)
        shot = steps.Shot(run, 0.1, False, folder)
        self.addCleanup(shot.end)
        with unittest.mock.patch.dict("os.environ", {"PATH": f"{folder}:/usr/bin:/bin"}):
            for name in ("ops", "timings", "copies", "kernels", "sanitizers"):
                getattr(shot, name)(20)
        result = json.loads(self.out.read_text())
        ops, timings, copies, counted, sanitizers = result["steps"]
        self.assertEqual([(p["name"], p["status"]) for p in ops["parts"]], [("sum on CUDA", "failed"), ("gelu on CUDA", "passed")])
        self.assertEqual(timings["status"], "passed")
        self.assertEqual(copies["status"], "passed")
        self.assertEqual([row["copies"] for row in result["copies"]], steps.COPIES * len(steps.COPIED))
        self.assertIn("| nanogpt-cpu | 16 | 500 | 31 | 1.00 |", read.report(result))
        self.assertIn("| gpt2-124m | bf16 | our attention | 2.000 | 3.000 | 1.50 |", read.report(result))
        self.assertEqual(len([row for row in result["workloads"] if "switch" not in row]), 2 * len(workloads.read()))
        self.assertEqual(counted["status"], "passed")
        self.assertEqual(result["kernels"]["gpt2-124m bf16"][0]["kernel"], "adam")
        self.assertEqual(sanitizers["why"], f"{len(steps.SANITIZED)} of {4 * len(steps.SANITIZED)}")
        self.assertIn("- **sanitizers: racecheck sum**: exit 9\n      race at sum on CUDA", read.report(result))
        self.assertIn("- **sanitizers: racecheck attention**: exit 9\n      race at attention on CUDA: a small problem", read.report(result))

    def test_every_switch_of_the_page_is_measured(self):
        page = set(re.findall(r"HEADROOM_[A-Z_]+(?==off|=on)", (HERE.parents[1] / "docs/cuda.md").read_text()))
        self.assertTrue(page)
        self.assertLessEqual(page, {variable for _, _, _, variables in steps.SWITCHES for variable in variables})

    def test_what_is_read_of_a_run_that_was_cut_off(self):
        def row(name, ms, **more):
            return {"workload": name, "dtype": "bf16", "ms_median": ms, **more}

        speeds = [{"ceiling": "copy", "value": 2900, "unit": "GB/s"},
                  {"ceiling": "kernel of 50000 KB, f32", "value": 40, "unit": "us", "bytes": 50e6}]
        twelve = [one for name in read.TWELVE for one in (row(name, 1, who="headroom"), row(name, 2, who="PyTorch", mode="graphs"))]
        result = {"machine": {"gpu": "NVIDIA H100 80GB HBM3, 580"}, "ceilings": speeds, "steps": [
            {"name": "doctor", "status": "passed", "seconds": 1},
            {"name": "ops", "status": "failed", "seconds": 1, "why": "1 of 2", "parts": [
                {"name": "gelu on CUDA", "status": "passed"},
                {"name": "sum on CUDA", "status": "failed", "why": "exit 1",
                 "output": "~~~~\ngpu-test is a Catch v2.13 host application.\n\nCHECK( 1 == 2 )\n"}]}],
            "workloads": [*twelve, row("gpt2-124m", 20, who="headroom"), row("gpt2-124m", 25, who="headroom", switch="bias apart", ms_unswitched=20),
                          row("ngram", 3, who="PyTorch", mode="pure"),
                          row("narrow-d4", 1, who="headroom"), row("narrow-d4", 3.5, who="PyTorch", mode="graphs"),
                          {"workload": "ngram", "dtype": "f32", "who": "PyTorch", "mode": "graphs", "error": "out of memory"}]}
        failed = {name: (why, said) for name, why, said in read.failures(result)}
        self.assertEqual(failed.pop("ops: sum on CUDA"), ("exit 1", ["CHECK( 1 == 2 )"]))
        self.assertEqual(failed.pop("PyTorch ngram f32 graphs"), ("out of memory", []))
        self.assertEqual(set(failed), set(steps.LIMITS) - {"doctor", "ops"})
        self.assertEqual(len(read.TWELVE), 12)
        text = read.report(result)
        self.assertIn("the twelve, bf16: at least 1.3 times PyTorch with one CUDA graph, geometric mean: 2.00 of 12", text)
        self.assertIn("narrow-d4, bf16: at least 3 times PyTorch with one CUDA graph: 3.50", text)
        self.assertIn("409600 tokens/s", text)
        self.assertIn("the twelve, bf16: beside PyTorch in pure bf16 with one CUDA graph, geometric mean: 3.00 of 1", text)
        self.assertIn("| copy | 2900 | 2848 | GB/s |", text)
        self.assertIn("| kernel of 50000 KB, f32 | 40 | 17.56 | us |", text)
        self.assertIn("| gpt2-124m | bf16 | bias apart | 20.000 | 25.000 | 1.25 |", text)
        self.assertIn("| gpt2-124m |  |  | 20.000 |  |", text)  # of a program before the side stream
        guess = predict.predict()["gpt2-124m"]["milliseconds"]["H100 SXM"]["bf16"]
        self.assertIn(f"| gpt2-124m |  |  |  | 20.000 |  | {20 / guess:.2f} |", read.report({**result, "side_stream": True}))


if __name__ == "__main__":
    unittest.main()
