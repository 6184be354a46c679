#!/bin/sh
# replay.sh TARGET SEEDS FOLDER NAME CRASHERS: makes the seeds in FOLDER and runs a target once over its own, over large
# files of its kind, and over the inputs that once crashed it.
set -eu
"$2" "$3"
target=$1
set -- "$3/$4" "$3/large/$4" "$5"
for inputs in "$@"; do
  shift
  if [ -d "$inputs" ]; then set -- "$@" "$inputs"; fi
done
exec "$target" "$@"
