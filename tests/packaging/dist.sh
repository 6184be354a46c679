#!/bin/sh
# dist.sh ROOT [BUILD]: the tarball that `meson dist` makes of the last commit holds the files of that commit, builds the
# program and some of its tests without the network and without git, passes them, and runs a smoke profile from the
# tarball's own tree. BUILD (default: ROOT/build) is any configured build folder.
set -eu
root=$1 build=${2:-$1/build}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
rm -rf "$build/meson-dist"
meson dist -C "$build" --no-tests --allow-dirty --formats gztar >"$scratch/dist.log" 2>&1 || { cat "$scratch/dist.log"; exit 1; }
(cd "$build/meson-dist" && sha256sum --check --quiet ./*.sha256sum)
tar -xzf "$build"/meson-dist/headroom-*.tar.gz -C "$scratch"
mkdir "$scratch/commit"
git -C "$root" archive HEAD | tar -xf - -C "$scratch/commit"
diff -r "$scratch/commit" "$scratch"/headroom-*
cd "$scratch"/headroom-*
[ ! -e .git ]
meson setup build --wrap-mode=nodownload --werror -Dcuda=disabled >setup.log 2>&1 || { cat setup.log; exit 1; }
tests="layering-test config-test command-line-test"
# shellcheck disable=SC2086  # words, by intent
ninja -C build experiments/headroom $(printf 'tests/%s ' $tests) >build.log 2>&1 || { tail -n 50 build.log; exit 1; }
version=$(build/experiments/headroom --version)
commit=$(git -C "$root" rev-parse HEAD | cut -c 1-7)
echo "$version" | grep -Eqx "headroom [0-9]+\.[0-9]+\.[0-9]+ \($commit\)" || { echo "--version of a tarball says '$version'"; exit 1; }
build/experiments/headroom run ngram-tradeoff --profile smoke --quiet
[ -s runs/ngram-tradeoff/smoke/report.html ]
# shellcheck disable=SC2086
sh tests/run.sh "$PWD/build" --no-rebuild version $tests
