#include "tasks/compression/entering_states.h"

#include <algorithm>

#include "engine/error.h"

namespace headroom::tasks {

EnteringStates::EnteringStates(const models::Transformer& base, int64_t stride) : base_(base), stride_(stride) {
  const int64_t layers = base.config().layers;
  require(stride >= 1 && stride <= layers, "entering states: every {}th of {} layers", stride, layers);
  entering_.resize(static_cast<size_t>((layers + stride - 1) / stride));
}

void EnteringStates::add(const TokenBatch& texts) {
  const autograd::NoGrad no_grad;
  std::vector<Tensor> states;
  for (const std::vector<int64_t>& text : texts) {
    require(!text.empty(), "entering states: a text is empty");
    states.push_back(base_.embed(Tensor::from({1, std::ssize(text)}, text)).value());  // (1, T, D)
  }
  const int64_t layers = base_.config().layers;
  for (int64_t layer = 0; layer < layers; layer += stride_) {
    std::vector<Tensor>& kept = entering_[static_cast<size_t>(layer / stride_)];
    kept.insert(kept.end(), states.begin(), states.end());
    run_layers(base_, states, layer, std::min(layer + stride_, layers));
  }
  final_.insert(final_.end(), states.begin(), states.end());
}

std::vector<Tensor> EnteringStates::run(const models::Transformer& model, int64_t first, size_t begin,
                                        size_t count) const {
  const int64_t layers = base_.config().layers;
  require(first >= 0 && first <= layers, "entering states: layer {} of {}", first, layers);
  const int64_t kept = std::min(first / stride_, std::ssize(entering_) - 1);
  const auto from = entering_[static_cast<size_t>(kept)].begin() + static_cast<std::ptrdiff_t>(begin);
  std::vector<Tensor> states(from, from + static_cast<std::ptrdiff_t>(count));
  const autograd::NoGrad no_grad;
  run_layers(base_, states, kept * stride_, first);
  run_layers(model, states, first, layers, {.rounded_cache = models::named_cache_types()});
  return states;
}

}  // namespace headroom::tasks
