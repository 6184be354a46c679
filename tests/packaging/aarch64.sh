#!/usr/bin/env bash
# aarch64.sh ROOT: cross-compiles the last commit for 64-bit ARM in a fresh Debian 12, made by mmdebstrap with the libraries of
# both architectures, and runs the tests of engine and autograd under qemu's emulation: the portable level, without oneDNN.
# Needs root and Debian's mirror, and most of an hour; skips (77) where mmdebstrap is missing.
set -euo pipefail
root=$(realpath "$1")
command -v mmdebstrap >/dev/null || { echo "skipped: mmdebstrap is not installed"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "skipped: expected root"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/headroom"
git -C "$root" archive HEAD | tar -xf - -C "$scratch/headroom"
cat >"$scratch/headroom/check.sh" <<'CHECK'
set -e
cd /opt/headroom
meson setup build --cross-file tests/packaging/aarch64.ini --werror --wrap-mode=nodownload -Dcuda=disabled -Dmpi=disabled -Donednn=disabled
set -- --suite engine --suite autograd --no-suite cuda --no-suite models
ninja -C build $(python3 -B tests/targets.py build "$@" | tail -n +2)
sh tests/run.sh build --no-rebuild -t 20 "$@"
CHECK
# Headers alone have no architecture; oneDNN is left out.
libraries=$(sed -nE '/"onednn"|"tests"/d; s/.*"debian": "([^"]*)".*/\1/p' "$root/packaging/components.json" | sort -u |
  sed -E '/^(libcli11-dev|nlohmann-json3-dev)$/!s/$/:arm64/' | paste -sd ,)
mmdebstrap --quiet --variant=minbase --architectures=amd64,arm64 --aptopt='Acquire::Languages "none"' \
  --include="meson,python3,pkg-config,g++,g++-aarch64-linux-gnu,qemu-user-static,catch2,$libraries" \
  --customize-hook="copy-in '$scratch/headroom' /opt" \
  --customize-hook='chroot "$1" sh /opt/headroom/check.sh >'"'$scratch/log'"' 2>&1 || true' bookworm /dev/null
cat "$scratch/log"
[[ $(tail -n 1 "$scratch/log") =~ \ 0\ failed, ]]
