#!/usr/bin/env python3
"""sbom.py BUILD VERSION [NAME=VERSION…]: a list of what headroom is made of, as CycloneDX 1.5, on standard output: the
dependencies that Meson found for BUILD, and those named, which Meson finds without telling of them, with the licences of
components.json. A dependency that is not in there is an error.
sbom.py --licences: LICENSES.md."""
import glob
import json
import os
import sys

# What Meson calls a dependency though it is the compiler's or the C library's.
of_the_system = {"threads", "dl", "openmp"}
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "components.json"), encoding="utf-8") as file:
    known = json.load(file)


def licence_of(entry):
    """An SPDX id, an expression of several, or the name of one that SPDX has no id for."""
    licence = entry["licence"]
    if not entry.get("spdx", True):
        return {"license": {"name": licence}}
    return {"expression": licence} if " " in licence else {"license": {"id": licence}}


def component(entry, version):
    """One component of the list."""
    return {
        "type": "library",
        "bom-ref": entry["meson"][0],
        "name": entry["name"],
        "version": version,
        "scope": {"tests": "excluded", "loaded": "optional"}.get(entry["use"], "required"),
        "licenses": [licence_of(entry)],
        "externalReferences": [{"type": "website", "url": entry["url"]}],
        "properties": [{"name": "headroom:use", "value": entry["use"]}],
    }


def named():
    """Every word in quotes of the tree's build files: Meson keeps what an earlier commit asked for, and lists it, too."""
    files = glob.glob(os.path.join(os.path.dirname(here), "**", "meson.build"), recursive=True)
    return {word for file in files for word in open(file, encoding="utf-8").read().split("'")[1::2]}


def bill(build, version, also):
    with open(os.path.join(build, "meson-info", "intro-dependencies.json"), encoding="utf-8") as file:
        found = {one["name"]: one["version"] for one in json.load(file)}
    found.update(pair.split("=", 1) for pair in also)
    by_name = {name: entry for entry in known for name in entry["meson"]}
    unknown = set(found) - set(by_name) - of_the_system
    if unknown and (unknown := sorted(unknown & named())):
        raise SystemExit(f"sbom.py: packaging/components.json lacks {', '.join(unknown)}")
    parts = [component(by_name[name], of) for name, of in sorted(found.items()) if name in by_name]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": "headroom", "name": "headroom", "version": version,
                                   "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": parts,
        "dependencies": [{"ref": "headroom",
                          "dependsOn": [part["bom-ref"] for part in parts if part["scope"] == "required"]}],
    }


def licences():
    lines = ["# Licences", "", "headroom is under the Apache License 2.0 ([LICENSE](LICENSE)). What it is built with, as",
             "`packaging/components.json` has it, beside the libraries of the compiler and of C: *linked* and *loaded* libraries are",
             "the system's own; of what is *compiled in*, the program and the libraries hold code; what is for the *build* or for",
             "*tests* leaves nothing in them. An installation's `share/doc/headroom/headroom.cdx.json` lists what its build used,",
             "with versions.", "", "| | licence (SPDX) | used | for |", "|---|---|---|---|"]
    lines += [f"| [{one['name']}]({one['url']}) | {one['licence']} | {one['use']} "
              f"| {one['for']}{' (optional)' if one.get('optional') else ''} |"
              for one in sorted(known, key=lambda one: one["name"].lower())]
    return "\n".join(lines) + "\n"


if sys.argv[1:] == ["--licences"]:
    sys.stdout.write(licences())
elif len(sys.argv) >= 3:
    json.dump(bill(sys.argv[1], sys.argv[2], sys.argv[3:]), sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")
else:
    raise SystemExit(__doc__)
