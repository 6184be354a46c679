#!/bin/sh
# embed_text.sh OUT.cpp NAME FILE: headroom::experiments::NAME, the text of the file.
set -eu
{
  echo 'namespace headroom::experiments {'
  echo "extern const char* const $2;"
  printf 'const char* const %s = R"EMBEDDED(' "$2"
  cat "$3"
  echo ')EMBEDDED";'
  echo '}  // namespace headroom::experiments'
} >"$1"
