#!/usr/bin/env python3
"""components.py ROOT SBOM FILE…: what the program and the shared libraries (FILE…) really load, what the bill of materials
lists, what LICENSES.md says, and what the launcher installs are the same list of libraries."""
import json
import os
import re
import shutil
import subprocess
import sys

root, bill_path, *files = sys.argv[1:]
# The compiler's and C's own, and ours.
of_the_system = re.compile(r"^(libc|libm|libdl|libpthread|libstdc\+\+|libgcc_s|libgomp|ld-linux.*|libheadroom-.*)$")
passed, failures = 0, []


def check(name, wrong):
    """Counts `name`, which holds when `wrong`, a list of complaints, is empty."""
    global passed
    if wrong:
        failures.append(name)
        print("\n".join([f"FAILED: {name}"] + [f"  {line}" for line in wrong]))
    else:
        passed += 1


def needed(file):
    """The names of the shared libraries that `file` asks for, without what follows .so."""
    listing = subprocess.run(["readelf", "-dW", file], check=True, capture_output=True, text=True,
                             env={**os.environ, "LC_ALL": "C"}).stdout
    return {re.sub(r"\.so(\..*)?$", "", name) for name in re.findall(r"\(NEEDED\).*\[(.*)\]", listing)}


with open(os.path.join(root, "packaging/components.json"), encoding="utf-8") as file:
    known = json.load(file)
with open(bill_path, encoding="utf-8") as file:
    bill = {part["name"]: part for part in json.load(file)["components"]}
with open(os.path.join(root, "headroom"), encoding="utf-8") as file:
    needs = re.search(r"<<'NEEDS'\n(.*?)\nNEEDS\n", file.read(), re.S).group(1)

by_library = {library: entry for entry in known for library in entry.get("libraries", [])}
loaded = {file: {name for name in needed(file) if not of_the_system.match(name)} for file in files}
everywhere = set().union(*loaded.values())

check("some files are looked at, and load something", [] if everywhere else [f"nothing is loaded by {files}"])
check("each library that is loaded is a component",
      [f"{os.path.basename(file)} loads {name}" for file in files for name in sorted(loaded[file] - set(by_library))])
check("each of them is in the bill of materials",
      [f"{by_library[name]['name']}, for {name}" for name in sorted(everywhere & set(by_library))
       if by_library[name]["name"] not in bill])
# Elsewhere a package may bring an archive or headers alone, and what Meson fetches into subprojects/ is compiled in.
skipped = 0 if shutil.which("dpkg-query") else 1
if not skipped:
    check("the bill says 'linked' of no library that nothing loads",
          [entry["name"] for entry in known if entry["name"] in bill and entry["use"] == "linked"
           and not everywhere & set(entry["libraries"])])
check("every component that no build can do without is in the bill",
      [entry["name"] for entry in known if entry["meson"] and not entry.get("optional") and entry["name"] not in bill])
check("each part of the bill has a version and its licence",
      [f"{name}: {part}" for name, part in bill.items() if not re.match(r"\d+\.\d", part.get("version", ""))
       or not any(entry["name"] == name and entry["licence"] in json.dumps(part["licenses"]) for entry in known)])

wanted = {line.split()[2] for line in needs.splitlines() if line.startswith("header ")}
listed = {entry["debian"] for entry in known if "debian" in entry}
check("the launcher installs each component, and nothing else but commands",
      [f"only the launcher has {name}" for name in sorted(wanted - listed)] +
      [f"only components.json has {name}" for name in sorted(listed - wanted)])

licences = subprocess.run([sys.executable, "-B", os.path.join(root, "packaging/sbom.py"), "--licences"], check=True,
                          capture_output=True, text=True, encoding="utf-8").stdout
with open(os.path.join(root, "LICENSES.md"), encoding="utf-8") as file:
    check("LICENSES.md is what sbom.py --licences prints", [] if file.read() == licences else ["it differs"])

tally = f"{passed} passed, {len(failures)} failed, {skipped} skipped"
if "HEADROOM_TALLY" in os.environ:
    with open(os.environ["HEADROOM_TALLY"], "a", encoding="utf-8") as file:
        file.write(f"components: {tally}\n")
print(tally)
sys.exit(bool(failures))
