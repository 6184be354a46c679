#include "tasks/compression/layer_probe.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/ops/log_softmax/log_softmax.h"

namespace headroom::tasks {

LayerProbe::LayerProbe(const models::Transformer& base, const TokenBatch& texts) : base_(base) {
  require(!texts.empty(), "layer probe: no text");
  const autograd::NoGrad no_grad;
  std::vector<Tensor> states;
  for (const std::vector<int64_t>& text : texts) {
    require(!text.empty(), "layer probe: a text is empty");
    const auto length = static_cast<int64_t>(text.size());
    states.push_back(base.embed(Tensor::from({1, length}, text)).value());  // (1, T, D)
    tokens_ += length;
  }
  for (size_t layer = 0; layer < static_cast<size_t>(base.config().layers); ++layer) {
    entering_.push_back(states);
    for (Tensor& h : states) h = base.layer(layer, autograd::Var(h)).value();
  }
  const int64_t vocab = base.config().vocab;
  for (const Tensor& hidden : states) {
    const int64_t length = hidden.dim(1);
    const Tensor logits = Tensor::zeros({length, vocab});
    std::vector<double> norms(static_cast<size_t>(length));
    for_each_logits(base, hidden, 0, length, [&](int64_t row, const float* values) {
      std::copy(values, values + vocab, logits.mutable_data<float>() + row * vocab);
      norms[static_cast<size_t>(row)] = engine::log_sum_exp(values, vocab);
    });
    logits_.push_back(logits);
    norms_.push_back(std::move(norms));
  }
}

double LayerProbe::kl(const models::ModelEdit& edit, int64_t first) const {
  require(first >= 0 && first < base_.config().layers, "layer probe: layer {} of {}", first, base_.config().layers);
  const auto model = models::load(base_, edit);
  const autograd::NoGrad no_grad;
  const int64_t vocab = base_.config().vocab;
  double sum = 0;
  for (size_t text = 0; text < logits_.size(); ++text) {
    Tensor h = entering_[static_cast<size_t>(first)][text];  // (1, T, D)
    for (auto layer = static_cast<size_t>(first); layer < entering_.size(); ++layer)
      h = model->layer(layer, autograd::Var(h)).value();
    std::vector<double> rows(norms_[text].size());
    for_each_logits(*model, h, 0, h.dim(1), [&](int64_t row, const float* logits) {
      const float* p = logits_[text].data<float>() + row * vocab;
      rows[static_cast<size_t>(row)] =
          kl_of_logits(p, norms_[text][static_cast<size_t>(row)], logits, engine::log_sum_exp(logits, vocab), vocab);
    });
    for (const double kl : rows) sum += kl;
  }
  return sum / static_cast<double>(tokens_);
}

}  // namespace headroom::tasks
