#!/usr/bin/env python3
"""The scripts in this folder: what kernels.py reads from ptxas and refuses, and that docs/performance.md is what tables.py
writes."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import kernels
import predict

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

    def test_parameters_are_those_of_the_model(self):
        # 4 layers of 128 with a tied vocabulary of 65 at 64 places: as PyTorch counts them in peer.py.
        self.assertAlmostEqual(predict.predict()["nanogpt-cpu"]["parameters"], 809856, delta=300)

    def test_the_page_is_what_the_script_writes(self):
        done = subprocess.run([sys.executable, "-B", str(HERE / "tables.py"), "--check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
