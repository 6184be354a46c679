#!/bin/sh
# run.sh BUILD ARGUMENTS...: runs `meson test` and ends with the line `N passed, N failed, N skipped`.
#
# A test program counts its own cases: it appends `NAME: P passed, F failed, S skipped` to $HEADROOM_TALLY, NAME as in
# meson.build (with -$HEADROOM_ISA behind it when that is set). A test without such a line counts as one; so does a program that failed (crashed, ran out of time) though
# its line, if any, knows of no failure.
set -eu
build=$1
shift
results=$build/meson-logs/testlog.json
HEADROOM_TALLY=$(cd "$build" && pwd)/tally # tests run in folders of their own
export HEADROOM_TALLY
rm -f "$results"
: >"$HEADROOM_TALLY"

status=0
meson test -C "$build" --print-errorlogs "$@" || status=$?
[ -f "$results" ] || exit "$status" # nothing ran: --list, --help or a wrong argument

awk -v status="$status" '
  function count(p, f, s) { passed += p; failed += f; skipped += s }
  FILENAME == ARGV[1] {
    name = $0
    sub(/: [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/, "", name)
    n = split(substr($0, length(name) + 3), words, /[ ,]+/)
    if (n != 6) next
    count(words[1], words[3], words[5])
    known[name] = 1
    failures[name] += words[3]
    next
  }
  {
    name = result = $0
    sub(/^[{]"name": "/, "", name)
    sub(/", "stdout": .*/, "", name)
    sub(/.* \/ /, "", name)
    sub(/.*", "result": "/, "", result)
    sub(/".*/, "", result)
    if (!(name in known)) name = name "-" ENVIRON["HEADROOM_ISA"]
    bad = result !~ /^(OK|SKIP|EXPECTEDFAIL)$/
    if (bad && failures[name] == 0) count(0, 1, 0)
    else if (!(name in known) && result == "SKIP") count(0, 0, 1)
    else if (!(name in known)) count(1, 0, 0)
  }
  END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped; exit failed > 0 ? 1 : status }
' "$HEADROOM_TALLY" "$results"
