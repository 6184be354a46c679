#!/bin/sh
# embed.sh OUT.cpp head_choices.json: kHeadChoices, the text of the file.
set -eu
{
  echo 'namespace headroom::experiments {'
  echo 'extern const char* const kHeadChoices;'
  printf 'const char* const kHeadChoices = R"EMBEDDED('
  cat "$2"
  echo ')EMBEDDED";'
  echo '}  // namespace headroom::experiments'
} >"$1"
