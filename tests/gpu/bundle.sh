#!/bin/sh
# bundle.sh FOLDER [MESON OPTIONS...]: builds with nvcc and puts into FOLDER all that tests/gpu/run-all.sh needs on a machine
# that has a driver, CUDA's libraries and PyTorch, and no network: the program, one test program (the op suite, the golden
# tests and all that use a GPU), their data, and every shared library but CUDA's; those of the C library lie apart
# (lib/system), for a machine whose own is too old. Programs and libraries are packed (programs.tar.xz); run-all.sh unpacks
# them next to itself. FOLDER may be moved. Fails above 44 MiB, so that it fits into 64 MiB with what is sent along.
#
# HEADROOM_BUILD: build folder (default: build-bundle). HEADROOM_DATA: the folder that data/tinyshakespeare/ lies in, for the study.
# Without it nothing is packed, as the study would fail there; HEADROOM_DATA=none packs without the study's text.
# HEADROOM_PACKING: how hard xz works (-6).
set -eu
here=$(dirname -- "$(readlink -f -- "$0")")
root=$here/../..
folder=$1
shift
build=${HEADROOM_BUILD:-$root/build-bundle}
programs="experiments/headroom tests/gpu-test"

text=${HEADROOM_DATA:-}/data/tinyshakespeare
if [ "${HEADROOM_DATA:-}" != none ] && [ ! -d "$text" ]; then
  echo "bundle.sh: no $text: HEADROOM_DATA names its folder, or is none to pack without it" >&2
  exit 1
fi

if [ ! -f "$build/build.ninja" ]; then
  # Code for Hopper alone: compute_90 is there for later cards.
  # Products on the CPU by our own kernels: oneDNN alone would take 30 MiB.
  # An RPATH, as a RUNPATH would not be followed for what the libraries themselves need.
  LDFLAGS='-Wl,-rpath,$ORIGIN/../lib -Wl,--disable-new-dtags' meson setup "$build" "$root" --buildtype=release -Dcuda=enabled -Dcudnn=enabled \
    -Dgpu_architectures=90 -Ddefault_library=static -Donednn=disabled -Dmpi=disabled "$@"
fi
# shellcheck disable=SC2086
# The kernels would be in each program at 16 MB.
NVCC_APPEND_FLAGS='--compress-mode=size' ninja -C "$build" $programs

mkdir -p "$folder/bin" "$folder/lib/system" "$folder/tests/golden" "$folder/tests/gpu" "$folder/experiments/tools/bench" "$folder/data"
# shellcheck disable=SC2016
for program in $programs; do
  strip -o "$folder/bin/${program##*/}" "$build/$program"
  ldd "$build/$program"
done | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\/.*ld-linux/ { print $1 }' | sort -u | while read -r library; do
  case ${library##*/} in
    libcuda.so* | libcudart.so* | libcublas*.so* | libcudnn*.so* | libnv*.so*) ;;
    libc.so* | libm.so* | libdl.so* | librt.so* | libpthread.so* | libresolv.so* | ld-linux*) cp -L "$library" "$folder/lib/system/" ;;
    *) cp -L "$library" "$folder/lib/" ;;
  esac
done
cp "$root"/tests/golden/*.json "$folder/tests/golden/"
for part in models/pretrained/checkpoints/smollm2 models/pretrained/text.txt tasks/distillation/train.tsv tasks/distillation/dev.tsv; do
  mkdir -p "$(dirname "$folder/tests/$part")"
  cp -r "$root/tests/$part" "$folder/tests/$part"
done
cp "$root"/experiments/ntp-shakespeare.toml "$folder/experiments/"
cp "$root"/experiments/tools/bench/workloads.toml "$folder/experiments/tools/bench/"
cp "$here"/run-all.sh "$here"/*.py "$here"/*.toml "$folder/tests/gpu/"
ln -sf tests/gpu/run-all.sh "$folder/run-all.sh"
tar -C "$folder" -c bin lib | xz -T0 "${HEADROOM_PACKING:--6}" >"$folder/programs.tar.xz"
rm -r "$folder/bin" "$folder/lib"
[ "${HEADROOM_DATA:-}" = none ] || cp -r "$text" "$folder/data/"

size=$(du -sk "$folder" | cut -f 1)
echo "$folder: $((size / 1024)) MiB"
[ "$size" -le $((44 * 1024)) ] || { echo "$folder: more than 44 MiB" >&2; exit 1; }
