#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "models/config.h"

namespace headroom::models {

/// A config as JSON: every field that differs from its default, by its name in TransformerConfig; layers and groups are
/// lists of objects. Leaves out weight initialisation (`init`) and training-only fields (checkpoint_blocks).
nlohmann::ordered_json json_of(const TransformerConfig& config);

/// Reads and validates such a config. `source` and `path` stand for the file and the object's place in it ("config").
/// Throws Error naming file and field: unknown, of the wrong kind, or refused by validate().
TransformerConfig read_config(const nlohmann::json& json, const std::string& source, const std::string& path);

}  // namespace headroom::models
