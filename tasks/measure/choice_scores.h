#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "models/tokenizers/tokenizer.h"
#include "models/transformer.h"
#include "tasks/measure/choice_items.h"

namespace headroom::tasks {

struct ChoiceOptions {
  int64_t context = 0;           ///< longest text in tokens
  std::optional<int64_t> bos{};  ///< put before every prompt
  int64_t items_at_once = 64;    ///< run through the model together, layer by layer
  models::CacheTypes cache{};    ///< keys and values are rounded to these
};

/// How often the likeliest choice is right. Standard errors are binomial, over items.
struct ChoiceScores {
  int64_t items = 0;
  double accuracy = 0, stderr_accuracy = 0;           ///< by log p(choice | prompt)
  double accuracy_per_byte = 0, stderr_per_byte = 0;  ///< by log p per byte of the choice
  double log_loss = 0, stderr_log_loss = 0;           ///< -log of the right choice's share of Σ p(choice | prompt)
  double commonest = 0;                               ///< accuracy of always picking the commonest answer number
  double chance = 0;                                  ///< expected accuracy of guessing: the mean of 1 / choices
  std::vector<int64_t> picked;                        ///< each item's choice, by log p
  std::vector<double> losses;                         ///< each item's term of log_loss
};

/// Scores log p of each choice after its prompt. The prompt's trailing spaces belong to the choices, because tokens
/// begin with spaces; a choice is the tokens of prompt and choice together minus the prompt's. Each item's common
/// tokens go through the model once, and its choices together. Throws Error naming an item that is longer than the
/// context or has nothing before its choice, and if a logit is not finite. Calls `progress(items done, accuracy so
/// far)` from time to time.
ChoiceScores measure_choices(const models::Transformer& model, const models::Tokenizer& tokenizer,
                             const std::vector<ChoiceItem>& items, const ChoiceOptions& options,
                             const std::function<void(int64_t done, double accuracy)>& progress = {});

}  // namespace headroom::tasks
