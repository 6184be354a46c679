#!/usr/bin/env python3
"""one_shot_test.py BUILD: a bundle of an emulated build, unpacked in a folder without the tree: every step of run-all.sh
--emulated runs or says why not, a program that dies is one failure among what passed, and read.py says all of it."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from steps import LIMITS

HERE = pathlib.Path(__file__).resolve().parent
BUILD = sys.argv.pop(1)
DATA = os.environ.get("HEADROOM_DATA", "")
HAS_TEXT = (pathlib.Path(DATA) / "data/tinyshakespeare").is_dir()
# What the emulator cannot do, and what this machine may lack.
MAY_SKIP = {"kernels", "sanitizers", "peer"} | (set() if HAS_TEXT else {"study"})


class OneShot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="headroom-one-shot-")
        cls.bundle = pathlib.Path(cls.folder.name) / "bundle"
        environment = {**os.environ, "HEADROOM_BUILD": BUILD, "HEADROOM_DATA": DATA if HAS_TEXT else "none",
                       "HEADROOM_PACKING": "-0"}
        subprocess.run(["sh", HERE / "bundle.sh", cls.bundle], check=True, env=environment)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_all(self):
        """(exit status, result, what read.py prints)."""
        out = pathlib.Path(self.folder.name) / "out/measured.json"
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HEADROOM_")}
        command = [self.bundle / "run-all.sh", "--emulated", "--seconds", "0.001", "--out", out]
        status = subprocess.run(command, cwd="/", env=environment, check=False).returncode
        said = subprocess.run([sys.executable, "-B", self.bundle / "tests/gpu/read.py", out], capture_output=True, text=True,
                              check=True).stdout
        return status, json.loads(out.read_text()), said

    def test_1_every_step_runs_or_says_why_not(self):
        status, result, said = self.run_all()
        self.assertEqual(status, 0, said)
        self.assertEqual([step["name"] for step in result["steps"]], list(LIMITS))
        for step in result["steps"]:
            if step["name"] in MAY_SKIP and step["status"] == "skipped":
                self.assertIn(f"- {step['name']}: {step['why']}", said)
            else:
                self.assertEqual(step["status"], "passed", step)
        parts = {part["name"]: part["status"] for step in result["steps"] for part in step.get("parts", [])}
        self.assertEqual(set(parts.values()), {"passed"})
        self.assertIn("gelu on CUDA", parts)
        self.assertEqual(next(step for step in result["steps"] if step["name"] == "determinism")["trials"], 4)
        rows = [row for row in result["workloads"] if row["who"] == "headroom"]
        self.assertEqual([row.get("error") for row in rows], [None] * len(rows))
        self.assertEqual({row.get("switch") for row in rows}, {None, "our attention", "bias gradients by cuBLASLt", "bias apart"})
        self.assertEqual({row["ceiling"] for row in result["ceilings"]},
                         {"copy", "a + b", "product bf16", "product f32", "small kernel in a graph",
                          *(f"kernel of {size} KB, {dtype}" for size in (4, 16) for dtype in ("bf16", "f32"))})
        self.assertEqual([row["copies"] for row in result["copies"]], [1, 4])
        self.assertIn("Nothing failed.", said)
        self.assertIn("| tiny-ce |", said)

    def test_2_without_its_programs_it_ends_and_says_so(self):
        shutil.rmtree(self.bundle / "bin")
        (self.bundle / "bin").mkdir()
        (self.bundle / "bin/complete").touch()
        (self.bundle / "bin/gpu-test").write_text("#!/bin/sh\necho an illegal address; exit 6\n")
        (self.bundle / "bin/gpu-test").chmod(0o755)
        status, result, said = self.run_all()
        self.assertEqual(status, 1)
        self.assertEqual([step["name"] for step in result["steps"]], list(LIMITS))
        self.assertIn("- **ops: gelu on CUDA**: exit 6\n      an illegal address", said)
        self.assertIn("- doctor: the program was not built", said)


if __name__ == "__main__":
    unittest.main()
