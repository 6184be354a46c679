#!/usr/bin/env python3
"""sbom.py BUILD VERSION [NAME=VERSION…]: a list of what headroom is made of, as CycloneDX 1.5, on standard output: the
dependencies that Meson found for BUILD, and those named, which Meson finds without telling of them, with the licences of
components.json. A dependency that is not in there is an error.
sbom.py --licences: LICENSES.md."""
import json
import os
import sys

# What Meson calls a dependency though it is the compiler's or the C library's.
of_the_system = {"threads", "dl", "openmp"}
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "components.json"), encoding="utf-8") as file:
    known = json.load(file)


def component(entry, version):
    """One component of the list; its licence is an SPDX id, or an expression of several."""
    licence = entry["licence"]
    return {
        "type": "library",
        "bom-ref": entry["meson"][0],
        "name": entry["name"],
        "version": version,
        "scope": "excluded" if entry["use"] == "tests" else "required",
        "licenses": [{"expression": licence}] if " " in licence else [{"license": {"id": licence}}],
        "externalReferences": [{"type": "website", "url": entry["url"]}],
        "properties": [{"name": "headroom:use", "value": entry["use"]}],
    }


def bill(build, version, also):
    with open(os.path.join(build, "meson-info", "intro-dependencies.json"), encoding="utf-8") as file:
        found = {one["name"]: one["version"] for one in json.load(file)}
    found.update(pair.split("=", 1) for pair in also)
    by_name = {name: entry for entry in known for name in entry["meson"]}
    unknown = sorted(set(found) - set(by_name) - of_the_system)
    if unknown:
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
             "`packaging/components.json` has it; *linked* libraries are the system's own, of what is *compiled in* the program",
             "and the libraries hold code. `share/doc/headroom/headroom.cdx.json` of an installation lists the versions.", "",
             "| | licence (SPDX) | used | for |", "|---|---|---|---|"]
    lines += [f"| [{one['name']}]({one['url']}) | {one['licence']} | {one['use']} | {one['for']} |"
              for one in sorted(known, key=lambda one: one["name"].lower())]
    return "\n".join(lines) + "\n"


if sys.argv[1:] == ["--licences"]:
    sys.stdout.write(licences())
elif len(sys.argv) >= 3:
    json.dump(bill(sys.argv[1], sys.argv[2], sys.argv[3:]), sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")
else:
    raise SystemExit(__doc__)
