#!/bin/sh
# replay.sh TARGET SEEDS FOLDER NAME CRASHERS: makes the seeds in FOLDER and runs a target once over its own, and over the
# inputs that once crashed it.
set -eu
"$2" "$3"
if [ -d "$5" ]; then exec "$1" "$3/$4" "$5"; fi
exec "$1" "$3/$4"
