#!/bin/sh
# lines.sh ROOT: fails when a folder of lines.txt has more lines than its budget. Pages that the program writes do not count.
set -eu
cd "$1"
status=0
while read -r folder budget; do
  case $folder in '' | '#'*) continue ;; esac
  lines=$(find "$folder" -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.js' -o \
    -name '*.css' -o -name '*.py' -o -name '*.sh' -o -name '*.md' \) ! -path 'docs/results*' ! -path 'docs/how-many-heads*' \
    -exec cat {} + | wc -l)
  [ "$lines" -le "$budget" ] || { echo "$folder: $lines lines, its budget in tests/style/lines.txt is $budget"; status=1; }
done <tests/style/lines.txt
exit $status
