#!/usr/bin/env bash
# packaging/deb.sh [FOLDER]: makes FOLDER/headroom_VERSION-1_ARCHITECTURE.deb (default: the working folder) on Debian or
# Ubuntu: the program with its studies, pages and completions, the shared libraries, and the notices of all that is compiled
# in; and headroom-dev_VERSION-1_ARCHITECTURE.deb: headers, archives, pkg-config files and the CMake package. Builds in build-deb/, or in $HEADROOM_BUILD; what the package depends on is worked out
# by dpkg-shlibdeps. Needs dpkg-dev beside what the build needs. The same sources give the same bytes: times are that of the
# commit, or SOURCE_DATE_EPOCH. The maintainer is whoever builds it, as Debian's tools have it: $DEBFULLNAME <$DEBEMAIL>.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$(realpath "${1:-$OLDPWD}") build=${HEADROOM_BUILD:-$PWD/build-deb}
for tool in dpkg-deb dpkg-shlibdeps strip; do
  command -v "$tool" >/dev/null || { echo "deb.sh: $tool is missing: apt-get install dpkg-dev" >&2; exit 1; }
done
architecture=$(dpkg --print-architecture)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$({ [ -e .git ] && git log -1 --format=%ct 2>/dev/null; } || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH

# The project has no address of its own. Without the builder's, the field says so: mail to .invalid goes nowhere (RFC 2606).
if [ -n "${DEBEMAIL:-}" ]; then
  case $DEBEMAIL in *'<'*) maintainer=$DEBEMAIL ;; *) maintainer="${DEBFULLNAME:-The headroom contributors} <$DEBEMAIL>" ;; esac
else
  maintainer="The headroom contributors <no-address@headroom.invalid>"
fi

# A package for every machine of the architecture: neither CUDA nor MPI, which a build of one's own has.
[ -f "$build/build.ninja" ] || meson setup "$build" --prefix=/usr --libdir="lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)" \
  --buildtype=release --wrap-mode=nodownload -Dcuda=disabled -Dmpi=disabled -Dtests=false
ninja -C "$build"
version=$(meson introspect "$build" --projectinfo | python3 -c 'import json, sys; print(json.load(sys.stdin)["version"])')
revision=$version-1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
meson install -C "$build" --no-rebuild --quiet --destdir "$tree"
documents=$tree/usr/share/doc/headroom
rm "$documents/LICENSE" # the system has it; `copyright` names it
mv "$documents/CHANGELOG.md" "$documents/changelog"
cat >"$documents/changelog.Debian" <<CHANGELOG
headroom ($revision) unstable; urgency=medium

  * $version, by packaging/deb.sh; see changelog.gz.

 -- $maintainer  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
CHANGELOG
gzip -9n "$documents"/changelog* "$tree"/usr/share/man/man1/*.1
install -D -m 644 packaging/lintian-overrides "$tree/usr/share/lintian/overrides/headroom"
find "$tree" -name '*.so.*' -type f -exec strip --strip-unneeded --remove-section=.comment --remove-section=.note {} + \
  -exec chmod a-x {} +
find "$tree" -name '*.a' -exec strip --strip-debug --remove-section=.comment --enable-deterministic-archives {} +
strip --remove-section=.comment --remove-section=.note "$tree/usr/bin/headroom"
mkdir "$tree/usr/share/zsh/vendor-completions" # Debian's zsh looks there, not in site-functions
mv "$tree/usr/share/zsh/site-functions/_headroom" "$tree/usr/share/zsh/vendor-completions"
rmdir "$tree/usr/share/zsh/site-functions"

# Whoever hands on what holds code of others hands on their notices.
{
  printf 'headroom is under the Apache License 2.0: /usr/share/common-licenses/Apache-2.0 on Debian systems.\n'
  printf 'LICENSES.md lists what it is built with. The notices of what is compiled into its files:\n'
  python3 - packaging/components.json <<'PYTHON'
import json, os, sys
for one in json.load(open(sys.argv[1], encoding="utf-8")):
    notice = f"/usr/share/doc/{one.get('debian')}/copyright"
    if one["use"] == "compiled in" and os.path.exists(notice):
        print(f"\n==== {one['name']} ({one['url']})\n")
        print(open(notice, encoding="utf-8").read().rstrip())
PYTHON
} >"$documents/copyright"

# dpkg-shlibdeps reads which libraries the files want and which packages have them; ours want each other as well.
mkdir -p "$work/debian"
printf 'Source: headroom\n\nPackage: headroom\nArchitecture: any\n' >"$work/debian/control"
libraries=$(dirname "$(find "$tree" -name 'libheadroom-engine.so')")
depends=$(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info -l"$libraries" "$tree/usr/bin/headroom" \
  "$libraries"/libheadroom-*.so.* 2>"$work/warnings" | sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || { cat "$work/warnings" >&2; exit 1; }

# pack NAME TREE: makes the package of a tree from the rest of its control fields on standard input.
pack() {
  mkdir -p "$2/DEBIAN"
  {
    printf 'Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$1" "$revision" "$architecture" "$maintainer"
    printf 'Installed-Size: %s\n' "$(find "$2/usr" -printf '%y %s\n' | awk '{ kib += $1 == "f" ? int(($2 + 1023) / 1024) : 1 } END { print kib }')"
    cat
  } >"$2/DEBIAN/control"
  (cd "$2" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  find "$2" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  chmod -R u=rwX,go=rX "$2"
  dpkg-deb --root-owner-group --build -Zxz "$2" "$out/$1_${revision}_$architecture.deb"
}

# What programs are compiled and linked with. pkg-config asks for what the libraries need, too, to link statically.
dev=$work/dev
(cd "$tree" && find usr/include usr/lib \( -name '*.h' -o -name '*.pc' -o -name '*.cmake' -o -name '*.a' -o -name 'lib*.so' \) -print0) |
  while IFS= read -r -d '' file; do mkdir -p "$dev/$(dirname "$file")" && mv "$tree/$file" "$dev/$file"; done
find "$tree/usr" -type d -empty -delete
mkdir -p "$dev/usr/share/doc"
ln -s headroom "$dev/usr/share/doc/headroom-dev"
pack headroom-dev "$dev" <<CONTROL
Depends: headroom (= $revision), libfmt-dev, libpcre2-dev, libutf8proc-dev, libsentencepiece-dev, coinor-libclp-dev, libssl-dev, zlib1g-dev
Breaks: headroom (<< $revision)
Replaces: headroom (<< $revision)
Suggests: g++, pkg-config
Section: libdevel
Priority: optional
Description: C++20 engine for tensors, gradients and Transformers: headers
 Headers, archives, pkg-config files and a CMake package of the libraries that
 headroom is built on.
CONTROL

mkdir "$tree/DEBIAN"
printf 'activate-noawait ldconfig\n' >"$tree/DEBIAN/triggers"
for library in "$libraries"/libheadroom-*.so.*; do # a program that needs one of them needs this very version
  name=${library##*/}
  echo "${name%%.so.*} ${name##*.so.} headroom (= $revision)"
done >"$tree/DEBIAN/shlibs"
pack headroom "$tree" <<CONTROL
Depends: $depends
Suggests: librsvg2-bin, headroom-dev
Section: science
Priority: optional
Description: how many attention heads, of what width: studies and an engine
 Trains small Transformers as a study file says, judges the claims of the
 study, and writes a report; plans, probes and compresses the attention heads
 of trained models. With the C++20 libraries that it is built on; headroom-dev
 has what programs need to be linked with them.
CONTROL
