#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "models/config.h"

namespace headroom::models {

/// What a Hugging Face config.json says of a model.
struct HuggingFaceModel {
  TransformerConfig config;
  std::string model_type;  ///< "llama", …
  /// What our Transformer computes otherwise than the file says ("hidden_act: gelu gates, here silu does"): the sizes
  /// are right all the same.
  std::vector<std::string> not_run;
  std::vector<std::string> warnings;  ///< which keys are not read
};

/// Reads a config.json whose model_type is a family's name (models/families/family.h); what it leaves out is as
/// transformers has it. `source` stands for the file. Throws Error naming the file and the field that is missing, of
/// the wrong kind, or contradicts another.
HuggingFaceModel read_hugging_face(const nlohmann::json& config, const std::string& source);
/// The same of the file's text.
HuggingFaceModel parse_hugging_face(std::string_view text, const std::string& source);

}  // namespace headroom::models
