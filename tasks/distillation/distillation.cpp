#include "tasks/distillation/distillation.h"

#include <algorithm>

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/ops/elementwise/comparison.h"
#include "engine/ops/elementwise/logical.h"
#include "engine/ops/operators.h"
#include "engine/ops/where/where.h"

namespace headroom::tasks {
namespace {

using autograd::NoGrad;
using models::ForwardContext;
using models::Transformer;

/// A teacher's results for a batch.
struct Lesson {
  Tensor output;                         ///< (B, T, V) or (B, classes)
  std::vector<Var> states;               ///< as ForwardContext::states
  std::vector<Tensor> attention_inputs;  ///< (B, T, D), of the layers that are compared
};

Lesson lesson_of(const Transformer& teacher, const Batch& batch, const DistillationConfig& config) {
  const NoGrad no_grad;
  Lesson lesson;
  const std::vector<int64_t>& layers = config.attention_layers;
  std::vector<Tensor> inputs(static_cast<size_t>(teacher.config().layers));
  ForwardContext context{.key_mask = batch.key_mask, .states = &lesson.states};
  if (config.weights.attention > 0)
    context.observer = [&](const models::AttentionInputs& in) { inputs[in.layer] = in.x; };
  if (config.weights.kl > 0 || config.weights.hidden > 0) {
    lesson.output = teacher.forward(batch.input, context).value();
  } else if (!layers.empty()) {  // no layer above those that are compared
    Var h = teacher.embed(batch.input);
    for (int64_t layer = 0; layer <= *std::max_element(layers.begin(), layers.end()); ++layer)
      h = teacher.layer(static_cast<size_t>(layer), h, context);
  }
  for (const int64_t layer : layers) lesson.attention_inputs.push_back(inputs[static_cast<size_t>(layer)]);
  return lesson;
}

/// True where a class target counts; undefined where all positions do.
Tensor scored_positions(const Batch& batch) {
  if (!batch.target.defined() || batch.target.dtype() != engine::DType::i64) return {};
  const Tensor ignored =
      Tensor::full(batch.target.shape(), ignore_index, engine::DType::i64, batch.target.device());  // as the target
  return engine::not_equal(batch.target, ignored);
}

/// Σ (h - wanted)² / Σ wanted² over the positions that the mask (B, T) keeps; both (B, T, D), or (B, D) of one
/// position.
Var relative_error(const Var& h, const Var& wanted, const Tensor& mask) {
  require(h.shape() == wanted.shape(), "distillation: the student's hidden states are {}, the teacher's {}",
          h.value().str(), wanted.value().str());
  Tensor left_out;  // bool (B, T, 1)
  if (mask.defined() && h.shape().rank() == 3) left_out = (!mask).reshape({mask.dim(0), mask.dim(1), 1});
  const auto kept = [&](const Var& x) { return left_out.defined() ? autograd::masked_fill(x, left_out, 0) : x; };
  Tensor factor;  // (), where the states are: it is not waited for
  {
    const NoGrad no_grad;
    const Var own = kept(wanted);
    const Tensor energy = autograd::sum(own * own).value();
    factor = engine::where(energy > 0.0, 1.0 / energy, Tensor::zeros({}, energy.dtype(), energy.device()));
  }
  const Var error = kept(h - wanted);
  return autograd::sum(error * error) * Var(factor);
}

Var mean_of(const std::vector<Var>& parts) {
  Var total = parts.at(0);
  for (size_t i = 1; i < parts.size(); ++i) total += parts[i];
  return total * (1.0 / static_cast<double>(parts.size()));
}

Var hidden_error(const std::vector<Var>& states, const std::vector<Var>& wanted, HiddenStates which,
                 const Tensor& mask) {
  require(states.size() == wanted.size(), "distillation: the student has {} layers, the teacher {}", states.size() - 1,
          wanted.size() - 1);
  std::vector<Var> errors;
  for (size_t i = which == HiddenStates::last ? states.size() - 1 : 0; i < states.size(); ++i)
    errors.push_back(relative_error(states[i], wanted[i], mask));
  return mean_of(errors);
}

/// The error of one layer that is given x (B, T, D): Σ (a - a_teacher)² / (B·H·pairs).
Var attention_error(const models::Attention& student, const models::Attention& teacher, const Tensor& x,
                    const Tensor& mask, bool is_causal) {
  Var wanted;
  {
    const NoGrad no_grad;
    wanted = teacher.weights(Var(x), mask);  // (B, H, T, T)
  }
  const Var error = student.weights(Var(x), mask) - wanted;
  const int64_t rows = wanted.dim(0) * wanted.dim(1), length = wanted.dim(2);
  const int64_t pairs = rows * (is_causal ? length * (length + 1) / 2 : length * length);
  return autograd::sum(error * error) * (1.0 / static_cast<double>(std::max<int64_t>(1, pairs)));
}

}  // namespace

void validate(const DistillationConfig& config) {
  const DistillationWeights& weights = config.weights;
  double total = 0;
  for (const auto& [name, weight] : {std::pair{"cross_entropy", weights.cross_entropy},
                                     {"kl", weights.kl},
                                     {"hidden", weights.hidden},
                                     {"attention", weights.attention}}) {
    require(weight >= 0, "distillation: {}: expected a weight >= 0, got {}", name, weight);
    total += weight;
  }
  require(total > 0, "distillation: every weight is 0: there is nothing to train on");
  require(weights.attention == 0 || !config.attention_layers.empty(),
          "distillation: attention weights are compared in no layer");
}

Distillation::Distillation(const Transformer& teacher, const Objective& data, DistillationConfig config)
    : teacher_(teacher), data_(data), config_(std::move(config)) {
  validate(config_);
  for (const int64_t layer : config_.attention_layers)
    require(layer >= 0 && layer < teacher.config().layers, "distillation: there is no layer {}, the teacher has {}",
            layer, teacher.config().layers);
}

DistillationTerms Distillation::terms(const Transformer& student, const Batch& batch,
                                      const ForwardContext& context) const {
  const DistillationWeights& weights = config_.weights;
  const Lesson lesson = lesson_of(teacher_, batch, config_);
  DistillationTerms terms;
  const auto add = [&](Var& term, double weight, const Var& value) {
    term = value;
    terms.total = terms.total.defined() ? terms.total + value * weight : value * weight;
  };
  if (weights.cross_entropy + weights.kl + weights.hidden > 0) {
    std::vector<Var> states;
    ForwardContext own = context;
    own.states = &states;
    const Var output = student.forward(batch.input, own);
    if (weights.cross_entropy > 0) add(terms.cross_entropy, weights.cross_entropy, data_.loss(output, batch));
    if (weights.kl > 0)
      add(terms.kl, weights.kl, autograd::kl_divergence(output, lesson.output, scored_positions(batch)));
    if (weights.hidden > 0)
      add(terms.hidden, weights.hidden, hidden_error(states, lesson.states, config_.hidden, batch.key_mask));
  }
  if (weights.attention == 0) return terms;
  std::vector<Var> errors;
  for (size_t i = 0; i < config_.attention_layers.size(); ++i) {
    const auto layer = static_cast<size_t>(config_.attention_layers[i]);
    errors.push_back(attention_error(student.attention(layer), teacher_.attention(layer), lesson.attention_inputs[i],
                                     batch.key_mask, teacher_.config().causal));
  }
  add(terms.attention, weights.attention, mean_of(errors));
  return terms;
}

Var Distillation::loss_of(const Transformer& student, const Batch& batch, const ForwardContext& context) const {
  return terms(student, batch, context).total;
}

}  // namespace headroom::tasks
