#include "tasks/compression/layer_probe.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/ops/log_softmax/log_softmax.h"

namespace headroom::tasks {

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
