#pragma once
#include <set>
#include <string>
#include <vector>

#include "models/gguf/metadata.h"

namespace headroom::models {

/// What keeps a model from being run among the keys of its architecture, which begin with `prefix`, that nothing reads:
/// each must be known to change nothing that the model computes, whatever its value or at the value that it has. In
/// words that name the key; none where all are harmless.
std::vector<std::string> doubtful_gguf_keys(const GgufMetadata& metadata, const std::string& prefix,
                                            const std::set<std::string>& read);

}  // namespace headroom::models
