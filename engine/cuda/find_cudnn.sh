#!/bin/sh
# find_cudnn.sh NVCC FOLDER: the folders of cudnn.h and of cuDNN's header-only front end, one per line. Looks in FOLDER (may
# be empty), in the toolkit, in what Python's packages nvidia-cudnn-cu13 and nvidia-cudnn-frontend bring, and in /usr.
set -eu
root=$(dirname "$(readlink -f "$1")")/..
python=$(python3 -c 'import site, sys; print("\n".join(site.getsitepackages() + [site.getusersitepackages()]))' 2>/dev/null || true)
# The Python environment that nvcc itself lies in.
python="$python
$(readlink -f "$root/../.." 2>/dev/null || true)"

find_header() {
  printf '%s\n' "$2" "$root/include" "$(printf '%s' "$python" | sed 's|$|/include|')" \
    "$(printf '%s' "$python" | sed 's|$|/nvidia/cudnn/include|')" "$(printf '%s' "$python" | sed 's|$|/nvidia/cu13/include|')" \
    /usr/include /usr/local/include "/usr/include/$(uname -m)-linux-gnu" | while read -r folder; do
    if [ -n "$folder" ] && [ -f "$folder/$1" ]; then
      readlink -f "$folder"
      break
    fi
  done
}

for header in cudnn.h cudnn_frontend.h; do
  folder=$(find_header $header "$2")
  if [ -z "$folder" ]; then
    echo "no $header" >&2
    exit 1
  fi
  echo "$folder"
done
