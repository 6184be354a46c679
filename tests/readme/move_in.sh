#!/bin/sh
# move_in.sh ROOT: moves the examples of docs/adding.md into a copy of the tree and builds it. The ops and products with the
# format pass the op suite, the tests that go through the rows pass, and a study of the new kind of task trains. Ends in the
# op suite's tally.
set -eu
root=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$root"
# Directories of builds and runs stay behind.
tar -cf - --exclude='./build*' --exclude=./runs --exclude=./.git . | tar -xf - -C "$scratch"
cd "$scratch"
example() { awk -v name="$1" '/^```/ { on = $2 == name; next } on' docs/adding.md >"$1"; }

cp -r examples/softplus/engine examples/softplus/autograd examples/softplus/experiments examples/softplus/tests .
example softsign
sed -i '/^}  \/\/ namespace/e cat softsign' engine/ops/elementwise/math_functions.h
sed -i '/define HEADROOM_UNARY_OPS/a\  X(softsign, Softsign) \\' engine/ops/elementwise/unary_list.h
printf 'softplus\nsoftsign\n' >>engine/ops.txt
example activation-row
sed -i '/^#define HEADROOM_ACTIVATIONS/r activation-row' models/config.h

cp -r examples/tq2_0/engine examples/tq2_0/tests .
sed -i 's|^#include .*formats/halves.h"|&\n#include "engine/quantized/formats/tq2_0.h"|
s|^  X(q6_k, .*|&\n  X(tq2_0, TQ2_0, 35, 37) \\|' engine/quantized/format.h

for part in family positions-value positions-formula positions-row; do example $part; done
sed -i '/^const std::array table{/r family' models/families/family.cpp
sed -i '/^TEST_CASE("GGUF files of another/e cat examples/xverse/convert_case.inc' tests/models/write/convert_test.cpp
sed -i "s/^enum class Positions { .*alibi/&, $(cat positions-value)/" models/config.h
sed -i -e '/^constexpr std::array position_table{/e cat positions-formula' -e '/^constexpr std::array position_table{/r positions-row' \
  models/positions.cpp

cp -r examples/recall/tasks examples/recall/experiments examples/recall/tests .
for part in task-include task-config task-row task-source; do example $part; done
sed -i -e '/^#include "tasks\/task.h"/e cat task-include' -e '/^    std::variant<LinearFunctionalConfig/r task-config' tasks/make_task.h
sed -i '/^#define HEADROOM_TASK_KINDS/r task-row' experiments/studies/config/tasks/registry.h
sed -i "/^  'tasks\/registry.cpp'/e cat task-source" experiments/studies/config/meson.build
sed -i "s|files('tasks/classification_test.cpp'|&, 'tasks/recall_test.cpp'|" tests/meson.build

example kind-line
cp -r examples/jump/experiments .
sed -i "/^claim_kinds = /,/^]/ s/^]/$(cat kind-line)\n]/" experiments/studies/analysis/meson.build
sed -i '/^}  \/\/ namespace headroom::experiments/e cat examples/jump/simulation_case.inc' tests/experiments/studies/claims/simulation_test.cpp

meson setup build --wrap-mode=nodownload -Doptimization=1 -Dcuda=disabled >setup.log 2>&1 || { cat setup.log; exit 1; }
ninja -C build tests/op-suite tests/quantized-test tests/models-test tests/convert-test tests/tasks-test tests/smoke-test \
  tests/claims-test tests/claims-simulation-test >build.log 2>&1 || {
  tail -n 50 build.log
  exit 1
}
check() { "$@" >tests.log 2>&1 || { cat tests.log; exit 1; }; }
for program in quantized-test models-test convert-test tasks-test claims-test; do check build/tests/$program; done
for study in recall softplus-or-relu; do check build/tests/smoke-test "smoke of $study"; done
check build/tests/claims-simulation-test '[jump]'
# The reduction's CUDA kernel, as the emulator sees it.
check "${CXX:-c++}" -std=c++20 -fsyntax-only -Wno-psabi -Wno-unknown-pragmas -DHEADROOM_CUDA_EMULATED -Itests/cuda/emulator/include \
  -Iexamples/sum_squares -I. -x c++ examples/sum_squares/engine/ops/sum_squares/sum_squares.cu
build/tests/op-suite softplus,softsign,quantized_linear >suite.log 2>&1 || { cat suite.log; exit 1; }
sed -n "s/^op-suite: //p" suite.log
