#!/bin/sh
# make_registry.sh OPS.txt OUT.cpp [OP...]: the table of every op's samples; the ops named last have a CUDA kernel. An op
# has fast CPU kernels when its folder is one functor header (engine/elementwise compiles those), or when its source calls
# a kernel, a matrix product or another op.
set -eu
ops=$1 out=$2
shift 2
on_cuda=" $* "
folders=$(dirname "$ops")/ops

has_kernels() {
  source=$folders/$1/$1.cpp
  [ -d "$folders/$1" ] || { echo false; return; }
  [ -f "$source" ] || { echo true; return; }
  if grep '#include' "$source" | grep -v "/$1\.h\"" | grep -Eq '_kernel\.h"|"engine/(cpu|ops)/'; then
    echo true
  else
    echo false
  fi
}

{
  echo '#include "autograd/op_suite/registry.h"'
  echo 'namespace headroom::autograd {'
  echo 'namespace {'
  echo 'template <OpSamples (*samples)()>'
  echo 'OpSamples with_cuda() {'
  echo '  OpSamples out = samples();'
  echo '  out.cuda = true;'
  echo '  return out;'
  echo '}'
  echo '}  // namespace'
  while read -r op; do echo "OpSamples ${op}_samples();"; done <"$ops"
  echo 'const std::vector<OpEntry>& op_registry() {'
  echo '  static const std::vector<OpEntry> entries{'
  while read -r op; do
    case $on_cuda in
      *" $op "*) echo "      {\"$op\", with_cuda<${op}_samples>, $(has_kernels "$op")}," ;;
      *) echo "      {\"$op\", ${op}_samples, $(has_kernels "$op")}," ;;
    esac
  done <"$ops"
  echo '  };'
  echo '  return entries;'
  echo '}'
  echo '}  // namespace headroom::autograd'
} >"$out"
