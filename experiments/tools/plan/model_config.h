#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/config.h"

namespace headroom::experiments {

/// A model whose cost is asked for.
struct PlanModel {
  models::TransformerConfig config;
  std::string source;  ///< "config.json (llama)"
};

/// Reads a trained model's sizes, not its weights: from Hugging Face's config.json (model_type llama, mistral, qwen2,
/// qwen3 or gpt2, with the defaults of transformers), the folder that holds one, or a GGUF file; or, by its ending,
/// TOML: `vocab`, `context` and the [model] table of a study file. Throws Error naming the file and the field that is
/// missing, of the wrong kind, or contradicts another.
PlanModel read_model(const std::string& path);

/// The same from the text of a config.json; `source` is what messages call the file.
PlanModel parse_plan_json(std::string_view json, const std::string& source);

/// The same from TOML text.
PlanModel parse_plan_toml(const std::string& text, const std::string& source);

}  // namespace headroom::experiments
