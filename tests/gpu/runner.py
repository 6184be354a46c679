"""Steps of run_all.py: each with a limit of its own, a log of its own for each command, and the whole result written as
JSON after it, so that whatever ends the run early leaves what was found."""
import json
import os
import pathlib
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

HEAD, TAIL = 40, 20  # lines of a log that the JSON keeps


def ends_of(text):
    lines = text.splitlines()
    if len(lines) <= HEAD + TAIL:
        return text
    return "\n".join([*lines[:HEAD], f"... {len(lines) - HEAD - TAIL} lines ...", *lines[-TAIL:]])


class Run:
    """`programs`: a build folder, or bin/ of a bundle. `limit`: seconds of everything."""

    def __init__(self, root, programs, out, limit):
        self.root, self.programs = root, pathlib.Path(programs).resolve()
        self.out = pathlib.Path(out).resolve()
        self.logs = self.out.parent / (self.out.stem + "-logs")
        self.logs.mkdir(parents=True, exist_ok=True)
        self.started, self.limit = time.monotonic(), limit
        self.before = []  # what starts the programs where this machine's C library is too old for them
        self.result = {"machine": {}, "side_stream": True, "steps": [], "workloads": []}

    def left(self):
        return self.limit - (time.monotonic() - self.started)

    def program(self, name):
        """In a bundle all lie side by side; in a build folder each in its own. None: it is not there."""
        for path in (self.programs / name, self.programs / "tests" / name, self.programs / "experiments" / name):
            if path.exists():
                return str(path)
        return None

    def call(self, command, limit, log, environment=None):
        """(exit status, seconds, output), which is in LOG too; 124 where it was ended at the limit, with its children."""
        begin = time.monotonic()
        command = [str(word) for word in command]
        if command[0].startswith(str(self.programs)):
            command = self.before + command
        path = self.logs / (log.replace(" ", "-").replace("/", "-") + ".txt")
        with open(path, "wb") as file:
            try:
                process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, cwd=self.root, start_new_session=True,
                                           env={**os.environ, **(environment or {})})
                status = process.wait(max(1, min(limit, self.left())))
            except subprocess.TimeoutExpired:
                end_all_of(process)
                status = 124
            except OSError as error:
                file.write(f"{error}\n".encode())
                status = 127
        return status, time.monotonic() - begin, path.read_text(errors="replace")

    def part(self, name, command, limit, environment=None):
        """One command as a row: passed, failed or skipped (a test program says so with 77), and why."""
        status, seconds, text = self.call(command, limit, name, environment)
        if status == 0 and "No test cases matched" in text:  # which Catch2 2.13 takes for success
            status = 2
        row = {"name": name, "status": {0: "passed", 77: "skipped"}.get(status, "failed"), "seconds": round(seconds, 1)}
        if status not in (0, 77):
            row["why"] = "longer than its limit" if status == 124 else f"exit {status}"
            row["output"] = ends_of(text)
        elif status == 77:
            row["why"] = next((line for line in text.splitlines() if line.startswith("skipped: ")), "skipped")[9:]
        return row, text

    def parts(self, commands, limit, at_once, environment=None):
        """Rows of {name: command}, at most so many at once, which share `limit` seconds."""
        end = time.monotonic() + limit

        def one(item):
            left = end - time.monotonic()
            if left < 1:
                return {"name": item[0], "status": "skipped", "seconds": 0, "why": "no time was left for it"}
            return self.part(item[0], item[1], left, environment)[0]

        with ThreadPoolExecutor(at_once) as pool:
            return list(pool.map(one, commands.items()))

    def note(self, name, status, seconds, **more):
        """Adds a step to the result and writes it."""
        step = {"name": name, "status": status, "seconds": round(seconds, 1), **more}
        self.result["steps"].append(step)
        print(f"{status:8} {seconds:6.1f} s  {name}" + (f": {step['why']}" if "why" in step else ""), flush=True)
        self.write()

    def note_parts(self, name, rows, seconds):
        failed = sum(row["status"] == "failed" for row in rows)
        skipped = sum(row["status"] == "skipped" for row in rows)
        status = "failed" if failed else "skipped" if rows and skipped == len(rows) else "passed"
        why = {"why": rows[0]["why"]} if status == "skipped" else {}
        why = {"why": f"{failed} of {len(rows)}"} if failed else why
        self.note(name, status, seconds, parts=rows, **why)

    def write(self):
        self.result["seconds"] = round(time.monotonic() - self.started, 1)
        new = self.out.with_suffix(".part")
        new.write_text(json.dumps(self.result, indent=1) + "\n")
        new.replace(self.out)


def end_all_of(process):
    """Ends a process that was started in a session of its own, and what it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(3)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            pass
        return


def json_lines(text):
    """The lines that are JSON objects."""
    rows = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                rows.append(json.loads(line))
            except ValueError:
                pass  # a line that was cut off
    return rows
