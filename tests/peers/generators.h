#pragma once
#include <map>

#include "tests/peers/case.h"

namespace headroom::peers {

using Generator = std::function<Case(Random&, DType)>;
using Generators = std::map<std::string, Generator>;

/// Adds those of views, parts, joins, and picks by index.
void add_shape_generators(Generators& table);

}  // namespace headroom::peers
