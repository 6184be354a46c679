#!/usr/bin/env python3
"""compare.py with commands whose numbers are known: ratios, their range, the mean, and a machine that is too busy."""

import json
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).with_name("compare.py")


def compare(folder, *arguments):
    file = pathlib.Path(folder, "result.json")
    file.unlink(missing_ok=True)
    done = subprocess.run([sys.executable, "-B", SCRIPT, *arguments, "--json", file], capture_output=True, text=True)
    return done, json.loads(file.read_text()) if file.exists() else None


def main():
    with tempfile.TemporaryDirectory() as folder:
        count = pathlib.Path(folder, "count")
        # The peer's time grows from run to run: 2, 4, 6.
        grows = f"""echo x >> {count}; echo '{{"ms_min": '$((2 * $(wc -l < {count})))'}}'"""
        done, result = compare(folder, "one", "--commands", """echo noise; echo '{"ms_min": 2, "name": "{name}"}'""",
                               grows, "--rounds", "3", "--busy", "1e9")
        assert done.returncode == 0, done.stderr
        row = result["rows"][0]
        assert (row["ours"], row["peer"], row["ratio"], row["least"], row["most"]) == (2, 4, 2, 1, 3), row
        assert "geometric mean of 1: 2.000" in done.stdout, done.stdout
        # Nothing is idle enough for a limit below 0.
        done, result = compare(folder, "one", "two", "--commands", *2 * ["""echo '{"ms_min": 1}'"""], "--busy", "-1")
        assert done.returncode == 1 and "the machine was too busy to tell" in done.stdout, done.stdout
        assert all(row["busy"] for row in result["rows"]) and result["geometric_mean"] is None, result
        for bad, message in (("exit 3", "exit status 3"), ("echo no", "no line of JSON"), ("echo '{}'", "no ms_min")):
            done, result = compare(folder, "one", "--commands", bad, bad)
            assert done.returncode == 1 and message in done.stderr and result is None, done.stderr
    print("1 passed, 0 failed, 0 skipped")


if __name__ == "__main__":
    main()
