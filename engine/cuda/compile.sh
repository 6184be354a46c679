#!/bin/sh
# compile.sh FILE.usage NVCC ARGUMENTS...: runs nvcc, and writes to FILE.usage what ptxas says of each kernel on each
# architecture: registers, spills, shared memory. tests/gpu/kernels.py reads it.
set -eu
usage=$1
shift
status=0
"$@" --resource-usage 2>"$usage" || status=$?
grep -v -e '^ptxas info' -e ' bytes stack frame, ' "$usage" >&2 || true
exit $status
