#!/usr/bin/env bash
# deb_chroot.sh PACKAGE.deb DEV.deb: installs them in a fresh minimal Debian 12, made by mmdebstrap, and uses them there. An
# older version is upgraded to it; an ordinary user with an empty folder runs studies, looks at the live view, at pages and
# completions, and, with the -dev package, builds every program of examples/; removal leaves nothing. Needs root and Debian's
# mirror; skips (77) where mmdebstrap is missing.
set -euo pipefail
package=$(realpath "$1") dev=$(realpath "$2")
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
command -v mmdebstrap >/dev/null || { echo "skipped: mmdebstrap is not installed"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "skipped: expected root"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
work=$scratch/headroom-test
mkdir -p "$work/older"
cp "$package" "$work/new.deb"
cp "$dev" "$work/dev.deb"
cp -r "$root/examples" "$root/docs/library.md" "$work"
cp -r "$root/tests/models/pretrained/checkpoints/smollm2" "$root/tests/models/pretrained/text.txt" "$work"

# What an older version might have been: with a study that this one has no longer.
dpkg-deb -R "$package" "$work/older"
sed -i 's/^Version: .*/Version: 0.0.1/' "$work/older/DEBIAN/control"
touch "$work/older/usr/share/headroom/experiments/gone.toml"
dpkg-deb --root-owner-group -Znone --build "$work/older" "$work/older.deb" >/dev/null
rm -r "$work/older"

cat >"$work/check.sh" <<'CHECK'
set -eu
export LC_ALL=C.UTF-8
work=/opt/headroom-test
check() { # check NAME COMMAND...: counts it, and shows what it printed when it failed
  name=$1
  shift
  if "$@" >"$work/output" 2>&1; then
    echo "passed: $name" >>"$work/tally"
  else
    echo "FAILED: $name" | tee -a "$work/tally"
    sed 's/^/  /' "$work/output"
  fi
}
CHECK

cat >"$work/user.sh" <<'USER'
. /opt/headroom-test/check.sh
cd "$(mktemp -d)"
report=runs/ngram-tradeoff/smoke/report.html
check "an ordinary user" sh -c '[ "$(id -u)" != 0 ]'
check "every library is found" sh -c 'ldd /usr/bin/headroom && ! ldd /usr/bin/headroom | grep "not found"'
check "--version" headroom --version
check "doctor" headroom doctor
check "list" sh -c 'headroom list | grep -q "^  /usr/share/headroom/experiments/ngram-tradeoff.toml$"'
check "a study by its id" headroom run ngram-tradeoff --profile smoke
check "its report" grep -q "</html>" $report
check "its figures" grep -q "<svg" $report
check "a study by its installed path" headroom run /usr/share/headroom/experiments/allocation-curve.toml --profile smoke --quiet
check "status" sh -c 'headroom status | grep -q ngram-tradeoff'
check "a study of one's own" headroom run /opt/headroom-test/examples/study/four-lags.toml --quiet
check "a model with narrower heads" sh /opt/headroom-test/examples/compress/compress.sh /opt/headroom-test/smollm2 /opt/headroom-test/text.txt smaller
check "bench" headroom bench ngram --seconds 0.1
check "plan" headroom plan --width 64 --token-dim 8 --decay n-gram:4
check "data sets" sh -c 'headroom data list | grep -q tinyshakespeare'
live_view() {
  headroom serve --port 0 >address 2>&1 &
  server=$!
  for _ in 1 2 3 4 5 6 7 8 9 10; do [ -s address ] || sleep 1; done
  port=$(sed -n 's|^http://127.0.0.1:\([0-9]*\)/.*|\1|p' address)
  bash -c "exec 3<>/dev/tcp/127.0.0.1/$port; printf 'GET / HTTP/1.0\r\nHost: 127.0.0.1:$port\r\n\r\n' >&3; cat <&3" >page
  kill $server
  wait $server || :
  head -n 1 page | grep ' 200 ' && grep '</html>' page
}
check "live view" live_view
check "man page" sh -c 'zcat /usr/share/man/man1/headroom-run.1.gz | grep -q "train what a study"'
check "bash completion" bash -c 'source /usr/share/bash-completion/completions/headroom && complete -p headroom'
check "completion of studies" sh -c 'printf "run\nngram-tr\n" | headroom completion words | grep -q ^ngram-tradeoff'
check "notices" grep -q "CLI11" /usr/share/doc/headroom/copyright
check "bill of materials" grep -q CycloneDX /usr/share/doc/headroom/headroom.cdx.json
USER

cat >"$work/builder.sh" <<'BUILDER'
. /opt/headroom-test/check.sh
cd "$(mktemp -d)"
cp -r $work/examples .
program() { # program NAME LAYER: by the compiler and pkg-config alone
  c++ -std=c++20 -O1 -Wno-psabi "examples/$1/main.cpp" $(pkg-config --cflags --libs "headroom-$2") -o "$1" && "./$1"
}
by_meson() { # by_meson NAME COMMAND...
  meson setup -Dbuildtype=plain "build-$1" "examples/$1" && meson compile -C "build-$1" && shift && "$@"
}
check "example tensors" program tensors engine
check "example gradients" program gradients autograd
check "example decode" program decode models
check "example decode, by Meson" by_meson decode build-decode/decode
check "example train" program train tasks
check "example char_rnn" program char_rnn tasks
check "example vit" program vit tasks
check "example softplus, by Meson" by_meson softplus meson test -C build-softplus
by_cmake() {
  mkdir cmake && awk '/^```/ && on { exit } on { print } /^```cmake/ { on = 1 }' $work/library.md >cmake/CMakeLists.txt
  cp examples/gradients/main.cpp cmake && cmake -G Ninja -S cmake -B build-cmake && cmake --build build-cmake && build-cmake/gradients
}
check "example gradients, by CMake" by_cmake
BUILDER

cat >"$work/root.sh" <<'ROOT'
. /opt/headroom-test/check.sh
export DEBIAN_FRONTEND=noninteractive
: >$work/tally
chmod 666 $work/tally
touch $work/output
chmod 666 $work/output
useradd --create-home somebody
install_packages() { apt-get install -y --no-install-recommends "$@"; }
check "an older version" install_packages $work/older.deb
[ -e /usr/share/headroom/experiments/gone.toml ] || echo "FAILED: the older version has a file of its own" >>$work/tally
check "the upgrade" install_packages $work/new.deb
check "its files are as packaged" sh -c '! dpkg --verify headroom | grep .'
check "the older version's study is gone" test ! -e /usr/share/headroom/experiments/gone.toml
su somebody -c "sh $work/user.sh"
check "the -dev package, and compilers" install_packages $work/dev.deb g++ pkg-config meson cmake
su somebody -c "sh $work/builder.sh"
dpkg -L headroom headroom-dev >$work/owned
check "removal and purge" dpkg --purge headroom-dev headroom
left() {
  while read -r path; do [ -d "$path" ] || [ ! -e "$path" ] || echo "$path"; done <$work/owned
  find / -xdev \( -path "$work" -o -path /tmp -o -path /home -o -path /var/cache/apt -o -path /var/log \) -prune -o -name '*headroom*' -print
  grep -l headroom /var/lib/dpkg/status /etc/ld.so.cache || :
}
check "nothing is left" sh -c '! grep .' <<LEFT
$(left)
LEFT
ROOT

mmdebstrap --quiet --variant=minbase --aptopt='Acquire::Languages "none"' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --customize-hook="copy-in '$work' /opt" \
  --customize-hook='chroot "$1" sh /opt/headroom-test/root.sh >'"'$scratch/log'"' 2>&1 || echo "FAILED: root.sh ends early" >>"$1/opt/headroom-test/tally"' \
  --customize-hook="copy-out /opt/headroom-test/tally '$scratch'" \
  bookworm /dev/null
cat "$scratch/log"
passed=$(grep -c '^passed' "$scratch/tally" || :) failed=$(grep -vc '^passed' "$scratch/tally" || :)
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
