#!/bin/sh
# installed.sh ROOT BUILD: what `meson install` gives other projects, seen from outside the tree. Installs BUILD into a
# scratch folder, where it was not configured to go, and uses it there with the flags of pkg-config alone: headers of each
# layer, programs that link each layer as shared and as static library, CMake.
set -u
root=$1 build=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0 skipped=0
check() { # check NAME COMMAND...: counts it, and shows what it printed when it failed
  name=$1
  shift
  if "$@" >"$scratch/output" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $name"
    sed 's/^/  /' "$scratch/output"
  fi
}

if ! meson install -C "$build" --no-rebuild --quiet --destdir "$scratch/both" >"$scratch/output" 2>&1; then
  cat "$scratch/output"
  exit 1
fi
pkgconfig=$(dirname "$(find "$scratch/both" -name headroom-engine.pc)")
libraries=$(dirname "$pkgconfig")
headers=$(dirname "$(find "$scratch/both" -path '*/headroom/headroom.h')")
# The same tree with archives alone, and with shared libraries alone, as far as this build has them.
for kind in shared static; do
  cp -r "$scratch/both" "$scratch/$kind"
done
find "$scratch/shared" -name 'libheadroom*.a' -delete
find "$scratch/static" -name 'libheadroom*.so*' -delete
in_tree() { echo "$scratch/$1/${2#"$scratch"/both/}"; } # in_tree shared|static PATH
prefix=$(sed -n 's/^prefix=//p' "$pkgconfig/headroom-engine.pc")
flags() { # flags shared|static --cflags|--libs MODULE
  case $prefix in
    /*) moved=--define-variable=prefix=$scratch/$1$prefix ;;
    *) moved= ;; # as meson.build configures it: the file knows where it lies
  esac
  PKG_CONFIG_PATH=$(in_tree "$1" "$pkgconfig") pkg-config $moved $([ "$1" = static ] && echo --static) "$2" "$3"
}
warnings='-std=c++20 -Wall -Wextra -Wpedantic -Werror -Wno-psabi'
compile="${CXX:-c++} $warnings"

# --- What the files say.
no_build_paths() { ! grep -nF -e "$root" -e "$build" "$pkgconfig"/headroom*.pc; }
check "no .pc file names the tree or the build folder" no_build_paths
relocatable() { ! grep -nE '(^prefix=|[ =]-[IL])/' "$pkgconfig"/headroom*.pc; }
case $prefix in
  /*)
    echo "skipped: this build was configured with -Dpkgconfig.relocatable=false"
    skipped=$((skipped + 1))
    ;;
  *) check "paths in .pc files are relative to the file" relocatable ;;
esac

includes_are_installed() { # each names a file from its own folder, so that no folder on the compiler's list can stand in
  (
    cd "$headers" || exit 1
    bad=0
    grep -rnoE '^ *# *include *"[^"]+"' . >"$scratch/includes"
    while IFS=: read -r file line include; do
      header=$(dirname "$file")/$(echo "$include" | cut -d '"' -f 2)
      [ -f "$header" ] || { echo "$file:$line includes $header, which is not installed"; bad=1; }
    done <"$scratch/includes"
    [ "$(wc -l <"$scratch/includes")" -gt 100 ] && exit $bad
  )
}
check "every header that an installed one includes is installed" includes_are_installed

own_names() {
  (
    cd "$headers" || exit 1
    ! { grep -rnE '^ *# *define ' . | grep -v 'define HEADROOM_' || grep -rnE '^using namespace' .; }
  )
}
check "headers define no macro but HEADROOM_*, and open no namespace" own_names

# --- Each layer's headers compile with the flags of its own .pc file, and no others' libraries but fmt and the compiler's.
headers_of() { # headers_of LAYER
  (cd "$headers" && find "$1" -name '*.h' -printf 'headroom/%p\n' | sort)
}
headers_compile() { # headers_compile LAYER
  headers_of "$1" | sed 's/.*/#include "&"/' >"$scratch/all.cpp"
  [ -s "$scratch/all.cpp" ] || return 1
  $compile $(flags both --cflags "headroom-$1") $(flags both --variable=flags_portable headroom-engine) -fsyntax-only "$scratch/all.cpp"
}
each_header_compiles() { # each_header_compiles LAYER
  for header in $(headers_of "$1"); do
    echo "#include \"$header\"" >"$scratch/one.cpp"
    $compile $(flags both --cflags "headroom-$1") $(flags both --variable=flags_portable headroom-engine) \
      -fsyntax-only "$scratch/one.cpp" || return 1
  done
}
for layer in engine autograd models tasks; do
  check "headers of $layer" headers_compile $layer
  if [ "${HEADROOM_SLOW:-0}" = 1 ]; then
    check "headers of $layer, each alone" each_header_compiles $layer
  fi
