#!/bin/sh
# run-all.sh [ARGUMENTS of run_all.py]: everything that is worth knowing of a GPU, in under nine minutes: see run_all.py.
# Finds CUDA's libraries where the system, the toolkit or Python's packages have them.
set -eu
here=$(dirname -- "$(readlink -f -- "$0")")
root=$(readlink -f "$here/../..")
if [ -f "$root/programs.tar.xz" ] && [ ! -f "$root/bin/complete" ]; then # of a bundle, at its first run
  python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$root/programs.tar.xz" "$root"
  touch "$root/bin/complete"
fi
packages=$(python3 -c 'import site, sys; print(" ".join(site.getsitepackages() + [site.getusersitepackages()]))')
for folder in /usr/local/cuda/lib64 /usr/local/cuda*/lib64 \
  $(for p in $packages; do echo "$p"/nvidia/cu13/lib "$p"/nvidia/*/lib "$p"/torch/lib; done); do
  if [ -d "$folder" ]; then LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder; fi
done
export LD_LIBRARY_PATH
export HEADROOM_SOURCE_ROOT="$root"
exec python3 "$here/run_all.py" "$@"
