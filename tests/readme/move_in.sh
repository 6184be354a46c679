#!/bin/sh
# move_in.sh ROOT: what the first and the last section of docs/adding-an-op.md say: an elementwise op of three lines, and the
# example's files as they are, build in a copy of the tree, and both ops pass the op suite. Ends in its tally.
set -eu
root=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$root"
# Directories of builds and runs stay behind.
tar -cf - --exclude='./build*' --exclude=./runs --exclude=./.git . | tar -xf - -C "$scratch"
cd "$scratch"
cp -r examples/softplus/engine examples/softplus/autograd .
echo softplus >>engine/ops.txt
awk '/^```/ { on = $2 == "softsign"; next } on' docs/adding-an-op.md >functor.h
sed -i '/^}  \/\/ namespace/e cat functor.h' engine/ops/elementwise/math_functions.h
sed -i '/define HEADROOM_UNARY_OPS/a\  X(softsign, Softsign) \\' engine/ops/elementwise/unary_list.h
echo softsign >>engine/ops.txt
meson setup build --wrap-mode=nodownload -Doptimization=1 -Dcuda=disabled >setup.log 2>&1 || { cat setup.log; exit 1; }
ninja -C build tests/op-suite >build.log 2>&1 || { tail -n 50 build.log; exit 1; }
build/tests/op-suite softplus,softsign >suite.log 2>&1 || { cat suite.log; exit 1; }
sed -n "s/^op-suite: //p" suite.log
