#!/bin/sh
# embed_manifest.sh MANIFEST OUT.cpp: manifest_text(), so that the program carries its manifest wherever it is installed.
set -eu
{
  echo '#include "tasks/data/manifest.h"'
  echo 'namespace headroom::tasks {'
  printf 'const char* manifest_text() { return R"MANIFEST('
  cat "$1"
  echo ')MANIFEST"; }'
  echo '}  // namespace headroom::tasks'
} >"$2"
