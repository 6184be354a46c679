#pragma once
#include <string>
#include <vector>

#include "experiments/studies/toml/complaints.h"
#include "experiments/studies/toml/value.h"

namespace headroom::experiments {

/// Parses "train.steps=10" (TOML) into a table that can be merged; words need no quotes ("model.positions=rope").
/// Throws Error naming the setting.
Value parse_setting(const std::string& text);

/// Makes settings override a sweep: a swept key that is set gets that one value, in its present form (best_of or not).
/// Reports settings that a sweep would silently override.
void pin_swept(Value& root, const std::vector<Value>& settings, Complaints& problems);

}  // namespace headroom::experiments
