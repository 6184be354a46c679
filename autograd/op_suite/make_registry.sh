#!/bin/sh
# make_registry.sh OPS.txt OUT.cpp [OP...]: the table of every op's samples; the ops named last have a CUDA kernel.
set -eu
ops=$1 out=$2
shift 2
on_cuda=" $* "
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
      *" $op "*) echo "      {\"$op\", with_cuda<${op}_samples>}," ;;
      *) echo "      {\"$op\", ${op}_samples}," ;;
    esac
  done <"$ops"
  echo '  };'
  echo '  return entries;'
  echo '}'
  echo '}  // namespace headroom::autograd'
} >"$out"
