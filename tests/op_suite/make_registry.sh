#!/bin/sh
# make_registry.sh OPS.txt OUT.cpp: the table of every op's samples. An op without samples does not link.
set -eu
ops=$1 out=$2
{
  echo '#include "tests/op_suite/registry.h"'
  echo 'namespace headroom::autograd {'
  while read -r op; do echo "OpSamples ${op}_samples();"; done <"$ops"
  echo 'const std::vector<OpEntry>& op_registry() {'
  echo '  static const std::vector<OpEntry> entries{'
  while read -r op; do echo "      {\"$op\", ${op}_samples},"; done <"$ops"
  echo '  };'
  echo '  return entries;'
  echo '}'
  echo '}  // namespace headroom::autograd'
} >"$out"
