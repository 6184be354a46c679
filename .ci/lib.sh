# Shared by .ci/run and .ci/full: steps, each ending in `N passed, N failed, N skipped`, added up into one last line. Just
# before it, a line for each step that failed: `failed: STEP: TESTS`.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CI=true
if [ -z "${HEADROOM_DATA:-}" ] && [ -d ../shared ]; then HEADROOM_DATA=$(cd ../shared && pwd) && export HEADROOM_DATA; fi
# For builds under a sanitizer, behind -g: what its messages show, at three quarters of the time to compile.
line_numbers=-g1
passed=0 failed=0 skipped=0
failures=()
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# failed_tests LOG: what failed in it: the tests that Meson names, the programs that count failures of their own, the steps
# of a script like this one; else its last lines.
failed_tests() {
  local found
  found=$({
    sed -nE 's/^failed: //p; s/^([A-Za-z0-9_-]+): [0-9]+ passed, [1-9][0-9]* failed, [0-9]+ skipped$/\1/p' "$1"
    sed -nE 's/^ *[0-9]+\/[0-9]+ (.* \/ )?([^ ]+) +(FAIL|TIMEOUT|ERROR|INTERRUPT) .*/\2/p' "$1"
  } | sort -u | paste -sd ',' | sed 's/, */, /g')
  [ -n "$found" ] || found=$(grep -v '^$' "$1" | tail -n 3 | cut -c 1-200 | paste -sd '|' | sed 's/|/ | /g')
  echo "$found"
}

# Puts nvcc on PATH and the folders of cuDNN's header-only front end and of NCCL's header into $cudnn_frontend and
# $nccl_include: the toolkit of this machine, and what it lacks from NVIDIA's PyPI packages in a virtual environment.
# Without them the CUDA backend is not checked, so that is a failure.
cuda_toolkit() {
  local nvcc packages="nvidia-cudnn-frontend nvidia-nccl-cu13" python=$PWD/build-ci-python
  nvcc=$(command -v nvcc || true)
  [ -n "$nvcc" ] || packages+=" nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl nvidia-nvvm nvidia-cublas"
  [ -n "$nvcc" ] && [ -f "$(dirname "$(readlink -f "$nvcc")")/../include/cudnn.h" ] || packages+=" nvidia-cudnn-cu13"
  # shellcheck disable=SC2086
  if [ ! -f "$python/complete" ] && ! { python3 -m venv "$python" && "$python/bin/pip" install --quiet --no-deps $packages &&
    touch "$python/complete"; }; then
    echo "CUDA: these packages cannot be had: $packages"
    return 1
  fi
  PATH=$PATH:$(echo "$python"/lib/python3*/site-packages/nvidia/cu13/bin)
  cudnn_frontend=$(echo "$python"/lib/python3*/site-packages/include)
  nccl_include=$(echo "$python"/lib/python3*/site-packages/nvidia/nccl/include)
}

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
  if ((f > 0)); then failures+=("failed: $name: $(failed_tests "$log")"); fi
  ((passed += p, failed += f, skipped += s))
  echo "--- $name: $p passed, $f failed, $s skipped ($((SECONDS - began)) s)"
  return $((f > 0))
}

# wants PACKAGES COMMAND…: installs them where the command fails and root asks.
wants() {
  local packages=$1
  shift
  # shellcheck disable=SC2086
  "$@" >/dev/null 2>&1 || [ "$(id -u)" != 0 ] || apt-get install -y --no-install-recommends $packages >/dev/null 2>&1 ||
    { apt-get update && apt-get install -y --no-install-recommends $packages; } >/dev/null 2>&1
}
# tool NAME PACKAGE: the same where the program is missing.
tool() { wants "$2" command -v "$1"; }
# What -Dcuda=emulated needs beside the launcher's packages.
boost_context() { echo 'int main() {}' | wants libboost-context-dev c++ -x c++ - -lboost_context -o /dev/null; }

# The newest of NAME, NAME-14, NAME-15, … on PATH.
newest() { compgen -c "$1" | grep -E "^${1//+/\\+}(-[0-9]+)?$" | sort -V | tail -n 1; }

clang_build() {
  local compiler
  compiler=$(newest clang++)
  [ -n "$compiler" ] || { echo "clang++: not installed"; return 77; }
  [ -d build-ci-clang ] ||
    CXX=$compiler meson setup build-ci-clang --wrap-mode=nodownload --werror -Dcuda=disabled -Dunity=off -Db_pch=false
}

# tidy FILE…: clang-tidy on these sources.
tidy() {
  local tool
  tool clang-tidy clang-tidy
  tool clang++ clang
  tool=$(newest clang-tidy)
  [ -n "$tool" ] || { echo "clang-tidy: not installed"; return 77; }
  [ $# -gt 0 ] || { echo "no source has changed"; return; }
  clang_build || return
  printf '%s\n' "$@" | xargs -P "$(nproc)" -n 4 "$tool" -p build-ci-clang --quiet --warnings-as-errors='*'
}
# sources ARGUMENTS of git: the sources that clang-tidy reads, of those that git lists.
sources() {
  git "$@" -- 'engine/*.cpp' ':!engine/cuda' 'autograd/*.cpp' 'models/*.cpp' 'tasks/*.cpp' 'experiments/*.cpp'
}

format() {
  local tool
  tool clang-format clang-format
  tool=$(newest clang-format)
  [ -n "$tool" ] || { echo "clang-format: not installed"; return 77; }
  git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs "$tool" --dry-run --Werror
}

docs() {
  tool doxygen doxygen
  command -v doxygen >/dev/null || { echo "doxygen: not installed"; return 77; }
  [ -d build-ci ] || meson setup build-ci --wrap-mode=nodownload --werror -Dcuda=disabled || return
  meson setup --reconfigure build-ci && ninja -C build-ci docs
}

finish() {
  if ((failed > 0)); then printf '%s\n' "${failures[@]}"; fi
  echo "$passed passed, $failed failed, $skipped skipped"
  exit $((failed > 0))
}
