#!/bin/sh
# reproducible.sh ROOT [TARGET…]: builds the last commit twice, in folders of other names and depths, a day apart by
# SOURCE_DATE_EPOCH's measure and without ccache, and compares what comes out, byte for byte: all that `meson install`
# installs, or only the ninja targets that are named.
set -eu
root=$1
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CCACHE_DISABLE=1
one=$scratch/one two=$scratch/another/place/two
for place in "$one" "$two"; do
  mkdir -p "$place/tree"
  git -C "$root" archive HEAD | tar -xf - -C "$place/tree"
done
make() { # make PLACE BUILD EPOCH
  place=$1 folder=$2
  export SOURCE_DATE_EPOCH=$3
  shift 3
  meson setup "$folder" "$place/tree" --prefix=/usr --libdir=lib --wrap-mode=nodownload -Dcuda=disabled -Dtests=false \
    >"$place/log" 2>&1 && ninja -C "$folder" "$@" >>"$place/log" 2>&1 || { tail -n 30 "$place/log"; exit 1; }
  if [ $# = 0 ]; then
    meson install -C "$folder" --no-rebuild --quiet --destdir "$place/installed" >>"$place/log" 2>&1 ||
      { tail -n 30 "$place/log"; exit 1; }
  else
    for target in "$@"; do
      mkdir -p "$place/installed/$(dirname "$target")"
      case $target in # archives that are not installed hold no objects but their names
        *.a) ar p "$folder/$target" >"$place/installed/$target" ;;
        *) cp "$folder/$target" "$place/installed/$target" ;;
      esac
    done
  fi
}
# A build folder inside the tree, and one beside it.
make "$one" "$one/tree/build" 1700000000 "$@"
make "$two" "$two/elsewhere" 1700086400 "$@"

passed=0 failed=0
cd "$one/installed"
for file in $(find . -type f | sort); do
  if cmp "$file" "$two/installed/$file"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
  if grep -qF -e "$scratch" "$file"; then
    echo "$file names the folder that it was built in"
    failed=$((failed + 1))
  fi
done
[ "$(find . -type f | wc -l)" = "$(cd "$two/installed" && find . -type f | wc -l)" ] || failed=$((failed + 1))
find . -type f | sort | xargs sha256sum | sha256sum | sed 's/ .*/ is the hash of all files and their names/'
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
