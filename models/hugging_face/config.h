#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "models/config.h"

namespace headroom::models {

/// A model according to its Hugging Face config.json.
struct HuggingFaceModel {
  TransformerConfig config;
  std::string model_type;  ///< "llama", …
  /// Ways in which our Transformer computes something else ("hidden_act: gelu gates, here silu does"); the sizes are
  /// still right.
  std::vector<std::string> not_run;
  std::vector<std::string> warnings;  ///< about unread keys
};

/// Reads a config.json whose model_type is a family's name (models/families/family.h); missing fields get transformers'
/// defaults. `source` stands for the file. Throws Error naming the file and the field that is missing, of the wrong
/// kind, or contradicts another.
HuggingFaceModel read_hugging_face(const nlohmann::json& config, const std::string& source);
/// The same for the file's text.
HuggingFaceModel parse_hugging_face(std::string_view text, const std::string& source);

}  // namespace headroom::models
