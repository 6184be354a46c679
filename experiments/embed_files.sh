#!/bin/sh
# embed_files.sh OUT.cpp HEADER TYPE FUNCTION FOLDER FILE...: FUNCTION(), a std::vector<TYPE> with the path below the folder
# whose own path ends with FOLDER, and the text, of every file; HEADER declares both.
set -eu
out=$1 header=$2 type=$3 function=$4 folder=$5
shift 5
{
  printf '#include "%s"\n' "$header"
  echo 'namespace headroom::experiments {'
  printf 'const std::vector<%s>& %s() {\n' "$type" "$function"
  printf '  static const std::vector<%s> files{\n' "$type"
  for file in "$@"; do
    printf '      {"%s", R"EMBEDDED(' "${file##*"$folder"/}"
    cat "$file"
    echo ')EMBEDDED"},'
  done
  echo '  };'
  echo '  return files;'
  echo '}'
  echo '}  // namespace headroom::experiments'
} >"$out"
