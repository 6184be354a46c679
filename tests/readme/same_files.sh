#!/bin/sh
# same_files.sh ROOT DOCUMENT FOLDER: DOCUMENT shows every program of FOLDER, or lines of it, word for word, in a block that
# is fenced with ```cpp FOLDER/FILE.
set -eu
cd "$1"
status=0
for file in $(find "$3" -name '*.cpp' | sort); do
  shown=$(awk -v file="$file" '/^```/ && on { exit } on { print } /^```/ && $2 == file { on = 1 }' "$2")
  case $(cat "$file") in
    *"${shown:-$file is not shown}"*) ;;
    *)
      echo "$2 does not show lines of $file"
      status=1
      ;;
  esac
done
exit $status
