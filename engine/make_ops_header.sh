#!/bin/sh
# make_ops_header.sh OUT.h WHAT HEADER...: one header that includes those of all ops; its first words are WHAT. It is left
# alone where it would not change: everything above the engine includes it, and each configuration runs this.
set -eu
out=$1 what=$2
shift 2
{
  echo '#pragma once'
  echo "/// $what. Shapes are row-major in the order of PyTorch: B batch, T time, C channels, H heads,"
  echo '/// D head width, V vocabulary. All throw Error naming the op and the shapes that do not fit. What an op computes,'
  echo '/// and its gradient, is documented in engine/ops/NAME/NAME.h. Generated from engine/ops.txt.'
  for header in "$@"; do echo "#include \"$header\""; done
} >"$out.new"
if cmp -s "$out.new" "$out"; then rm "$out.new"; else mv "$out.new" "$out"; fi
