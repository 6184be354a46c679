#!/bin/sh
# make_registry.sh OPS.txt OUT.cpp: the table of every op's samples.
set -eu
{
  echo '#include "autograd/op_suite/registry.h"'
  echo 'namespace headroom::autograd {'
  while read -r op; do echo "OpSamples ${op}_samples();"; done <"$1"
  echo 'const std::vector<OpEntry>& op_registry() {'
  echo '  static const std::vector<OpEntry> entries{'
  while read -r op; do echo "      {\"$op\", ${op}_samples},"; done <"$1"
  echo '  };'
  echo '  return entries;'
  echo '}'
  echo '}  // namespace headroom::autograd'
} >"$2"
