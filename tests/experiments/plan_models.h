#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/tools/plan/cost_plan.h"
#include "experiments/tools/plan/model_config.h"

namespace headroom::testing {

/// SmolLM2-135M's config.json, with one field replaced; null takes it out.
inline std::string smollm2(const std::string& field = "", const nlohmann::json& value = nullptr) {
  nlohmann::json config = {{"model_type", "llama"},       {"hidden_size", 576},
                           {"intermediate_size", 1536},   {"num_hidden_layers", 30},
                           {"num_attention_heads", 9},    {"num_key_value_heads", 3},
                           {"vocab_size", 49152},         {"max_position_embeddings", 8192},
                           {"tie_word_embeddings", true}, {"hidden_act", "silu"}};
  if (!field.empty()) config[field] = value;
  return config.dump();
}

/// What is asked of a model on an H100, at 2,048 tokens.
inline experiments::CostRequest costs_on_h100(const std::string& config) {
  experiments::CostRequest request;
  request.model = experiments::parse_plan_json(config, "config.json");
  request.context = 2048;
  request.machine = experiments::machine_named("H100");
  return request;
}

}  // namespace headroom::testing
