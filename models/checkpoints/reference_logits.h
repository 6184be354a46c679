#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "models/checkpoints/model_files.h"

namespace headroom::models {

/// A model's known results for one text.
struct ReferenceText {
  std::string text;
  std::vector<int32_t> ids;                                  ///< all that the model sees
  std::vector<double> logsumexp;                             ///< of all logits after each id
  std::vector<std::vector<std::pair<int32_t, double>>> top;  ///< the largest logits after each id
  std::vector<int32_t> greedy;                               ///< the likeliest token of each step
  std::vector<double> greedy_margin;  ///< each one's lead; tokens with a small lead may change places
};

/// Known logits of a model.
struct ReferenceLogits {
  std::string model, made_with;
  std::vector<ReferenceText> texts;
};

/// Reads a file of reference logits (docs/trained-models.md). Throws Error naming the file and the wrong field.
ReferenceLogits read_reference_logits(const std::filesystem::path& path);
/// The JSON that read_reference_logits() reads.
std::string json_of(const ReferenceLogits& reference);

/// Measures a model on a text that begins with the ids: the ten largest logits after each id, and 20 greedy tokens (or
/// as many as its context and window hold).
ReferenceText measure_text(const Transformer& model, const std::string& text, const std::vector<int32_t>& ids);

/// The difference between a model's results and the known ones.
struct ReferenceComparison {
  double worst_logit = 0;      ///< largest difference of a listed logit
  double worst_logsumexp = 0;  ///< largest difference of a log-sum-exp
  int64_t same_greedy = 0;     ///< matching greedy tokens before the first that differs
  bool greedy_agrees = true;   ///< all match, or the first that differs led by at most twice the tolerance
};

/// Runs the model on the reference's ids. Throws Error if an id is outside its vocabulary or a logit is not finite.
ReferenceComparison compare_text(const Transformer& model, const ReferenceText& reference, double tolerance);

}  // namespace headroom::models
