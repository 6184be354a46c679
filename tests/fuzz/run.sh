#!/bin/sh
# run.sh SECONDS|xN [TARGET…]: builds the fuzz targets with clang and the address and undefined-behaviour sanitizers (in
# build-ci-fuzz, which is kept), and fuzzes each for so long, or with N inputs. It begins from the seeds, from what once
# crashed a target, and from what earlier runs found. An input that crashes is left in build-ci-fuzz/found; it belongs into
# tests/fuzz/crashers/TARGET, once it is mended. HEADROOM_SANITIZE=none takes the sanitizers away, in build-ci-fuzz-none:
# several times the inputs, of which only a crash, a hang or a foreign exception shows, without the operands of comparisons,
# which take half of that time. Exit 77 without clang++.
set -u
cd "$(dirname "$0")/../.."
case $1 in x*) limit=-runs=${1#x} ;; *) limit=-max_total_time=$1 ;; esac
shift
compiler=$(command -v clang++ || ls /usr/bin/clang++-[0-9]* 2>/dev/null | sort -V | tail -n 1)
[ -n "$compiler" ] || { echo "clang++: not installed"; exit 77; }
[ $# -gt 0 ] || set -- safetensors shard_index gguf config_json compact_config tokenizer_json sentencepiece_model chat_template published_trials judged_runs
sanitize=${HEADROOM_SANITIZE:-address,undefined}
build=$PWD/build-ci-fuzz
operands=1 optimization=1
[ "$sanitize" != none ] || { build=$build-none; operands=0 optimization=2; }
[ -d "$build" ] || CXX=$compiler meson setup "$build" --wrap-mode=nodownload --buildtype=debug -Doptimization=$optimization \
  -Dcpp_args=-g1 -Db_sanitize="$sanitize" -Db_lundef=false -Dcuda=disabled -Dfuzz=true >"$build.log" || { cat "$build.log"; exit 1; }
rm -f "$build.log"
programs=tests/fuzz/fuzz-seeds
for target in "$@"; do programs="$programs tests/fuzz/fuzz-$(echo "$target" | tr _ -)"; done
ninja -C "$build" $programs >"$build/ninja.log" || { tail -n 40 "$build/ninja.log"; exit 1; }
"$build/tests/fuzz/fuzz-seeds" "$build/seeds" || exit 1
mkdir -p "$build/found"

# fuzz TARGET: leaves what it printed in $build/TARGET.log, its exit status in $build/TARGET.status.
fuzz() {
  target=$1
  mkdir -p "$build/corpus/$target"
  dictionary=tests/fuzz/$target.dict
  crashers=tests/fuzz/crashers/$target
  status=0
  UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 ASAN_OPTIONS=allocator_may_return_null=1 \
    "$build/tests/fuzz/fuzz-$(echo "$target" | tr _ -)" "$limit" -timeout=20 -rss_limit_mb=4096 \
    -max_len=65536 -use_value_profile=$operands -print_final_stats=1 -artifact_prefix="$build/found/$target-" \
    $([ -f "$dictionary" ] && echo "-dict=$dictionary") "$build/corpus/$target" "$build/seeds/$target" \
    $([ -d "$crashers" ] && echo "$crashers") >"$build/$target.log" 2>&1 || status=$?
  echo "$status" >"$build/$target.status"
}

targets=$*
while [ $# -gt 0 ]; do # two at a time
  fuzz "$1" &
  shift
  if [ $# -gt 0 ]; then
    fuzz "$1" &
    shift
  fi
  wait
done

passed=0 failed=0
for target in $targets; do
  if [ "$(cat "$build/$target.status")" = 0 ]; then
    passed=$((passed + 1))
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$target.log") inputs"
  else
    failed=$((failed + 1))
    tail -n 60 "$build/$target.log"
  fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
