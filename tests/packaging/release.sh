#!/bin/sh
# release.sh ROOT VERSION: packaging/release.sh makes the same source archive and recipes twice; the recipes are filled in,
# parse where there are ruby and PyYAML, and the formula asks for what the launcher installs; a tag that is not the version's, and
# one without a day in the changelog, are refused. Skips (77) outside of a git checkout.
set -eu
root=$1 version=$2
[ -e "$root/.git" ] || { echo "skipped: no git checkout"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "release: $*" >&2; exit 1; }
unset HEADROOM_TAG
make() { "$root/packaging/release.sh" "$scratch/$1" source recipes sums >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }; }
make one
(umask 077 && export TZ=Asia/Kathmandu && sleep 1 && make two)
cmp "$scratch/one/SHA256SUMS" "$scratch/two/SHA256SUMS"
(cd "$scratch/two" && sha256sum --check --quiet SHA256SUMS)

cd "$scratch/one"
archive=headroom-$version.tar.gz formula=homebrew/headroom.rb recipe=conda/recipe.yaml
tar -xzOf "$archive" "headroom-$version/packaging/commit.txt" | grep -qx "$(git -C "$root" rev-parse HEAD)" || fail "the archive has another commit"
sum=$(sha256sum "$archive" | cut -d ' ' -f 1)
for file in $recipe $formula; do
  grep -q "$sum" $file || fail "$file lacks the archive's SHA-256"
  grep -q "/v$version/$archive" $file || fail "$file lacks the archive's address"
  if grep -n '@[A-Z0-9]*@' $file; then fail "$file is not filled in"; fi
done
if command -v ruby >/dev/null; then ruby -c $formula; fi
if python3 -c 'import yaml' 2>/dev/null; then python3 -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' $recipe; fi

# The launcher's last column, without the compiler and what is for tests; pkg-config is Homebrew's pkgconf.
sed -n "/<<'NEEDS'/,/^NEEDS/p" "$root/headroom" | awk 'NF == 6 { print $6 }' | grep -vx 'gcc\|catch2' | sort -u >"$scratch/installed"
sed -n 's/^ *depends_on "\([^"]*\)".*/\1/p' $formula | sort >"$scratch/asked"
diff "$scratch/installed" "$scratch/asked" || fail "$formula asks for other packages than the launcher installs"

refused() { # refused TAG WORDS
  if HEADROOM_TAG=$1 "$root/packaging/release.sh" "$scratch/refused" source >"$scratch/log" 2>&1; then fail "the tag $1 is not refused"; fi
  grep -q "$2" "$scratch/log" || { cat "$scratch/log"; fail "the tag $1: expected '$2'"; }
}
refused v0.0.1 "the tag is v0.0.1, and meson.build has $version"
if grep -qx "## $version (unreleased)" "$root/CHANGELOG.md"; then refused "v$version" "CHANGELOG.md has no line"; fi
