#!/bin/sh
# find_library.sh NVCC NAME: the path of a shared library of nvcc's toolkit: a system install, or NVIDIA's PyPI packages.
set -eu
release=$("$1" --version | sed -n 's/.*release \([0-9]*\).*/\1/p')
if [ "${release:-0}" -lt 12 ]; then
  echo "$1 does not know C++20: CUDA 12 or later is needed" >&2
  exit 1
fi
root=$(dirname "$(readlink -f "$1")")/..
for folder in "$root/lib64" "$root/lib" "$root/targets/$(uname -m)-linux/lib"; do
  for library in "$folder/lib$2.so" "$folder/lib$2.so".[0-9]*; do
    if [ -f "$library" ]; then
      readlink -f "$folder" | sed "s|\$|/${library##*/}|"
      exit 0
    fi
  done
done
echo "no lib$2.so beside $1" >&2
exit 1
