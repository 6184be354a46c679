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

/// Maximum nesting of tables and lists: readers of a document walk it by recursion.
inline constexpr int deepest_toml = 128;

/// Throws Error "SOURCE:LINE:COLUMN: …" where a TOML text nests tables or lists deeper than that: by dotted keys, by a
/// header's, by braces and brackets, or by all of them together. Looks at no more than that: a text that is not TOML
/// passes. With `positions` false the message names only the source.
void check_depth(const std::string& text, const std::string& source, bool positions);

}  // namespace headroom::experiments
