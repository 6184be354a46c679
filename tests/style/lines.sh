#!/bin/sh
# lines.sh ROOT: fails when a folder of lines.txt has more lines than its budget, and when a commit raised a budget without
# a line "Lines: what they are for" in its message. Pages that the program writes do not count.
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

# Commits since this rule. A source archive has no commits, and a shallow clone only the last ones.
budgets=tests/style/lines.txt
rule=$(git log --format=%H -S'since this rule' -- tests/style/lines.sh 2>/dev/null | tail -n 1) || exit $status
for commit in $([ -z "$rule" ] || git log --format=%H "$rule..HEAD" -- $budgets); do
  git show -s --format=%B "$commit" | grep -q '^Lines: .' && continue
  raised=$({ git show "$commit^:$budgets" && git show "$commit:$budgets"; } 2>/dev/null |
    awk '!/^#/ && NF == 2 { if ($1 in budget && $2 > budget[$1]) print $1; budget[$1] = $2 }')
  [ -z "$raised" ] || { echo "commit $commit raises the budget of" $raised "and its message has no line 'Lines: what for'"; status=1; }
done
exit $status
