#!/bin/sh
# make_registry.sh OUT.cpp FILE...: headroom_start_cuda(), which calls register_FILE() of each .cu file of kernels.
set -eu
out=$1
shift
{
  echo '#include "engine/cuda/runtime.h"'
  echo '#include "engine/transfer.h"'
  echo 'namespace headroom::engine::cuda {'
  for op in "$@"; do echo "void register_$op();"; done
  echo '}  // namespace headroom::engine::cuda'
  echo 'void headroom_start_cuda(std::string& status) {'
  for op in "$@"; do echo "  headroom::engine::cuda::register_$op();"; done
  echo '  status = headroom::engine::cuda::start();'
  echo '}'
} >"$out"
