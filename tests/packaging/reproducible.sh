#!/bin/sh
# reproducible.sh ROOT [TARGET…]: builds the last commit twice without ccache, in folders of other names and depths, a day
# apart by SOURCE_DATE_EPOCH's measure, in other time zones and locales, with other users' names and umasks, and compares what
# comes out, byte for byte: all that `meson install` installs and, where there is dpkg-deb, the Debian package, the second made
# on one processor; or only the ninja targets that are named. Keeps nothing.
set -eu
root=$1
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CCACHE_DISABLE=1
unset SOURCE_DATE_EPOCH DEBEMAIL DEBFULLNAME
one=$scratch/one two=$scratch/another/place/two
for place in "$one" "$two"; do
  mkdir -p "$place/tree"
  git -C "$root" archive HEAD | tar -xf - -C "$place/tree"
done
quietly() { # quietly PLACE COMMAND...
  log=$1/log
  shift
  "$@" >>"$log" 2>&1 || { tail -n 30 "$log"; exit 1; }
}
architecture=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || true)
make() { # make PLACE BUILD EPOCH
  place=$1 folder=$2
  export SOURCE_DATE_EPOCH=$3
  shift 3
  quietly "$place" meson setup "$folder" "$place/tree" --prefix=/usr --libdir="lib${architecture:+/$architecture}" --wrap-mode=nodownload \
    -Dcuda=disabled -Dtests=false
  quietly "$place" ninja -C "$folder" "$@"
  if [ $# = 0 ]; then
    quietly "$place" meson install -C "$folder" --no-rebuild --quiet --destdir "$place/installed"
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
package() { # package PLACE BUILD COMMAND…: made by COMMAND. Its times are SOURCE_DATE_EPOCH's, so that is the same for both
  place=$1
  export SOURCE_DATE_EPOCH=1700000000 HEADROOM_BUILD=$2
  shift 2
  mkdir "$place/package"
  quietly "$place" "$@" "$place/tree/packaging/deb.sh" "$place/package"
}
# A build folder inside the tree, and one next to it. A locale that the system lacks counts as C.
(
  export TZ=UTC LC_ALL=C.UTF-8 USER=ann LOGNAME=ann
  umask 022
  make "$one" "$one/tree/build" 1700000000 "$@"
  if [ $# = 0 ] && [ -n "$architecture" ]; then package "$one" "$one/tree/build" env; fi
)
(
  other=$(locale -a 2>/dev/null | grep -viE '^(c|posix|c\.utf-?8)$' | head -n 1)
  export TZ=Asia/Kathmandu LC_ALL="${other:-POSIX}" USER=bob LOGNAME=bob HOME="$scratch"
  umask 027
  make "$two" "$two/elsewhere" 1700086400 "$@"
  if [ $# = 0 ] && [ -n "$architecture" ]; then
    package "$two" "$two/elsewhere" taskset -c "$(taskset -p -c $$ | sed 's/.*: //; s/[-,].*//')"
  fi
)

passed=0 failed=0
# compare FOLDER: its files in both places.
compare() {
  cd "$one/$1"
  for file in $(find . -type f | sort); do
    if cmp "$file" "$two/$1/$file"; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
    fi
    if grep -qF -e "$scratch" "$file"; then
      echo "$file names the folder that it was built in"
      failed=$((failed + 1))
    fi
    case $file in
      */bin/headroom | *.so.* | *.deb) sha256sum "$file" ;;
    esac
  done
  [ "$(find . -type f | wc -l)" = "$(cd "$two/$1" && find . -type f | wc -l)" ] || failed=$((failed + 1))
}
compare installed
find . -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | sed 's/ .*/ is the hash of all installed files and their names/'
if [ -d "$one/package" ]; then compare package; fi
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
