#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tasks/measure/choice_scores.h"
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

/// What a model's choices differ by from its base's on the same items: means over items with their intervals at 95 %,
/// Student's t on the items' own differences.
struct ChoiceDifference {
  struct Mean {
    double value = 0, low = 0, high = 0;
  };
  Mean accuracy, log_loss;
  int64_t gained = 0, lost = 0;  ///< items that the model alone, and its base alone, gets right
};
ChoiceDifference choice_difference(const tasks::ChoiceScores& model, const tasks::ChoiceScores& base,
                                   const std::vector<tasks::ChoiceItem>& items);

/// Adds to a JSON object how its texts became tokens: "splitter", "begins_with", "begin_token".
void add_text_cut(const tasks::TextCut& cut, nlohmann::ordered_json& out);

}  // namespace headroom::experiments
