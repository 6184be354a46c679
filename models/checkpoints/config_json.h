#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "models/config.h"

namespace headroom::models {

/// A config as JSON: every field that is not at its default, by its name in TransformerConfig; layers and groups as
/// lists of objects. How weights are drawn (`init`) and what only training asks for (checkpoint_blocks) is left out.
nlohmann::ordered_json json_of(const TransformerConfig& config);

/// The config of such JSON, validated. `source` and `path` stand for the file and for where in it the object lies
/// ("config"). Throws Error naming file and field: unknown, of the wrong kind, or what validate() refuses.
TransformerConfig read_config(const nlohmann::json& json, const std::string& source, const std::string& path);

}  // namespace headroom::models
