#!/bin/sh
# launcher.sh ROOT: the launcher with stand-ins for the compiler, meson and ninja. Two that are started at once in one
# folder build one after the other, and both run the program; a log gets lines of progress; an optional library that has
# come is looked for, once; another user runs what was built; a failed build shows its log and its status.
set -eu
root=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
fail() { echo "launcher: $*" >&2; exit 1; }

for name in c++ pkg-config; do printf '#!/bin/sh\n' >"$scratch/bin/$name"; done
cat >"$scratch/bin/meson" <<'MESON'
#!/bin/sh
# meson setup OPTIONS… BUILD SOURCE, or what is said when it is configured again
case "$1 $2" in
  "configure --clearcache") exit 0 ;;
  "test -C") case $* in *" small-one" | *" --list") echo "headroom:engine / small-one" ;; esac; exit 0 ;;
  "setup --reconfigure") echo again >>"$3/reconfigured" && exit 0 ;;
esac
while [ $# -gt 2 ]; do shift; done
[ ! -e "$1/build.ninja" ] || { echo "configured twice"; exit 1; }
sleep 0.2
echo configured >"$1/build.ninja"
MESON
cat >"$scratch/bin/ninja" <<'NINJA'
#!/bin/sh
# ninja -C BUILD [-n] TARGET: takes two seconds, and fails when another one is at work in the folder.
build=$2
[ "$3" != -n ] || { [ ! -e "$build/experiments/headroom" ] || echo "ninja: no work to do."; exit 0; }
mkdir "$build/at-work" || exit 1
echo "[1/2] first"
sleep 2
rmdir "$build/at-work"
echo "$*" >>"$build/built"
[ ! -e "$build/broken" ] || { echo "a type error"; exit 3; }
echo "[2/2] second"
mkdir -p "$build/experiments"
printf '#!/bin/sh\necho "ran $1"\ntest -f "$HEADROOM_SHARE/headroom"\n' >"$build/experiments/headroom"
chmod +x "$build/experiments/headroom"
NINJA
chmod +x "$scratch"/bin/*
build=$scratch/build
PATH=$scratch/bin:$PATH
HEADROOM_BUILD=$scratch/build HEADROOM_NO_INSTALL=1 HEADROOM_PROGRESS=0.5
export PATH HEADROOM_BUILD HEADROOM_NO_INSTALL HEADROOM_PROGRESS

"$root/headroom" one >"$scratch/one.out" 2>"$scratch/one.err" &
one=$!
"$root/headroom" two >"$scratch/two.out" 2>"$scratch/two.err" &
two=$!
wait "$one" || fail "the first of two failed: $(cat "$scratch/one.err")"
wait "$two" || fail "the second of two failed: $(cat "$scratch/two.err")"
[ "$(cat "$scratch/one.out" "$scratch/two.out")" = "ran one
ran two" ] || fail "the program did not run"
grep -q "^headroom: building: 1/2 steps$" "$scratch/one.err" "$scratch/two.err" || fail "no line of progress"
if command -v flock >/dev/null; then
  grep -q "^headroom: waiting for another build in $HEADROOM_BUILD$" "$scratch/one.err" "$scratch/two.err" ||
    fail "nobody waited"
fi

touch "$scratch/bin/mpic++" && chmod +x "$scratch/bin/mpic++"
for start in first second; do "$root/headroom" "$start" >>"$scratch/optional.out" 2>>"$scratch/optional.err"; done
[ "$(cat "$scratch/build/reconfigured")" = again ] || fail "looked for MPI not once, but: $(cat "$scratch/build/reconfigured")"
grep -q "^headroom: configuring $HEADROOM_BUILD again:.* $scratch/bin/mpic++$" "$scratch/optional.err" || fail "does not say what came"

# The tests that are named are built, and nothing else; a name that no test has builds nothing.
mkdir "$build/meson-info"
echo '[{"name": "small-one", "depends": ["s"]}, {"name": "large", "depends": ["l"]}]' >"$build/meson-info/intro-tests.json"
echo "[{\"id\": \"s\", \"filename\": [\"$build/tests/small\"]}, {\"id\": \"l\", \"filename\": [\"$build/tests/large\"]}]" \
  >"$build/meson-info/intro-targets.json"
mv "$build/experiments/headroom" "$build/later" # not up to date
"$root/headroom" test small-one >"$scratch/small.out" 2>&1 || fail "one test: $(cat "$scratch/small.out")"
[ "$(tail -n 1 "$build/built")" = "-C $build tests/small" ] || fail "one test builds $(tail -n 1 "$build/built")"
"$root/headroom" test small >"$scratch/small.out" 2>&1 || fail "a program's tests: $(cat "$scratch/small.out")"
[ "$(tail -n 1 "$build/built")" = "-C $build tests/small" ] || fail "a program's tests build $(tail -n 1 "$build/built")"
before=$(wc -l <"$build/built")
! "$root/headroom" test large >"$scratch/none.out" 2>&1 || fail "a test that there is not passed"
grep -q "^no test matches large: " "$scratch/none.out" || fail "a test that there is not: $(cat "$scratch/none.out")"
[ "$(wc -l <"$build/built")" = "$before" ] || fail "a test that there is not built something"
mv "$build/later" "$build/experiments/headroom"

# Another user, who may write nothing here, from a clone that all may read.
mkdir "$scratch/clone"
cp "$root/headroom" "$scratch/clone/"
touch "$scratch/build/.ninja_log"
as_other=
chmod -R a+rX "$scratch"
if [ "$(id -u)" = 0 ]; then as_other="setpriv --reuid=65534 --regid=65534 --clear-groups"; else chmod -R a-w "$scratch/build"; fi
$as_other "$scratch/clone/headroom" theirs >"$scratch/other.out" 2>"$scratch/other.err" || fail "another user: $(cat "$scratch/other.err")"
[ "$(cat "$scratch/other.out" "$scratch/other.err")" = "ran theirs" ] || fail "another user: $(cat "$scratch/other.err")"
if [ -n "$as_other" ]; then  # a group's folder, in which the first user made the lock
  chmod a+w "$scratch/build"
  $as_other "$scratch/clone/headroom" theirs >"$scratch/other.out" 2>&1 || fail "another user of a group: $(cat "$scratch/other.out")"
  [ "$(cat "$scratch/other.out")" = "ran theirs" ] || fail "another user of a group: $(cat "$scratch/other.out")"
fi
mv "$scratch/build/experiments/headroom" "$scratch/build/later"  # not up to date, to the stand-in for ninja
status=0
$as_other "$scratch/clone/headroom" theirs >"$scratch/other.out" 2>"$scratch/other.err" || status=$?
[ "$status" = 1 ] || fail "nothing is built, and the status is $status"
grep -q "HEADROOM_BUILD=FOLDER builds elsewhere$" "$scratch/other.err" || fail "nothing is built: $(cat "$scratch/other.err")"
mv "$scratch/build/later" "$scratch/build/experiments/headroom"
chmod -R u+w "$scratch/build"

rm -r "$scratch/build/experiments"
touch "$scratch/build/broken"
status=0
"$root/headroom" three >"$scratch/three.out" 2>"$scratch/three.err" || status=$?
[ "$status" != 0 ] || fail "a failed build passed"
[ ! -s "$scratch/three.out" ] || fail "the program ran though the build failed"
grep -q "^a type error$" "$scratch/three.err" || fail "a failed build does not show why"
