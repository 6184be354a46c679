#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>

#include "models/transformer.h"
#include "tasks/measure/perplexity.h"

namespace headroom::experiments {

/// Tokens per second of one model, measured: a prompt, and tokens one by one behind it.
struct MeasuredSpeed {
  int64_t prompt_tokens = 0, decoded_tokens = 0;
  double prompt = 0, decode = 0;
};
/// The speeds of two models, in this order: medians of three rounds in which they take turns, so that other work on the
/// machine slows both.
std::pair<MeasuredSpeed, MeasuredSpeed> measure_speeds(const models::Transformer& first,
                                                       const models::Transformer& second, int64_t prompt_tokens,
                                                       int64_t decoded_tokens);

/// What a model costs and does.
struct ModelAccount {
  int64_t parameters = 0;
  double flops = 0;        ///< per token at the context
  double cache_bytes = 0;  ///< of keys and values per token as `generate` keeps them: in f16, or as the heads name
  bool names_types = false;
  uint64_t bytes = 0;  ///< of its files, as models::model_bytes() counts them; 0: not known
  MeasuredSpeed speed{};
  std::optional<tasks::Perplexity> perplexity{};
};
/// What can be counted; `context`: keys that a token sees.
ModelAccount counted(const models::TransformerConfig& config, int64_t context);

/// A table of both, files first, and as JSON.
std::string table_of(const ModelAccount& before, const ModelAccount& after, int64_t context);
nlohmann::ordered_json json_of(const ModelAccount& account);

}  // namespace headroom::experiments
