#!/bin/sh
# mutations.sh BUILD [WORD]: proof that the op suite's word on a CUDA kernel is worth something. Each line of mutations.txt
# takes one thing out of a real kernel (a barrier, a check of bounds, a term of a gradient), in a copy of its file, and the
# suite's test of that op on the emulator must fail. BUILD: a folder configured with -Dcuda=emulated and the address
# sanitizer, without which reads past the end go unnoticed. With a word, only the lines that contain it.
# Ends in `N passed, N failed, N skipped`.
set -u
build=$1
word=${2:-}
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=halt_on_error=1
suite=$build/tests/op-suite-cuda

ninja -C "$build" tests/op-suite-cuda >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
ninja -C "$build" -t commands tests/op-suite-cuda >"$scratch/commands"

# mutant SOURCE FILE CHANGE: builds $scratch/suite with FILE changed; SOURCE is the .cu file that is compiled anew.
mutant() {
  rm -rf "$scratch/tree" "$scratch/suite"
  mkdir -p "$scratch/tree/engine/cuda" "$scratch/tree/$(dirname "$2")" # the first: the sources are named engine/cuda/../ops/…
  sed -E "$3" "$2" >"$scratch/tree/$2"
  changed=$(diff "$2" "$scratch/tree/$2" | grep -c '^<')
  [ "$changed" = 1 ] || { echo "the change fits $changed lines of $2 instead of one"; return 1; }
  compile=$(grep -F -- "-c engine/cuda/$(basename "$1").cpp" "$scratch/commands" |
    sed -E "s| -I| -I$scratch/tree -I|; s| -M[DQF]( [^-][^ ]*)?||g; s| -o [^ ]+| -o $scratch/mutant.o|")
  link=$(grep -- ' -o tests/op-suite-cuda ' "$scratch/commands" |
    sed -E "s| -o tests/op-suite-cuda | -o $scratch/suite $scratch/mutant.o |")
  [ -n "$compile" ] || { echo "$1 is no kernel of $build"; return 1; }
  (cd "$build" && eval "$compile -w" && eval "$link") >"$scratch/log" 2>&1 || { tail -n 20 "$scratch/log"; return 1; }
}

passed=0 failed=0
while IFS='|' read -r op source file change what; do
  case $op in '' | '#'*) continue ;; esac
  case "$op|$source|$file|$what" in *"$word"*) ;; *) continue ;; esac
  name="$op without $what"
  if ! timeout 600 "$suite" "$op on CUDA" >"$scratch/log" 2>&1; then
    echo "FAILED: $op on CUDA fails without any change"
    failed=$((failed + 1))
  elif ! mutant "$source" "$file" "$change"; then
    echo "FAILED: $name: not built"
    failed=$((failed + 1))
  elif timeout 600 "$scratch/suite" "$op on CUDA" >"$scratch/log" 2>&1; then
    echo "FAILED: $name: the suite does not notice"
    failed=$((failed + 1))
  else
    echo "caught: $name: $(grep -aE 'ERROR: AddressSanitizer|runtime error|kernel [a-z_]+|gradcheck|fast:' "$scratch/log" |
      head -n 1 | sed 's/^ *//' | cut -c 1-160)"
    passed=$((passed + 1))
  fi
done <tests/cuda/mutations.txt
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
