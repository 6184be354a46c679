#!/usr/bin/env python3
"""nodes_test.py PROGRAM: the steps of nodes.toml have, when the emulator captures them, exactly the nodes that
step_kernels.py counts, and their models as many parameters; predict.py's times rest on that."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import predict
import workloads
from step_kernels import Step

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = sys.argv.pop(1)


def captured(name, way):
    """The names of the captured step's nodes, and what the program says of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "graphs"
        command = [PROGRAM, "bench", name, "--workloads", HERE / "nodes.toml", "--device", "cuda",
                   "--precision", way, "--seconds", "0.001", "--json"]
        environment = {**os.environ, "HEADROOM_CUDA_GRAPHS": str(path)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        graphs = path.read_text().strip().split("\n\n")
    if len(graphs) != 1:
        raise AssertionError(f"{len(graphs)} graphs")
    return graphs[0].splitlines(), json.loads(done.stdout)


class Nodes(unittest.TestCase):
    maxDiff = None

    def test_as_many_as_are_predicted(self):
        for name, c in workloads.read(HERE / "nodes.toml").items():
            for way in predict.WAYS:
                with self.subTest(name, way=way):
                    nodes, said = captured(name, way)
                    step = Step(c, way)
                    kernels = step.all()
                    self.assertEqual(said["params"], step.parameters)
                    products = sum(bool(kernel.product) for kernel in kernels)
                    counts = collections.Counter(nodes)
                    self.assertEqual(len(nodes), len(kernels), f"launched: {counts}")
                    self.assertEqual(counts["blas_matmul"], products)
                    attention = sum(bool(kernel.attention) for kernel in kernels)
                    launched = sum(n for kernel, n in counts.items() if kernel.startswith(("attention_", "sdpa_")))
                    self.assertEqual(launched - counts["attention_delta"], attention)


if __name__ == "__main__":
    unittest.main()
