#!/bin/sh
# embed.sh OUT.cpp FOLDER FILE...: new_op_files(), the path below FOLDER and the text of every file.
set -eu
out=$1 folder=$2
shift 2
{
  echo '#include "experiments/new_op/new_op.h"'
  echo 'namespace headroom::experiments {'
  echo 'const std::vector<NewOpFile>& new_op_files() {'
  echo '  static const std::vector<NewOpFile> files{'
  for file in "$@"; do
    printf '      {"%s", R"EMBEDDED(' "${file#"$folder"/}"
    cat "$file"
    echo ')EMBEDDED"},'
  done
  echo '  };'
  echo '  return files;'
  echo '}'
  echo '}  // namespace headroom::experiments'
} >"$out"
