#!/usr/bin/env bash
# deb_chroot.sh PACKAGE.deb: installs it in a fresh minimal Debian 12, made by mmdebstrap, and uses it there as an ordinary
# user with an empty folder: version, studies, a run of a smoke profile with its report, man pages, completions. Needs root
# and Debian's mirror; skips (77) where mmdebstrap is missing.
set -euo pipefail
package=$(realpath "$1")
command -v mmdebstrap >/dev/null || { echo "skipped: mmdebstrap is not installed"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "skipped: wants root"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cat >"$scratch/as-user.sh" <<'USER'
set -eu
export LC_ALL=C.UTF-8
cd "$(mktemp -d)"
passed=0
check() { # check NAME COMMAND...
  name=$1
  shift
  "$@" >output 2>&1 || { echo "FAILED: $name"; cat output; echo "$passed passed, 1 failed, 0 skipped"; exit 1; }
  passed=$((passed + 1))
}
[ "$(id -u)" != 0 ]
check "--version" headroom --version
check "list" sh -c 'headroom list | grep -q "^/usr/share/headroom/experiments/ngram-tradeoff.toml$"'
check "a smoke run" headroom run ngram-tradeoff --profile smoke
check "its report" grep -q "</html>" runs/ngram-tradeoff/smoke/report.html
check "its figures" grep -q "<svg" runs/ngram-tradeoff/smoke/report.html
check "bench" headroom bench ngram --seconds 0.1
check "plan" headroom plan --width 64 --token-dim 8 --decay n-gram:4
check "man page" sh -c 'zcat /usr/share/man/man1/headroom-run.1.gz | grep -q "train what a study"'
check "bash completion" bash -c 'source /usr/share/bash-completion/completions/headroom && complete -p headroom'
check "completion of studies" sh -c 'printf "run\nngram-tr\n" | headroom completion words | grep -q ^ngram-tradeoff'
check "notices" grep -q "CLI11" /usr/share/doc/headroom/copyright
check "bill of materials" grep -q CycloneDX /usr/share/doc/headroom/headroom.cdx.json
echo "$passed passed, 0 failed, 0 skipped"
USER

mmdebstrap --quiet --variant=minbase --aptopt='Acquire::Languages "none"' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  --customize-hook="copy-in '$package' '$scratch/as-user.sh' /tmp" \
  --customize-hook='chroot "$1" apt-get install -y --no-install-recommends gnuplot-nox "'"/tmp/${package##*/}"'" >"$1/tmp/install.log" 2>&1 || { cat "$1/tmp/install.log"; exit 1; }' \
  --customize-hook='chroot "$1" useradd --create-home somebody' \
  --customize-hook='chroot "$1" dpkg --verify headroom' \
  --customize-hook='chroot "$1" su somebody -c "sh /tmp/as-user.sh" >'"'$scratch/result'"' 2>&1 || true' \
  bookworm /dev/null
cat "$scratch/result"
tail -n 1 "$scratch/result" | grep -qx '[0-9]* passed, 0 failed, 0 skipped'
