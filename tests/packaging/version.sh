#!/bin/sh
# version.sh ROOT PROGRAM VERSION: which commit packaging/write_version.sh finds: that of a checkout, with +dirty when one
# of the program's sources has changed; in an archive that which git wrote into it, and else none, though it lies inside
# another project's checkout. And that PROGRAM's --version, doctor, CITATION.cff and the changelog say the same version.
set -eu
root=$1 program=$2 version=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "version: $*" >&2; exit 1; }
printf '@VERSION@ [@COMMIT@]\n' >"$scratch/template"
found() { "$root/packaging/write_version.sh" "$1" "$scratch/template" 1.2.3; }
expect() { [ "$2" = "$3" ] || fail "$1: got '$2' where '$3' is right"; }

expect "no checkout" "$(found "$scratch")" "1.2.3 []"
if command -v git >/dev/null; then
  git() { command git -c user.name=a -c user.email=a@b -C "$scratch" "$@"; }
  git init -q
  mkdir -p "$scratch/engine" "$scratch/docs" "$scratch/tarball"
  for file in engine/a.cpp docs/a.md; do echo 1 >"$scratch/$file"; done
  git add engine docs
  git commit -q -m first
  commit=$(git rev-parse --short=7 HEAD)
  expect "a checkout" "$(found "$scratch")" "1.2.3 [$commit]"
  echo 2 >"$scratch/docs/a.md"
  expect "a changed page" "$(found "$scratch")" "1.2.3 [$commit]"
  echo 2 >"$scratch/engine/a.cpp"
  expect "a changed source" "$(found "$scratch")" "1.2.3 [$commit+dirty]"
  expect "a tarball in a checkout" "$(found "$scratch/tarball")" "1.2.3 []"
  mkdir "$scratch/packaging"
  echo 'packaging/commit.txt export-subst' >"$scratch/.gitattributes" # as this project's
  echo '$Format:%H$' >"$scratch/packaging/commit.txt"
  git add -A
  git commit -q -m second
  commit=$(git rev-parse --short=7 HEAD)
  git archive --prefix=archive/ HEAD | tar -xf - -C "$scratch/tarball"
  expect "an archive" "$(found "$scratch/tarball/archive")" "1.2.3 [$commit]"
  rm -rf "$scratch/.git"
  expect "files without git" "$(found "$scratch")" "1.2.3 []"
fi

grep -qx "version: $version" "$root/CITATION.cff" || fail "CITATION.cff is not of version $version"
[ "$(grep -m 1 '^## ' "$root/CHANGELOG.md" | cut -d ' ' -f 2)" = "$version" ] || fail "CHANGELOG.md does not begin with $version"
said=$("$program" --version)
echo "$said" | grep -Eqx "headroom $version( \([0-9a-f]{7,}(\+dirty)?\))?" || fail "--version says '$said'"
"$program" doctor | grep -qxF "$(echo "$said" | sed 's/ /        /')" || fail "doctor does not say '$said'"
