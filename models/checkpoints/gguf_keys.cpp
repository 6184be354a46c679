#include "models/checkpoints/gguf_keys.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string_view>

#include "models/files/json.h"

namespace headroom::models {
namespace {

/// Keys that change nothing: sizes that the tensors have as well, and what only other kinds of rope scaling use.
const std::set<std::string_view>& harmless() {
  static const std::set<std::string_view> keys{"rope.scaling.factor", "rope.scaling.finetuned",
                                               "rope.scaling.original_context_length", "tensor_data_layout",
                                               "vocab_size"};
  return keys;
}

/// Keys that change the computation, with the value that does not. Source: llama.cpp's gguf-py, constants.py.
const std::map<std::string_view, double>& harmless_at() {
  static const std::map<std::string_view, double> keys{{"attention.causal", 1},
                                                       {"attention.clamp_kqv", 0},
                                                       {"attention.max_alibi_bias", 0},
                                                       {"attention.output_scale", 1},
                                                       {"attention.scale", 0},
                                                       {"attention.temperature_length", 0},
                                                       {"attention.temperature_scale", 0},
                                                       {"attn_logit_softcapping", 0},
                                                       {"embedding_scale", 1},
                                                       {"expert_count", 0},
                                                       {"expert_used_count", 0},
                                                       {"final_logit_softcapping", 0},
                                                       {"logit_scale", 1},
                                                       {"nextn_predict_layers", 0},
                                                       {"pooling_type", 0},
                                                       {"residual_scale", 1},
                                                       {"rope.dimension_sections", 0},
                                                       {"rope.scale_linear", 1},
                                                       {"use_parallel_residual", 0}};
  return keys;
}

/// The value, where it is one number or truth value.
std::optional<double> number_of(const GgufValue& value) {
  if (value.is_array) return std::nullopt;
  if (const auto* whole = std::get_if<std::vector<int64_t>>(&value.items)) return static_cast<double>((*whole)[0]);
  if (const auto* fractions = std::get_if<std::vector<double>>(&value.items)) return (*fractions)[0];
  return std::nullopt;
}

}  // namespace

UnreadKeys judged_gguf_keys(const GgufMetadata& metadata, const std::string& prefix,
                            const std::set<std::string>& read) {
  UnreadKeys keys;
  for (const auto& [key, value] : metadata.all()) {
    if (!key.starts_with(prefix) || read.contains(key)) continue;
    const std::string_view name = std::string_view(key).substr(prefix.size());
    const auto at = harmless_at().find(name);
    const bool is_known = at != harmless_at().end();
    if (harmless().contains(name) || (is_known && number_of(value) == at->second)) continue;
    if (is_known) keys.refused.push_back(fmt::format("{}: only {} is computed", key, at->second));
    else keys.ignored.push_back(key);
  }
  return keys;
}

}  // namespace headroom::models
