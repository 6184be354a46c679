#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::models {

/// What the keys of a config.json that nothing reads mean: transformers computes by model_type alone, so that a key
/// which its class does not have changes nothing, unless it is known to stand for something that other code computes.
struct UnreadKeys {
  std::vector<std::string> refused;  ///< what keeps the model from being run, in words that name the key
  std::vector<std::string> ignored;  ///< names
};

/// Judges those of config.json, or of its rope_parameters or rope_scaling. `harmless`: keys that change nothing here,
/// on top of those that any family has, which are neither refused nor ignored; nor are keys that say that something is
/// off.
UnreadKeys judged_keys(const std::map<std::string, nlohmann::json>& unread,
                       const std::vector<std::string_view>& harmless);

/// One sentence on ignored keys, of which there are some. `reader`: who ignores them, too.
std::string ignored_text(const std::string& source, const UnreadKeys& keys, const char* reader);

}  // namespace headroom::models
