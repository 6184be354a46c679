#!/bin/sh
# make_registry.sh OUT.cpp yes|no [FILE...]: start_cuda(), which calls register_FILE() of each .cu file of kernels.
set -eu
out=$1 built=$2
shift 2
{
  echo '#include "engine/transfer.h"'
  if [ "$built" = yes ]; then
    echo '#include "engine/cuda/runtime.h"'
    echo 'namespace headroom::engine {'
    echo 'namespace cuda {'
    for op in "$@"; do echo "void register_$op();"; done
    echo '}  // namespace cuda'
    echo 'std::string start_cuda() {'
    for op in "$@"; do echo "  cuda::register_$op();"; done
    echo '  return cuda::start();'
  else
    echo 'namespace headroom::engine {'
    echo 'std::string start_cuda() {'
    echo '  return "this build has no CUDA backend (Meson option cuda)";'
  fi
  echo '}'
  echo '}  // namespace headroom::engine'
} >"$out"
