#include "tasks/measure/language_model.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/error.h"
#include "engine/ops/concat/concat.h"
#include "engine/parallel.h"

namespace headroom::tasks {
namespace {

/// Rows of logits in memory: at a vocabulary of 150,000, 77 MB of f32.
constexpr int64_t rows_at_once = 128;

/// A group's texts as rows of one x: what all begin with, then what else each has.
struct Branches {
  /// `limit`: what texts above it begin with turns otherwise in each (models::rope_limit).
  Branches(const TokenBatch& texts, engine::Device device, int64_t limit)
      : shared(shared_of(texts, limit)), ids(texts[0].begin(), texts[0].begin() + shared) {
    std::vector<models::SequenceRows> rows;
    if (shared > 0) rows.push_back({.end = shared});
    for (const std::vector<int64_t>& text : texts) {
      const auto begin = static_cast<int64_t>(ids.size());
      ids.insert(ids.end(), text.begin() + shared, text.end());
      own.emplace_back(begin, static_cast<int64_t>(ids.size()));
      if (begin < own.back().second) rows.push_back({.begin = begin, .end = own.back().second, .prefix = shared});
    }
    sequences.emplace(std::move(rows), device);
  }
  /// A text's part of x (1, T, D).
  Tensor of_text(const Tensor& x, size_t text) const {
    const auto [begin, end] = own[text];
    if (begin == end || shared == 0) return begin == end ? x.slice(1, 0, shared) : x.slice(1, begin, end);
    return engine::concat({x.slice(1, 0, shared), x.slice(1, begin, end)}, 1);
  }

  int64_t shared;
  std::vector<int64_t> ids;
  std::vector<std::pair<int64_t, int64_t>> own;  ///< rows of each text
  std::optional<models::SequenceTokens> sequences;

 private:
  static int64_t shared_of(const TokenBatch& texts, int64_t limit) {
    auto end = texts[0].end();
    for (const std::vector<int64_t>& text : texts)
      if (std::ssize(text) > limit) return 0;
    for (const std::vector<int64_t>& text : texts)
      end = std::mismatch(texts[0].begin(), end, text.begin(), text.end()).first;
    return end - texts[0].begin();
  }
};

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

std::vector<std::vector<Tensor>> hidden_states_of_groups(const models::Transformer& model,
                                                         const std::vector<TokenBatch>& groups,
                                                         const models::ForwardContext& context) {
  const autograd::NoGrad no_grad;
  std::vector<Branches> branches;
  std::vector<Tensor> states;
  for (const TokenBatch& texts : groups) {
    const Branches& own = branches.emplace_back(texts, model.device(), models::rope_limit(model.config()));
    const Tensor ids = Tensor::from({1, static_cast<int64_t>(own.ids.size())}, own.ids);  // (1, T)
    states.push_back(model.embed(ids, *own.sequences).value());                           // (1, T, D)
  }
  for (int64_t layer = 0; layer < model.config().layers; ++layer)
    for (size_t i = 0; i < groups.size(); ++i) {
      models::ForwardContext own = context;
      own.sequences = &*branches[i].sequences;
      states[i] = model.layer(static_cast<size_t>(layer), autograd::Var(states[i]), own).value();
    }
  std::vector<std::vector<Tensor>> out(groups.size());
  for (size_t i = 0; i < groups.size(); ++i)
    for (size_t text = 0; text < groups[i].size(); ++text) out[i].push_back(branches[i].of_text(states[i], text));
  return out;
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
