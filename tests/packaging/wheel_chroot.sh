#!/usr/bin/env bash
# wheel_chroot.sh WHEEL PROGRAM: installs the wheel by pip in fresh minimal systems, which mmdebstrap makes, and uses it
# there: Debian 12 and Debian 13, whose libraries are others, with Python alone. The first study's results are those that
# PROGRAM, the build's own, gives on this machine, and so is every byte of the report that it makes of PROGRAM's trials.
# Needs root and Debian's mirror; skips (77) where mmdebstrap is missing.
set -euo pipefail
wheel=$(realpath "$1") program=$(realpath "$2")
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
command -v mmdebstrap >/dev/null || { echo "skipped: mmdebstrap is not installed"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "skipped: expected root"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
work=$scratch/headroom-test
mkdir "$work"
cp "$wheel" "$work"
(cd "$scratch" && HEADROOM_SHARE=$root "$program" run examples/studies/more-than-one-head.toml --quiet)
cp -r "$scratch/runs/more-than-one-head/paper" "$work/expected"

cat >"$work/check.sh" <<'CHECK'
set -u
cd /opt/headroom-test
check() { # check NAME COMMAND...: counts it, and shows what it printed when it failed
  name=$1
  shift
  if "$@" >output 2>&1; then echo "passed: $name" >>tally; else
    echo "FAILED: $name" | tee -a tally
    sed 's/^/  /' output
  fi
}
installed() { echo venv/lib/python3*/site-packages/headroom; }
check "no compiler is there" sh -c '! command -v c++ cc gcc'
check "a virtual environment" python3 -m venv venv
check "pip install" venv/bin/pip install --no-index ./*.whl
check "every library is found" sh -c "ldd $(installed)/bin/headroom && ! ldd $(installed)/bin/headroom | grep 'not found'"
check "doctor" venv/bin/headroom doctor
check "the first study" venv/bin/headroom run examples/studies/more-than-one-head.toml --quiet
check "its results" cmp expected/metrics.csv runs/more-than-one-head/paper/metrics.csv
report_again() {
  local folder=runs/more-than-one-head/paper page
  mkdir -p "again/$folder" && cp expected/store.sqlite "again/$folder" &&
    (cd again && ../venv/bin/headroom report examples/studies/more-than-one-head.toml >/dev/null) || return
  for page in report.html figure.svg results.csv metrics.csv verdicts.json summary.json; do
    cmp "expected/$page" "again/$folder/$page" || return
  done
}
check "the bytes of a report" report_again
check "a shipped study" venv/bin/headroom run ngram-tradeoff --profile smoke --quiet
check "the module" venv/bin/python -c 'import headroom; headroom.run("verify", "ngram-tradeoff", "--profile", "smoke")'
check "a failure is an exception" sh -c '! venv/bin/python -c "import headroom; headroom.run(\"run\", \"no-such-study\")"'
CHECK

for suite in bookworm trixie; do
  mmdebstrap --quiet --variant=minbase --include=python3-venv --aptopt='Acquire::Languages "none"' \
    --customize-hook="copy-in '$work' /opt" \
    --customize-hook='chroot "$1" bash /opt/headroom-test/check.sh >'"'$scratch/log'"' 2>&1' \
    --customize-hook="copy-out /opt/headroom-test/tally '$scratch'" "$suite" /dev/null
  cat "$scratch/log"
  cat "$scratch/tally" >>"$scratch/all"
done
passed=$(grep -c '^passed' "$scratch/all" || :) failed=$(grep -vc '^passed' "$scratch/all" || :)
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
