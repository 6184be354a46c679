#!/bin/sh
# write_version.sh ROOT TEMPLATE VERSION: TEMPLATE with @VERSION@ and @COMMIT@ filled in. The commit is "abc1234", with
# +dirty when sources of the program differ from it. Where ROOT is no git checkout of its own (it may lie inside another
# project's), packaging/commit.txt has it: `git archive` wrote it there. Else it is empty.
set -eu
root=$1 template=$2 version=$3
commit=$(sed -nE 's/^([0-9a-f]{7})[0-9a-f]{33,}$/\1/p' "$root/packaging/commit.txt" 2>/dev/null) || commit=
if [ -e "$root/.git" ] && found=$(git -C "$root" rev-parse --short=7 HEAD 2>/dev/null); then
  commit=$found
  changed=$(GIT_OPTIONAL_LOCKS=0 git -C "$root" status --porcelain --untracked-files=no -- meson.build meson_options.txt \
    engine autograd models tasks 'experiments/*.cpp' 'experiments/*.h' 'experiments/*meson.build' packaging subprojects)
  [ -z "$changed" ] || commit=$commit+dirty
fi
sed -e "s/@VERSION@/$version/" -e "s/@COMMIT@/$commit/" "$template"
