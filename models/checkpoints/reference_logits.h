#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "models/checkpoints/model_files.h"

namespace headroom::models {

/// What a model is known to make of one text.
struct ReferenceText {
  std::string text;
  std::vector<int32_t> ids;                                  ///< all that the model sees
  std::vector<double> logsumexp;                             ///< after each id, of all logits
  std::vector<std::vector<std::pair<int32_t, double>>> top;  ///< after each id, the largest logits
  std::vector<int32_t> greedy;                               ///< the likeliest token each time
  std::vector<double> greedy_margin;  ///< by which each led: those that led by little may change places
};

/// Known logits of a model.
struct ReferenceLogits {
  std::string model, made_with;
  std::vector<ReferenceText> texts;
};

/// Reads the JSON of such a file (docs/trained-models.md). Throws Error naming the file and the field at fault.
ReferenceLogits read_reference_logits(const std::filesystem::path& path);
/// The JSON that read_reference_logits() reads.
std::string json_of(const ReferenceLogits& reference);

/// What the model makes of a text that begins with the ids: the ten largest logits after each, and 20 greedy tokens (or
/// as many as its context and window hold).
ReferenceText measure_text(const Transformer& model, const std::string& text, const std::vector<int32_t>& ids);

/// How a model's results differ from known ones.
struct ReferenceComparison {
  double worst_logit = 0;      ///< largest difference of a logit that is listed
  double worst_logsumexp = 0;  ///< and of a log-sum-exp
  int64_t same_greedy = 0;     ///< greedy tokens up to the first that differs
  bool greedy_agrees = true;   ///< all do, or the first that differs led by at most twice the tolerance
};

/// Runs the model on the reference's ids. Throws Error when an id is none of its vocabulary's, or a logit is not
/// finite.
ReferenceComparison compare_text(const Transformer& model, const ReferenceText& reference, double tolerance);

}  // namespace headroom::models
