#!/bin/sh
# same_files.sh ROOT DOCUMENT FOLDER: every file of FOLDER stands in DOCUMENT, word for word, in a block that is fenced
# with ```LANGUAGE FOLDER/FILE.
set -eu
cd "$1"
shown=$(mktemp)
trap 'rm -f "$shown"' EXIT
status=0
for file in $(find "$3" -type f | sort); do
  awk -v file="$file" '/^```/ && on { exit } on { print } /^```/ && $2 == file { on = 1 }' "$2" >"$shown"
  cmp "$shown" "$file" || status=1
done
exit $status
