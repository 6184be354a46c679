#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tasks/measure/perplexity.h"
#include "tasks/measure/text_tokens.h"

namespace headroom::experiments {

/// A model's perplexity over its base's on the same text, with its interval at 95 %: Student's t on the windows'
/// differences, which leave out what makes some windows harder for both. NaN ends with a single window.
struct PerplexityRatio {
  double value = 1, low = 1, high = 1;
};
PerplexityRatio perplexity_ratio(const tasks::Perplexity& measured);

/// Two lines: the perplexity over that of `base` ("the original"), and the KL divergence from it. The perplexity was
/// measured against a base.
std::string divergence_text(const tasks::Perplexity& measured, const std::string& base);
/// Adds the same numbers to a JSON object.
void add_divergence(const tasks::Perplexity& measured, nlohmann::ordered_json& out);

/// Adds to a JSON object how its texts became tokens: "splitter", "begins_with", "begin_token".
void add_text_cut(const tasks::TextCut& cut, nlohmann::ordered_json& out);

}  // namespace headroom::experiments
