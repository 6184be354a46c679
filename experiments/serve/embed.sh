#!/bin/sh
# embed.sh OUT.cpp FILE...: live_assets(), the name, type and text of every file.
set -eu
out=$1
shift
{
  echo '#include "experiments/serve/assets.h"'
  echo 'namespace headroom::experiments {'
  echo 'const std::vector<LiveAsset>& live_assets() {'
  echo '  static const std::vector<LiveAsset> files{'
  for file in "$@"; do
    case $file in
      *.js) type=text/javascript ;;
      *.css) type=text/css ;;
      *.html) type=text/html ;;
    esac
    printf '      {"%s", "%s; charset=utf-8", R"EMBEDDED(' "${file##*/}" "$type"
    cat "$file"
    echo ')EMBEDDED"},'
  done
  echo '  };'
  echo '  return files;'
  echo '}'
  echo '}  // namespace headroom::experiments'
} >"$out"
