#!/bin/sh
# embed.sh OUT.cpp paper_tables.json: kPaperTables, the text of the paper's tables.
set -eu
{
  echo '#include "experiments/claims/reference.h"'
  echo 'namespace headroom::experiments {'
  printf 'const char* const kPaperTables = R"EMBEDDED('
  cat "$2"
  echo ')EMBEDDED";'
  echo '}  // namespace headroom::experiments'
} >"$1"
