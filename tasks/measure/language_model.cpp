#include "tasks/measure/language_model.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/parallel.h"

namespace headroom::tasks {
namespace {

/// Rows of logits in memory: at a vocabulary of 150,000, 77 MB of f32.
constexpr int64_t rows_at_once = 128;

}  // namespace

void require_language_model(const models::TransformerConfig& config) {
  require(config.pooling == models::Pooling::none,
          "the model is a classifier: its readout has {} classes, and predicts no tokens", config.output_dim);
}

std::vector<Tensor> hidden_states(const models::Transformer& model, const TokenBatch& texts,
                                  const models::ForwardContext& context) {
  const autograd::NoGrad no_grad;
  std::vector<Tensor> states;
  for (const std::vector<int64_t>& text : texts)
    states.push_back(model.embed(Tensor::from({1, static_cast<int64_t>(text.size())}, text)).value());  // (1, T, D)
  run_layers(model, states, 0, model.config().layers, context);
  return states;
}

void run_layers(const models::Transformer& model, std::vector<Tensor>& states, int64_t begin, int64_t end,
                const models::ForwardContext& context) {
  const autograd::NoGrad no_grad;
  for (int64_t layer = begin; layer < end; ++layer)
    for (Tensor& h : states) h = model.layer(static_cast<size_t>(layer), autograd::Var(h), context).value();
}

void for_each_logits(const models::Transformer& model, const Tensor& hidden, int64_t begin, int64_t end,
                     const std::function<void(int64_t row, const float* logits)>& f) {
  require_language_model(model.config());
  const autograd::NoGrad no_grad;
  for (int64_t from = begin; from < end; from += rows_at_once) {
    const int64_t to = std::min(end, from + rows_at_once);
    const Tensor rows = hidden.slice(1, from, to);  // (1, rows, D)
    const Tensor there = model.readout(autograd::Var(rows.contiguous())).value();
    const Tensor logits = there.to(engine::DType::f32).to(engine::cpu).contiguous();  // (1, rows, V)
    const int64_t vocab = logits.dim(-1);
    const auto* values = logits.data<float>();
    engine::parallel_ranges(to - from, 1, [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        const float* own = values + row * vocab;
        for (int64_t i = 0; i < vocab; ++i)
          require(std::isfinite(own[i]), "the logit of token {} after position {} is {}", i, from + row, own[i]);
        f(from + row, own);
      }
    });
  }
}

double kl_of_logits(const float* p, double p_norm, const float* q, double q_norm, int64_t vocab) {
  double sum = 0;
  for (int64_t i = 0; i < vocab; ++i) {
    const double log_p = p[i] - p_norm;
    sum += std::exp(log_p) * (log_p - (q[i] - q_norm));
  }
  return sum;
}

}  // namespace headroom::tasks
