#!/usr/bin/env python3
"""completions.py PROGRAM ROOT: types command lines with the Tab key into interactive bash, zsh and fish on a terminal of
their own, and looks at the arguments that the shell then runs `headroom` with. A shell that is not installed is skipped."""
import os
import pty
import select
import shutil
import signal
import sys
import tempfile
import time

program, root = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
# Typed, "\t" for the key; what headroom is then called with.
cases = [
    ("headroom tokeni\t", ["tokenize"]),
    ("headroom run ngram-tr\t --prof\t smo\t", ["run", "ngram-tradeoff", "--profile", "smoke"]),
    ("headroom run experiments/ngram-tr\t", ["run", "experiments/ngram-tradeoff.toml"]),
    ("headroom run ngram-tradeoff --set report.y.met\trelative\t", ["run", "ngram-tradeoff", "--set", "report.y.metric=relative_mse"]),
    ("headroom data fet\t tinysh\t", ["data", "fetch", "tinyshakespeare"]),
    ("headroom compress m.gguf --format compac\t", ["compress", "m.gguf", "--format", "compact"]),
]
limit = 60.0  # seconds until headroom must have been called


def shells(folder):
    script = {name: os.path.join(folder, name) for name in ("bash", "zsh", "fish")}
    for name, path in script.items():
        with open(path, "w") as out:
            if os.spawnlp(os.P_WAIT, "sh", "sh", "-c", f"'{program}' completion {name} >'{path}'") != 0:
                raise SystemExit(f"completions: headroom completion {name} failed")
    yield "bash", ["bash", "--norc", "--noprofile", "-i"], f"source {script['bash']}; bind 'set bell-style none'"
    yield "zsh", ["zsh", "-f", "-i"], f"autoload -Uz compinit; compinit -u -d {folder}/zcompdump; unsetopt beep; source {script['zsh']}"
    yield "fish", ["fish", "--no-config", "-i"], f"source {script['fish']}"


class Shell:
    def __init__(self, command, folder, environment):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)

    def read(self, seconds):
        end, text = time.monotonic() + seconds, b""
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.terminal], [], [], left)[0]:
                break
            try:
                got = os.read(self.terminal, 4096)
            except OSError:
                break
            text += got
            # fish asks the terminal what it is before it reads keys.
            if b"\x1b[c" in got or b"\x1b[0c" in got:
                self.type("\x1b[?6c")
            end = min(end, time.monotonic() + 0.4)  # quiet for so long: it waits for keys
        return text

    def type(self, text):
        os.write(self.terminal, text.encode())

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


def typed(shell, line, record):
    """Types `line`; the arguments that headroom was called with, or None and what the terminal showed."""
    first, *parts = line.split("\t")
    shell.type(first)
    shown = shell.read(0.5)
    for part in parts:
        shell.type("\t")
        shown += shell.read(3)
        shell.type(part)
        shown += shell.read(0.5)
    shell.type("\r")
    end = time.monotonic() + limit
    while time.monotonic() < end:
        shown += shell.read(0.3)
        if os.path.exists(record):
            with open(record) as lines:
                words = lines.read().split("\n")
            if words[-1] == "end":
                return words[:-1], shown
    return None, shown


passed = failed = skipped = 0
with tempfile.TemporaryDirectory() as folder:
    record = os.path.join(folder, "record")
    os.mkdir(os.path.join(folder, "bin"))
    stand_in = os.path.join(folder, "bin", "headroom")
    with open(stand_in, "w") as out:
        out.write(f'#!/bin/sh\n[ "$1" != completion ] || exec "{program}" "$@"\n'
                  f'printf "%s\\n" "$@" >"{record}.new"; printf end >>"{record}.new"; mv "{record}.new" "{record}"\n')
    os.chmod(stand_in, 0o755)
    os.symlink(os.path.join(root, "experiments"), os.path.join(folder, "experiments"))
    environment = {"PATH": os.path.join(folder, "bin") + ":" + os.environ["PATH"], "HOME": folder, "TERM": "xterm",
                   "PS1": "$ ", "LANG": "C.UTF-8", "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}
    for name, command, begin in shells(folder):
        if not shutil.which(name):
            print(f"skipped: {name} is not installed")
            skipped += len(cases)
            continue
        for line, wanted in cases:
            shell = Shell(command, folder, environment)
            shell.read(10)
            shell.type(begin + "\r")
            shell.read(10)
            got, shown = typed(shell, line, record)
            shell.end()
            if os.path.exists(record):
                os.remove(record)
            if got == wanted:
                passed += 1
            else:
                failed += 1
                print(f"FAILED: {name}: {line!r} called headroom with {got}, not {wanted}; the terminal showed {shown!r}")
if "HEADROOM_TALLY" in os.environ:
    with open(os.environ["HEADROOM_TALLY"], "a") as tally:
        tally.write(f"completions: {passed} passed, {failed} failed, {skipped} skipped\n")
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(failed > 0)
