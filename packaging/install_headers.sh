#!/bin/sh
# install_headers.sh INCLUDEDIR: the headers of the libraries' layers, as `meson install` calls it. When it runs, not when
# the build is configured, so that a new header is never forgotten. Left out: those that private_headers.txt names, and the
# CUDA backend's, which include its vendor's.
set -eu
case $1 in
  /*) target=${DESTDIR:-}$1/headroom ;;
  *) target=$MESON_INSTALL_DESTDIR_PREFIX/$1/headroom ;;
esac
cd "$MESON_SOURCE_ROOT"
private=$PWD/packaging/private_headers.txt
find engine autograd models tasks -name '*.h' -not -path 'engine/cuda/*' | grep -vxF -f "$private" | while read -r header; do
  install -D -m 644 "$header" "$target/$header"
done
