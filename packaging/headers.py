#!/usr/bin/env python3
"""headers.py BUILD LAYERS INCLUDEDIR | BUILD LAYERS --to FOLDER STAMP: the headers of the libraries' layers, in
INCLUDEDIR/headroom as `meson install` calls it, or in FOLDER/headroom for projects that headroom is a subproject of. Looks
for them when it runs, not when the build is configured, so that a new header is never forgotten. An #include of one of them
becomes relative to its file: a user's own file of that name cannot be taken for it. Left out: what private_headers.txt
names, and the CUDA backend's headers, which include its vendor's. STAMP: written at the end, and STAMP.d, its inputs."""
import os
import re
import sys

build, layers, *rest = sys.argv[1:]
layers = layers.split(",")
here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(here)
if rest[0] == "--to":
    target = rest[1]
elif os.path.isabs(rest[0]):
    target = os.environ.get("DESTDIR", "") + rest[0]
else:
    target = os.path.join(os.environ["MESON_INSTALL_DESTDIR_PREFIX"], rest[0])

with open(os.path.join(here, "private_headers.txt"), encoding="utf-8") as file:
    private = set(file.read().split())
found = {f"{layer}/ops.h": os.path.join(build, layer, "ops.h") for layer in ("engine", "autograd") if layer in layers}
for layer in layers:
    for folder, _, names in os.walk(os.path.join(root, layer)):
        for name in names:
            header = os.path.relpath(os.path.join(folder, name), root)
            if name.endswith(".h") and header not in private and not header.startswith("engine/cuda/"):
                found[header] = os.path.join(root, header)
found["headroom.h"] = os.path.join(here, "headroom.h")

for header, source in found.items():
    with open(source, encoding="utf-8") as file:
        text = file.read()
    if header == "headroom.h":  # of the layers that there are
        text = "".join(line for line in text.splitlines(True)
                       if not line.startswith("#include") or line.split('"')[1].split("/")[0] in layers)
    folder = os.path.dirname(header) or "."
    text = re.sub(r'^( *# *include *")([^"]+)"',
                  lambda match: f'{match[1]}{os.path.relpath(match[2], folder)}"' if match[2] in found else match[0],
                  text, flags=re.MULTILINE)
    path = os.path.join(target, "headroom", header)
    if rest[0] == "--to" and os.path.exists(path) and open(path, encoding="utf-8").read() == text:
        continue
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o644)
if rest[0] == "--to":
    with open(rest[2] + ".d", "w", encoding="utf-8") as file:
        file.write(f"{rest[2]}: " + " ".join(source.replace(" ", "\\ ") for source in found.values()) + "\n")
    open(rest[2], "w", encoding="utf-8").close()
