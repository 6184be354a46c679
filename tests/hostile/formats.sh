#!/bin/sh
# formats.sh ROOT: fails when formats.txt in this folder is not what the source says.
set -eu
cd "$1"
list=tests/hostile/formats.txt status=0
complain() { echo "$list: $*"; status=1; }
while IFS='|' read -r format functions files test; do
  case $format in '' | '#'*) continue ;; esac
  calls="[^A-Za-z_]($(echo $functions | tr ' ' '|'))[({]"
  for file in $files; do
    grep -qE "$calls" "$file" || complain "$format: $file calls none of $functions"
  done
  in=$(echo "${test%%:*}" | tr -d ' ')
  grep -qF -- "${test#*: }" "$in" || complain "$format: no '${test#*: }' in $in"
done <"$list"
for file in $(grep -rlE 'write_file\(|[^:]AtomicFile |AtomicFile>|ofstream|[^_a-z]csv_row\(|shell_word\(|[^_a-z]roff\(' --include='*.cpp' models tasks experiments |
  grep -v '^experiments/output/text.cpp$'); do
  grep -qF -- " $file " "$list" || complain "$file writes, and is not in it"
done
exit $status
