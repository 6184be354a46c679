#!/bin/sh
# install_program.sh PROGRAM DATADIR MANDIR: what belongs to the program beside itself, as `meson install` calls it:
# the studies, examples and workloads, the manual's pages, completions for three shells, licences. The pages and scripts come from
# PROGRAM, which knows its commands, and the studies are those that lie there when it runs, so that none is forgotten.
set -eu
program=$1
target() { # target FOLDER: where it is installed now
  case $1 in
    /*) echo "${DESTDIR:-}$1" ;;
    *) echo "$MESON_INSTALL_DESTDIR_PREFIX/$1" ;;
  esac
}
share=$(target "$2") manual=$(target "$3")
cd "$(dirname "$0")/.."
for file in experiments/*.toml examples/studies/*.toml experiments/tools/bench/workloads.toml experiments/data/*.json; do
  install -D -m 644 "$file" "$share/headroom/$file"
done
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$program" man --to "$pages"
for page in "$pages"/*.1; do install -D -m 644 "$page" "$manual/man1/${page##*/}"; done
for shell in bash:bash-completion/completions/headroom zsh:zsh/site-functions/_headroom fish:fish/vendor_completions.d/headroom.fish; do
  "$program" completion "${shell%%:*}" >"$pages/script"
  install -D -m 644 "$pages/script" "$share/${shell#*:}"
done
for file in LICENSE LICENSES.md CITATION.cff CHANGELOG.md; do install -D -m 644 "$file" "$share/doc/headroom/$file"; done
