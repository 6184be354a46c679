#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/families/family.h"

namespace headroom::models {

/// What keeps a model from being run among the keys of its config.json that nothing reads: every key must be known to
/// change nothing that a model of this family computes, whatever its value or at the value that it has. In words that
/// name the key; none where all are harmless.
std::vector<std::string> doubtful_keys(const std::map<std::string, nlohmann::json>& unread, const Family& family);

/// The same of the keys of rope_parameters or rope_scaling, of a kind that is computed.
std::vector<std::string> doubtful_rope_keys(const std::map<std::string, nlohmann::json>& unread);

}  // namespace headroom::models