done
own_macros() {
  echo '#include "headroom/headroom.h"' >"$scratch/macros.cpp"
  $compile $(flags both --cflags headroom-tasks) -dM -E "$scratch/macros.cpp" >"$scratch/macros" || return 1
  ! grep -E '^#define (FMT|CURL|NLOHMANN|SQLITE|DNNL|PCRE2|UTF8PROC|BOOST)_[A-Z_]*VERSION' "$scratch/macros"
}
check "headers of everyday use bring no other library's macros" own_macros

# A project with files that are called like headers, one of them even under headroom/.
shadowed() {
  mkdir -p "$scratch/own/models" "$scratch/own/engine" "$scratch/own/headroom/engine" || return 1
  echo 'int own();' | tee "$scratch/own/models/config.h" >"$scratch/own/engine/tensor.h"
  echo '#error shadowed' | tee "$scratch/own/engine/shape.h" >"$scratch/own/headroom/engine/shape.h"
  printf '#include "models/config.h"\n#include "engine/tensor.h"\n#include "headroom/headroom.h"\n' >"$scratch/own/main.cpp"
  echo 'int main() { return headroom::models::TransformerConfig().layers == 0 ? own() : 0; }' >>"$scratch/own/main.cpp"
  $compile -I"$scratch/own" $(flags both --cflags headroom-tasks) -fsyntax-only "$scratch/own/main.cpp"
}
check "a project's own models/config.h" shadowed

# --- Programs. An archive or a shared library that a .pc file forgets is an undefined symbol here.
unwanted() { # unwanted PROGRAM PATTERN: prints the libraries it loads that match
  LD_LIBRARY_PATH=$(in_tree shared "$libraries") ldd "$1" | grep -E "$2"
}
program() { # program KIND NAME LAYER UNWANTED
  $compile -O1 $(flags "$1" --cflags "headroom-$3") -c "$root/examples/$2/main.cpp" -o "$scratch/$2.o" &&
    ${CXX:-c++} "$scratch/$2.o" $(flags "$1" --libs "headroom-$3") -o "$scratch/$2-$1" || return 1
  if unwanted "$scratch/$2-$1" "$4"; then
    echo "$2 ($1) loads the libraries above"
    return 1
  fi
  mkdir "$scratch/run-$2-$1" &&
    (cd "$scratch/run-$2-$1" && LD_LIBRARY_PATH=$(in_tree shared "$libraries") "$scratch/$2-$1")
}
cuda='libcublas|libcudart|libheadroom-cuda'
files='libcurl|libcrypto|libClp|libCoinUtils'
for kind in shared static; do
  if [ -z "$(find "$scratch/$kind" -name 'libheadroom-engine.so' -o -name 'libheadroom-engine.a')" ]; then
    echo "skipped: this build installs no $kind library"
    skipped=$((skipped + 6))
    continue
  fi
  check "tensors alone, $kind" program $kind tensors engine "$cuda|$files|libpcre2|libutf8proc|libsqlite"
  check "gradients, $kind" program $kind gradients autograd "$cuda|$files|libpcre2|libutf8proc|libsqlite"
  check "a model from a file, $kind" program $kind decode models "$cuda|$files|libsqlite"
  check "training, $kind" program $kind train tasks "$cuda|libsqlite"
  check "a recurrent network as code, $kind" program $kind char_rnn tasks "$cuda|libsqlite"
  check "a vision transformer as code, $kind" program $kind vit tasks "$cuda|libsqlite"
done

