#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/output/number.h"

namespace headroom::experiments {

/// Sorts its keys: an ordered one takes time that grows with the square of their number.
using ForeignJson = nlohmann::json;

/// Parses JSON as Python writes it: NaN and Infinity are strings. A discarded value for other text.
ForeignJson foreign_json(const std::string& text);

/// Reads the first document of a small YAML file: maps, lists, nulls, and every other scalar as text. Throws Error
/// "FILE:LINE: …" for broken YAML, for what is too large or too deep, and for aliases, which no program writes into the
/// files that we read and which a hostile one nests until they fill memory.
ForeignJson read_yaml(const std::filesystem::path& file);

/// Calls f(path, text) for every string, number and flag of a JSON value, by its dotted path below `path`. Lists and
/// nulls are left out, as they are no setting and no number; so is what lies deeper than 32 or has a path over 500
/// bytes, which a hostile file could repeat for each of its leaves.
template <class F>
void each_leaf(const ForeignJson& node, const std::string& path, const F& f, int depth = 0) {
  constexpr int deepest = 32;
  constexpr size_t longest = 500;
  if (node.is_object() && depth < deepest && path.size() <= longest)
    for (const auto& [key, value] : node.items()) {
      std::string below = path;
      if (!below.empty()) below += '.';
      below += key;
      each_leaf(value, below, f, depth + 1);
    }
  if (node.is_structured() || node.is_null() || path.size() > longest) return;
  f(path, node.is_string()         ? node.get<std::string>()
          : node.is_number_float() ? exact(node.get<double>())
                                   : node.dump());
}

}  // namespace headroom::experiments
