# Shared by .ci/run and .ci/full: steps, each ending in `N passed, N failed, N skipped`, added up into one last line.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CI=true
if [ -z "${HEADROOM_DATA:-}" ] && [ -d ../shared ]; then HEADROOM_DATA=$(cd ../shared && pwd) && export HEADROOM_DATA; fi
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# step NAME COMMAND...: runs it. Its last line counts when it is a tally; otherwise it passes, fails, or (exit 77) skips.
step() {
  local name=$1 began=$SECONDS status=0 p=0 f=0 s=0
  shift
  echo "=== $name"
  "$@" 2>&1 | tee "$log" || status=$?
  if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
    p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]} s=${BASH_REMATCH[3]}
    if ((status != 0 && f == 0)); then f=1; fi
  else
    case $status in 0) p=1 ;; 77) s=1 ;; *) f=1 ;; esac
  fi
  ((passed += p, failed += f, skipped += s))
  echo "--- $name: $p passed, $f failed, $s skipped ($((SECONDS - began)) s)"
  return $((f > 0))
}

finish() {
  echo "$passed passed, $failed failed, $skipped skipped"
  exit $((failed > 0))
}
