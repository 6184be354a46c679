#!/bin/sh
# run_blocks.sh ROOT BUILD FILE.md: runs every ```sh block of FILE.md as written, and every ```bash block by bash, in a
# scratch folder that looks like a fresh clone whose build folder is BUILD. Blocks marked ```sh slow run only with
# HEADROOM_SLOW=1 and are skipped, and counted, otherwise.
set -eu
root=$1 HEADROOM_BUILD=$2 document=$3
export HEADROOM_BUILD
slow=${HEADROOM_SLOW:-0}
unset HEADROOM_SLOW
name=$(basename "$document" .md | tr '[:upper:]' '[:lower:]')
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/clone" "$scratch/blocks"
for entry in "$root"/*; do
  case ${entry##*/} in
    build* | runs) ;;
    *) ln -s "$entry" "$scratch/clone/" ;;
  esac
done
ln -s "$HEADROOM_BUILD" "$scratch/clone/build"

awk -v folder="$scratch/blocks" '
  /^```/ && file { close(file); file = ""; next }
  /^```(sh|bash)( slow)?$/ {
    file = sprintf("%s/%02d.%s%s", folder, ++n, substr($1, 4), $2 == "slow" ? "-slow" : "")
    printf "" >file
    next
  }
  file { print >file }
' "$root/$document"

passed=0 failed=0 skipped=0
cd "$scratch/clone"
for block in "$scratch"/blocks/*; do
  sed 's/^/$ /' "$block"
  case $block in
    *-slow)
      if [ "$slow" = 0 ]; then
        echo "skipped: slow (HEADROOM_SLOW=1 runs it)"
        skipped=$((skipped + 1))
        continue
      fi
      ;;
  esac
  shell=${block##*.}
  if "${shell%-slow}" -eu "$block" </dev/null; then
    passed=$((passed + 1))
  else
    echo "FAILED"
    failed=$((failed + 1))
  fi
done
if [ -n "${HEADROOM_TALLY:-}" ]; then
  echo "$name: $passed passed, $failed failed, $skipped skipped" >>"$HEADROOM_TALLY"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $((passed + skipped)) -gt 0 ] && [ "$failed" = 0 ]
