#pragma once
#include <string>
#include <vector>

#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {

/// The name of one [[series]], after a check that it overrides nothing but what decides its trials and its overlay.
std::string read_series(const Value& series, const std::vector<std::string>& taken, Complaints& problems);
/// What a [[series]] may hold, for the schema.
void describe_series(Reader& in);

}  // namespace headroom::experiments
