#pragma once
#include <string>

namespace headroom::experiments {

/// Tables and lists that may lie in one another. What reads a document walks it by recursion.
inline constexpr int deepest_toml = 128;

/// Throws Error "SOURCE:LINE:COLUMN: …" where a TOML text nests tables or lists deeper than that: by dotted keys, by a
/// header's, by braces and brackets, or by all of them together. Looks at no more than that: a text that is not TOML
/// passes. With `positions` false the message names only the source.
void check_depth(const std::string& text, const std::string& source, bool positions);

}  // namespace headroom::experiments
