#pragma once
#include <string>

#include "experiments/studies/toml/value.h"

namespace headroom::experiments {

/// Reads a TOML file into a table. Throws Error naming the file when it cannot be read, and FILE:LINE:COLUMN when it is
/// not TOML.
Value read_toml(const std::string& path);
/// The same for text; `source` stands for the file in places. With `positions` false, places hold only the source.
Value parse_toml(const std::string& text, const std::string& source, bool positions = true);
/// TOML of one value, on one line.
std::string in_line(const Value& value);
/// TOML of a table, in its order.
std::string to_toml(const Value& table);

}  // namespace headroom::experiments
