#!/usr/bin/env python3
"""targets.py BUILD ARGUMENTS…: what `meson test` is to be given, quoted for a shell, and then ninja's targets behind the tests
that it runs, one a line. The name of a program that several tests run (op-suite: op-suite-avx2, …) stands for them. Exit status
1, and a message, if nothing runs."""
import json
import os
import shlex
import subprocess
import sys

build, arguments = sys.argv[1], sys.argv[2:]


def tests_of(given):
    """The names of the tests that these arguments select, and what Meson says beside them."""
    listed = subprocess.run(["meson", "test", "-C", build, "--list", *given], capture_output=True, text=True, check=False)
    return {line.rsplit(" / ", 1)[-1] for line in listed.stdout.splitlines() if " / " in line}, listed.stderr.strip()


names, said = tests_of(arguments)
if not names:
    programs = tuple(each + "-" for each in arguments if not each.startswith("-"))
    names = {name for name in tests_of([])[0] if programs and name.startswith(programs)}
    arguments = [each for each in arguments if each.startswith("-")] + sorted(names)
if not names:
    print(said or f"no test matches {' '.join(sys.argv[2:])}: ./headroom test --list shows the names", file=sys.stderr)
    sys.exit(1)


def introspected(kind):
    """What Meson says of the build's tests or targets."""
    with open(os.path.join(build, "meson-info", f"intro-{kind}.json"), encoding="utf-8") as file:
        return json.load(file)


files = {target["id"]: target["filename"] for target in introspected("targets")}
wanted = {name for test in introspected("tests") if test["name"] in names for id in test["depends"] for name in files[id]}
print(shlex.join(arguments))
print("\n".join(sorted(os.path.relpath(name, os.path.abspath(build)) for name in wanted)))
