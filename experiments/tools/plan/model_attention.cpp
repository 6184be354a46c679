#include <algorithm>

#include "engine/error.h"
#include "experiments/tools/plan/decay.h"
#include "tasks/attention_lags.h"

namespace headroom::experiments {
namespace {

constexpr int64_t most_windows = 16;

/// Windows of equal length from all over a text, each begun as the model's texts are: i64 (N, T).
tasks::Tensor windows_of(const std::vector<int32_t>& tokens, int64_t length, const models::ModelDescription& model) {
  const std::optional<int64_t> begin = model.text_begin();
  const int64_t taken = begin ? length - 1 : length;
  const int64_t count = std::min<int64_t>(most_windows, static_cast<int64_t>(tokens.size()) / taken);
  require(count > 0, "--text: {} tokens, expected {} for a window: fewer --terms, or a longer text", tokens.size(),
          taken);
  const int64_t stride = (static_cast<int64_t>(tokens.size()) - taken) / std::max<int64_t>(1, count - 1);
  std::vector<int64_t> ids;
  for (int64_t window = 0; window < count; ++window) {
    if (begin) ids.push_back(*begin);
    const auto from = tokens.begin() + (count == 1 ? 0 : window * stride);
    ids.insert(ids.end(), from, from + taken);
  }
  return tasks::Tensor::from({count, length}, ids);  // (N, T)
}

}  // namespace

Decay decay_of_model(const models::ModelFiles& files, const models::Transformer& model,
                     const std::vector<int32_t>& tokens, int64_t terms) {
  const models::TransformerConfig& config = model.config();
  const int64_t longest = config.window > 0 ? std::min(config.window, config.max_length) : config.max_length;
  const int64_t length = std::min(longest, std::max<int64_t>(64, 2 * terms)), last = std::min(terms, length / 2);
  require(last >= 1, "--terms: {} lags in a context of {}", terms, longest);
  const tasks::Tensor windows = windows_of(tokens, length, files.description());
  Decay decay;
  decay.norms.assign(static_cast<size_t>(last), 0.0);
  for (int64_t i = 0; i < windows.dim(0); ++i) {
    const tasks::Batch batch{.input = windows.slice(0, i, i + 1), .target = {}};  // (1, T)
    const tasks::Metrics heads = tasks::attention_by_lag(model, batch, last, config.layers);
    for (int64_t lag = 1; lag <= last; ++lag)
      decay.norms[static_cast<size_t>(lag - 1)] += heads.at(fmt::format("attention_at_lag_{}", lag));
  }
  const double largest = *std::max_element(decay.norms.begin(), decay.norms.end());
  require(largest > 0, "--from-attention: {}: the model attends to no lag", files.path().string());
  for (double& norm : decay.norms) norm /= largest;
  decay.is_estimated = true;
  decay.source = fmt::format("{}: attention by lag over {} layers, {} windows of {} tokens", files.path().string(),
                             config.layers, windows.dim(0), length);
  check_norms(decay.norms);
  return decay;
}

}  // namespace headroom::experiments