# --- The program, from an empty folder: its studies, pages and completions were installed with it.
installed_program=$(find "$scratch/both" -path '*/bin/headroom')
share=$(dirname "$(dirname "$installed_program")")/share
program_runs() {
  mkdir "$scratch/empty" && cd "$scratch/empty" && "$installed_program" list >list.txt &&
    [ "$(grep -c '\.toml$' list.txt)" = "$(ls "$root"/experiments/*.toml | wc -l)" ] &&
    "$installed_program" run ngram-tradeoff --profile smoke --quiet --threads 2 && [ -s runs/ngram-tradeoff/smoke/report.html ]
}
check "the installed program runs an installed study" program_runs
program_pages() {
  for page in headroom headroom-run headroom-plan; do [ -s "$share/man/man1/$page.1" ] || return 1; done
  for file in bash-completion/completions/headroom zsh/site-functions/_headroom fish/vendor_completions.d/headroom.fish \
    doc/headroom/LICENSE doc/headroom/LICENSES.md; do
    [ -s "$share/$file" ] || { echo "$file is missing"; return 1; }
  done
}
check "man pages, completions and licences are installed" program_pages

# --- Shared libraries show their own names only. fmt marks its types as visible: so are its names, and those of std's
# templates over its types that the compiler has not inlined.
foreign_symbols() {
  ! nm -DC --defined-only "$libraries"/libheadroom-*.so | grep -vE 'headroom|(^|[ <])fmt::|^$'
}
if ls "$libraries"/libheadroom-*.so >/dev/null 2>&1; then
  check "shared libraries show no names but headroom's" foreign_symbols
fi

# --- The CMake package, as docs/library.md has it.
cmake_project() {
  mkdir -p "$scratch/cmake" && awk '/^```/ && on { exit } on { print } /^```cmake/ { on = 1 }' "$root/docs/library.md" \
    >"$scratch/cmake/CMakeLists.txt" && cp "$root/examples/gradients/main.cpp" "$scratch/cmake" &&
    cmake -S "$scratch/cmake" -B "$scratch/cmake/build" -Dheadroom_DIR="$libraries/cmake/headroom" &&
    cmake --build "$scratch/cmake/build" && LD_LIBRARY_PATH=$libraries "$scratch/cmake/build/gradients" || return 1
  ! cmake -S "$scratch/cmake" -B "$scratch/cmake/absent" -Dheadroom_DIR="$libraries/cmake/headroom" \
    -DCMAKE_PROJECT_INCLUDE="$scratch/absent.cmake" 2>"$scratch/absent" || return 1
  grep -q 'headroom-nonsense is not installed' "$scratch/absent" || { cat "$scratch/absent"; return 1; }
}
echo 'find_package(headroom REQUIRED COMPONENTS nonsense)' >"$scratch/absent.cmake"
if command -v cmake >/dev/null && [ "${prefix#/}" = "$prefix" ]; then
  check "CMake" cmake_project
else
  echo "skipped: CMake, which is not installed or would look for the headers in $prefix"
  skipped=$((skipped + 1))
fi

# --- As a Meson subproject without the program: configured, its headers made, a program's source compiled, and what would be
# installed; and the scripts of `meson install`, which must not look for the tree in the outer project.
subproject() {
  mkdir -p "$scratch/outer/subprojects" && ln -s "$root" "$scratch/outer/subprojects/headroom" &&
    cp "$root/examples/gradients/main.cpp" "$scratch/outer" &&
    awk '/^```/ && on { exit } on { print } /^```meson/ { on = 1 }' "$root/docs/library.md" >"$scratch/outer/meson.build" || return 1
  meson setup --wrap-mode=nodownload "$scratch/outer/build" "$scratch/outer" && cd "$scratch/outer/build" || return 1
  [ -z "$(find . -path '*experiments*' -name '*.o')" ] && ! grep -q 'sqlite\|microhttpd' build.ninja || return 1
  meson introspect --installed >"$scratch/would-be" && grep -q 'libheadroom-engine' "$scratch/would-be" || return 1
  ninja subprojects/headroom/packaging/headroom-headers.h || return 1
  sh -c "$(ninja -t commands gradients.p/main.cpp.o | tail -n 1 | sed 's/ -o [^ ]* / -fsyntax-only /')" || return 1
  MESON_SOURCE_ROOT=$scratch/outer MESON_INSTALL_DESTDIR_PREFIX=$scratch/outer/usr "$root/packaging/headers.py" \
    "$scratch/outer/build/subprojects/headroom" engine,autograd include &&
    [ -s "$scratch/outer/usr/include/headroom/engine/ops.h" ] && [ ! -e "$scratch/outer/usr/include/headroom/models" ]
}
check "a Meson subproject" subproject

if [ -n "${HEADROOM_TALLY:-}" ]; then
  echo "installed: $passed passed, $failed failed, $skipped skipped" >>"$HEADROOM_TALLY"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
