#pragma once
#include <string>
#include <vector>

#include "experiments/studies/toml/complaints.h"
#include "experiments/studies/toml/value.h"

namespace headroom::experiments {

/// "train.steps=10" (TOML) as a table that can be merged; a word needs no quotes ("model.positions=rope"). Throws Error
/// naming the setting.
Value parse_setting(const std::string& text);

/// Lets settings win over a sweep: a key of the grid that is set gets that one value, in the form (best_of or not) that
/// it has. Reports settings that a sweep would override without a word.
void pin_swept(Value& root, const std::vector<Value>& settings, Complaints& problems);

}  // namespace headroom::experiments
