#!/bin/sh
# names.sh OUT.cpp HEADER...: taken_names(), what the headers declare outside of functions and classes: functions, types,
# constants, namespaces and macros. Relies on clang-format: such a declaration starts its line.
set -eu
out=$1
shift
{
  echo '#include "experiments/tools/new_op/new_op.h"'
  echo 'namespace headroom::experiments {'
  echo 'const std::set<std::string>& taken_names() {'
  echo '  static const std::set<std::string> names{'
  sed -nE \
    -e 's/^#define ([A-Za-z_0-9]+).*/\1/p' \
    -e 's/^(struct|class|enum class|enum|using|concept) ([A-Za-z_0-9]+).*/\2/p' \
    -e '/^namespace /{s/^namespace ([A-Za-z_0-9:]+).*/\1/; s/::/\n/g; p;}' \
    -e '/^(struct|class|enum|using|namespace|template|friend|return|typedef|#|\/\/)/d' \
    -e 's/^[A-Za-z_][^(=]*[ *&]([a-z_][a-z_0-9]*)\(.*/\1/p' \
    -e 's/^[A-Za-z_][^(={]*[ *&]([a-z_][a-z_0-9]*)(\{| =|\[).*/\1/p' "$@" | sort -u | sed 's/.*/      "&",/'
  echo '  };'
  echo '  return names;'
  echo '}'
  echo '}  // namespace headroom::experiments'
} >"$out"
