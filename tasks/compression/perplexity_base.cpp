#include "tasks/compression/perplexity_base.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "tasks/pretrained/language_model.h"

namespace headroom::tasks {
namespace {

std::vector<Tensor> some_of(const std::vector<Tensor>& states, int64_t first, size_t count) {
  return {states.begin() + first, states.begin() + first + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

PerplexityBase::PerplexityBase(const models::Transformer& base, const models::Tokenizer& tokenizer,
                               std::vector<int32_t> tokens, const PerplexityOptions& options, double most_bytes)
    : base_(base), tokenizer_(tokenizer), tokens_(std::move(tokens)), options_(options) {
  const models::TransformerConfig& config = base.config();
  const double bytes = 4.0 * static_cast<double>(config.width) * static_cast<double>(tokens_.size()) *
                       static_cast<double>(config.layers);
  stride_ = std::clamp<int64_t>(static_cast<int64_t>(std::ceil(bytes / most_bytes)), 1, config.layers);
  entering_.resize(static_cast<size_t>((config.layers + stride_ - 1) / stride_));
  const autograd::NoGrad no_grad;
  PerplexityOptions keeping = options_;
  keeping.hidden = [&](const TokenBatch& windows, int64_t) {
    std::vector<Tensor> states;  // (1, T, D) of each window
    for (const std::vector<int64_t>& ids : windows)
      states.push_back(base_.embed(Tensor::from({1, std::ssize(ids)}, ids)).value());  // (1, T, D)
    for (int64_t layer = 0; layer < config.layers; layer += stride_) {
      std::vector<Tensor>& kept = entering_[static_cast<size_t>(layer / stride_)];
      kept.insert(kept.end(), states.begin(), states.end());
      run_layers(base_, states, layer, std::min(layer + stride_, config.layers));
    }
    final_.insert(final_.end(), states.begin(), states.end());
    return states;
  };
  uncompressed_ = measure_perplexity(base_, tokenizer_, tokens_, keeping);
}

Perplexity PerplexityBase::measure(const models::Transformer& model, int64_t first) const {
  const int64_t layers = base_.config().layers;
  require(first >= 0 && first <= layers, "perplexity: layer {} of {}", first, layers);
  const int64_t kept = std::min(first / stride_, std::ssize(entering_) - 1);
  PerplexityOptions options = options_;
  options.hidden = [&](const TokenBatch& windows, int64_t window) {
    std::vector<Tensor> states = some_of(entering_[static_cast<size_t>(kept)], window, windows.size());
    run_layers(base_, states, kept * stride_, first);
    run_layers(model, states, first, layers);
    return states;
  };
  options.base_hidden = [&](const TokenBatch& windows, int64_t window) {
    return some_of(final_, window, windows.size());
  };
  return measure_perplexity(model, tokenizer_, tokens_, options, &base_);
}

}  // namespace headroom::tasks
