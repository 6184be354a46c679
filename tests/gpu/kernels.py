#!/usr/bin/env python3
"""kernels.py FOLDER… [--table]: what ptxas said of each kernel while the folders were built (engine/cuda/compile.sh
leaves it in *.usage): registers, spills, shared memory, and the occupancy that these allow, per architecture.

Exits with 1 when a kernel spills registers to memory, unless spills.txt in this folder gives the reason: a line
`PATTERN  reason` for each, PATTERN a part of the kernel's name. f64 is there for truth, not for speed: it may spill."""
import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
# Per multiprocessor: warps, blocks, bytes of shared memory (CUDA C++ Programming Guide, "Compute Capabilities").
LIMITS = {80: (64, 32, 164 << 10), 86: (48, 16, 100 << 10), 89: (48, 24, 100 << 10), 90: (64, 32, 228 << 10),
          100: (64, 32, 228 << 10), 120: (48, 24, 100 << 10)}
REGISTERS = 65536


def occupancy(architecture, registers, threads, shared):
    """Warps that a multiprocessor can hold, as a part of those that it has room for."""
    most_warps, most_blocks, most_shared = LIMITS[architecture]
    warps = -(-threads // 32)
    per_warp = -(-max(registers, 1) * 32 // 256) * 256
    blocks = min(most_blocks, most_warps // warps, REGISTERS // (per_warp * warps))
    if shared:
        blocks = min(blocks, most_shared // (-(-shared // 128) * 128 + 1024))
    return blocks * warps / most_warps


def parse(text):
    """[{name, architecture, registers, spills, stack, shared}] of one file of ptxas."""
    out = []
    for line in text.splitlines():
        if match := re.search(r"Compiling entry function '(\S+)' for 'sm_(\d+)", line):
            out.append({"name": match[1], "architecture": int(match[2]), "registers": 0, "spills": 0, "stack": 0,
                        "shared": 0})
        elif out and (match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill", line)):
            out[-1]["stack"] = max(out[-1]["stack"], int(match[1]))
            out[-1]["spills"] = max(out[-1]["spills"], int(match[2]) + int(match[3]))
        elif out and (match := re.search(r"Used (\d+) registers", line)):
            out[-1]["registers"] = int(match[1])
            if match := re.search(r"(\d+) bytes smem", line):
                out[-1]["shared"] = int(match[1])
    return out


def demangled(names):
    """C++ names without namespaces and parameters."""
    text = subprocess.run(["c++filt"], input="\n".join(names), text=True, capture_output=True, check=True).stdout
    out = []
    for line in text.splitlines():
        line = re.sub(r"headroom::engine::(cuda::)?|\(anonymous namespace\)::|^void ", "", line)
        depth, end = 0, len(line)
        for i, c in enumerate(line):
            depth += (c == "<") - (c == ">")
            if c == "(" and depth == 0:
                end = i
                break
        out.append(line[:end].replace(" >", ">"))
    return out


def lines_of(name):
    path = HERE / name
    text = path.read_text().splitlines() if path.exists() else []
    return [line.split(None, 1) for line in text if line.strip() and not line.startswith("#")]


def first_match(rules, name, otherwise):
    return next((value for pattern, value in rules if pattern in name), otherwise)


def read(folders):
    kernels = [kernel for folder in folders for path in sorted(pathlib.Path(folder).rglob("*.usage"))
               for kernel in parse(path.read_text())]
    for kernel, name in zip(kernels, demangled([kernel["name"] for kernel in kernels])):
        kernel["name"] = name
    threads = lines_of("threads.txt")
    for kernel in kernels:
        kernel["threads"] = int(first_match(threads, kernel["name"], "256"))
        kernel["occupancy"] = occupancy(kernel["architecture"], kernel["registers"], kernel["threads"], kernel["shared"])
    return kernels


def table(kernels):
    """A row per kernel's name, its instances together: registers and occupancy over its instances, and what they spill."""
    architectures = sorted({kernel["architecture"] for kernel in kernels})
    families = {}
    for kernel in kernels:
        inner = re.match(r"each_element<(\w+)", kernel["name"])
        family = inner[1] if inner else re.match(r"\w+", kernel["name"])[0]
        families.setdefault(family, {}).setdefault(kernel["architecture"], []).append(kernel)
    out = ["| kernel | instances | " + " | ".join(f"{a // 10}.{a % 10}" for a in architectures) + " | spills |",
           "|---|---|" + "---|" * len(architectures) + "---|"]
    for family, by in sorted(families.items()):
        cells = []
        for a in architectures:
            of = by.get(a, [])
            registers, parts = [k["registers"] for k in of], [k["occupancy"] for k in of]
            cells.append(f"{min(registers)}–{max(registers)}, {min(parts):.0%}–{max(parts):.0%}" if of else "")
        count = max(len(of) for of in by.values())
        spills = max(k["spills"] for of in by.values() for k in of)
        out.append(f"| `{family}` | {count} | " + " | ".join(cells) + f" | {f'{spills} B' if spills else 'none'} |")
    return "\n".join(out)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folders", nargs="+", metavar="FOLDER")
    arguments.add_argument("--table", action="store_true", help="registers and occupancy of each kernel, as Markdown")
    given = arguments.parse_args()
    kernels = read(given.folders)
    if not kernels:
        sys.exit(f"{', '.join(given.folders)}: no *.usage of ptxas: was it built with CUDA?")
    if given.table:
        print(table(kernels))
    excused = lines_of("spills.txt")
    spilling = [k for k in kernels if k["spills"] and "double" not in k["name"] and not first_match(excused, k["name"], "")]
    for kernel in spilling:
        print(f"sm_{kernel['architecture']}: {kernel['name']} spills {kernel['spills']} bytes", file=sys.stderr)
    print(f"{len({k['name'] for k in kernels})} kernels on {len({k['architecture'] for k in kernels})} architectures, "
          f"{len(spilling)} spill")
    sys.exit(1 if spilling else 0)


if __name__ == "__main__":
    main()
