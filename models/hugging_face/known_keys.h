#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::models {

/// The verdict on unread keys of a config.json. transformers computes by model_type alone, so a key its class lacks
/// changes nothing, unless it is known to control something that other code computes.
struct UnreadKeys {
  std::vector<std::string> refused;  ///< reasons not to run the model, naming the keys
  std::vector<std::string> ignored;  ///< names
};

/// Judges unread keys of config.json, or of its rope_parameters or rope_scaling. `harmless` lists more keys that change
/// nothing here; these, the keys any family has, and keys that switch something off are neither refused nor ignored.
UnreadKeys judged_keys(const std::map<std::string, nlohmann::json>& unread,
                       const std::vector<std::string_view>& harmless);

/// A sentence about ignored keys; there must be some. `reader`: names who else ignores them.
std::string ignored_text(const std::string& source, const UnreadKeys& keys, const char* reader);

}  // namespace headroom::models
