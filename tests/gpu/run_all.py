#!/usr/bin/env python3
"""run_all.py [--out FILE.json] [--programs FOLDER] [--steps A,B] [--limit A=S] [--seconds S] [--emulated]: on a machine with a
GPU, all checks and all timings, once and unattended, within nine minutes; run-all.sh calls it. The result is one JSON,
written after every step, and one log for each command in FILE-logs; read.py says what it means.

  doctor              driver, cuBLASLt, cuDNN, how many CUDA runtimes there are
  ceilings            copies, products and small kernels at best; kernels of 4 KB to 50 MB in a graph
  kernels             Nsight Compute on eager steps: the time of each kernel
  ops                 a process for each op, so that one illegal address does not fail the others
  tests               a process for each file of tests: captured steps and tokens, rows, elements, models against PyTorch
  determinism         50 steps twice, and trials side by side or one after another: the same bits
  sanitizers          compute-sanitizer's four tools over what synchronises threads or reads what others wrote
  peer                the training steps in PyTorch, which were compiled meanwhile
  timings             the same steps in f32 and bf16; then each switch of docs/cuda.md, in pairs
  copies              1, 4 and 16 equal trials at once
  study               ntp-shakespeare, quick profile, one seed

--steps: only these. --limit: another limit for a step, in seconds. --programs: where headroom and gpu-test lie (default: bin/ of the bundle). --emulated: the same steps on a build with
-Dcuda=emulated, with tiny workloads and the peer on the CPU: it tests these scripts, and its times mean nothing."""
import argparse
import pathlib
import platform
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import steps  # noqa: E402
from runner import Run  # noqa: E402

ROOT = HERE.parents[1]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--out", default="measured.json")
    arguments.add_argument("--programs", default=str(ROOT / "bin"))
    arguments.add_argument("--steps", default=",".join(steps.LIMITS))
    arguments.add_argument("--limit", action="append", default=[], metavar="STEP=SECONDS")
    arguments.add_argument("--seconds", type=float, default=0.5, help="of timing for each workload, dtype and mode")
    arguments.add_argument("--emulated", action="store_true")
    given = arguments.parse_args()
    limits = {**steps.LIMITS, **{name: int(seconds) for name, seconds in (text.split("=") for text in given.limit)}}
    limits = {name: limits[name] for name in given.steps.split(",")}
    run = Run(ROOT, given.programs, given.out, sum(limits.values()))
    run.result.update(emulated=given.emulated)
    run.result["machine"].update(system=platform.platform(), processor=platform.machine())
    with tempfile.TemporaryDirectory(prefix="headroom-gpu-") as scratch:
        shot = steps.Shot(run, given.seconds, given.emulated, pathlib.Path(scratch))
        for name, limit in limits.items():
            try:
                getattr(shot, name)(limit)
            except Exception as error:  # a mistake of this script in one step must not cost the others
                run.note(name, "failed", 0, why=f"the script: {type(error).__name__}: {error}")
        shot.end()
    failed = [step["name"] for step in run.result["steps"] if step["status"] == "failed"]
    print(f"{given.out}: {len(run.result['steps'])} steps, failed: {', '.join(failed) or 'none'}; {run.result['seconds']} s")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
