#include "tasks/compression/layer_probe.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/ops/log_softmax/log_softmax.h"

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

TokenBatch probed_texts(TokenBatch texts, int64_t context, int64_t tokens) {
  const auto few = static_cast<size_t>(std::max<int64_t>(1, tokens / context));
  texts.resize(std::min(texts.size(), few));
  return texts;
}

LayerProbe::LayerProbe(const models::Transformer& base, const TokenBatch& texts, double late)
    : base_(base), texts_(texts), states_(base), late_(late) {
  require(!texts.empty(), "layer probe: no text");
  require(late > 0 && late <= 1, "layer probe: a share of {} of each text", late);
  states_.add(texts);
  const autograd::NoGrad no_grad;
  const int64_t vocab = base.config().vocab;
  for (const Tensor& hidden : states_.final()) {
    const int64_t first = first_of(hidden.dim(1)), length = hidden.dim(1) - first;
    tokens_ += length;
    const Tensor logits = Tensor::zeros({length, vocab});
    std::vector<double> norms(static_cast<size_t>(length));
    for_each_logits(base, hidden, first, first + length, [&](int64_t row, const float* values) {
      std::copy(values, values + vocab, logits.mutable_data<float>() + (row - first) * vocab);
      norms[static_cast<size_t>(row - first)] = engine::log_sum_exp(values, vocab);
    });
    logits_.push_back(logits);
    norms_.push_back(std::move(norms));
  }
}

int64_t LayerProbe::first_of(int64_t length) const {
  return std::min(length - 1, static_cast<int64_t>(std::floor(static_cast<double>(length) * (1 - late_))));
}

EnteringStates LayerProbe::states_of(const models::Transformer& model) const {
  EnteringStates states(model);
  states.add(texts_);
  return states;
}

double LayerProbe::kl(const models::ModelEdit& edit, int64_t first, const EnteringStates& states) const {
  require(first >= 0 && first < base_.config().layers, "layer probe: layer {} of {}", first, base_.config().layers);
  const auto model = models::load(base_, edit);
  const autograd::NoGrad no_grad;
  const int64_t vocab = base_.config().vocab;
  double sum = 0;
  for (size_t text = 0; text < logits_.size(); ++text) {
    const Tensor h = states.run(*model, first, text, 1).front();  // (1, T, D)
    std::vector<double> rows(norms_[text].size());
    const int64_t begin = first_of(h.dim(1));
    for_each_logits(*model, h, begin, h.dim(1), [&](int64_t token, const float* logits) {
      const int64_t row = token - begin;
      const float* p = logits_[text].data<float>() + row * vocab;
      rows[static_cast<size_t>(row)] =
          kl_of_logits(p, norms_[text][static_cast<size_t>(row)], logits, engine::log_sum_exp(logits, vocab), vocab);
    });
    for (const double kl : rows) sum += kl;
  }
  return sum / static_cast<double>(tokens_);
}

}  // namespace headroom::tasks
