#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/output/number.h"

namespace headroom::experiments {

/// Calls f(path, text) for every string, number and flag of a JSON value, by its dotted path below `path`, in their
/// order. Lists and nulls are left out, as they are no setting and no number; so is what lies deeper than 32.
template <class F>
void each_leaf(const nlohmann::ordered_json& node, const std::string& path, const F& f, int depth = 0) {
  constexpr int deepest = 32;
  if (node.is_object() && depth < deepest)
    for (const auto& [key, value] : node.items()) each_leaf(value, path.empty() ? key : path + "." + key, f, depth + 1);
  if (node.is_structured() || node.is_null()) return;
  f(path, node.is_string()         ? node.get<std::string>()
          : node.is_number_float() ? exact(node.get<double>())
                                   : node.dump());
}

}  // namespace headroom::experiments
