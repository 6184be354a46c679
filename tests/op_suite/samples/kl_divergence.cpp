#include "engine/ops/kl_divergence/kl_divergence.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"

namespace headroom::autograd {

OpSamples kl_divergence_samples() {
  const auto by = [](Reduction reduction) {
    return [=](const std::vector<Var>& in) {
      return kl_divergence(in[0], in[1].value(), in.size() > 2 ? in[2].value() : Tensor(), reduction);
    };
  };
  // Σ p (log p - log q), of rows that all count.
  const auto twin = [](Reduction reduction) {
    return [=](const std::vector<Var>& in) {
      const Var teacher = log_softmax(in[1].detach());
      const Var total = sum(exp(teacher) * (teacher - log_softmax(in[0])));
      return scale(total, reduction == Reduction::mean ? 1.0 / static_cast<double>(in[0].dim(0)) : 1.0);
    };
  };
  const auto pair = [](Shape shape) {
    return std::vector<Input>{normal("logits", shape), fixed(normal("teacher", shape))};
  };
  const auto masked = [&](Shape shape, double share) {
    std::vector<Input> inputs = pair(shape);
    inputs.push_back(booleans("counted", shape.without(-1), share));
    return inputs;
  };
  const auto mean = by(Reduction::mean), total = by(Reduction::sum);
  OpSamples out;
  out.samples = {{"typical", pair({6, 13}), mean, twin(Reduction::mean)},
                 {"sum", pair({6, 13}), total, twin(Reduction::sum)},
                 {"tokens", pair({4, 9, 65}), mean},
                 {"large vocabulary", pair({3, 1031}), mean, twin(Reduction::mean)},
                 {"many rows", pair({1031, 5}), mean, twin(Reduction::mean)},
                 {"some counted", masked({12, 3}, 0.5), mean},
                 {"some counted, sum", masked({4, 3, 7}, 0.5), total},
                 {"none counted", masked({4, 3}, 0), mean},
                 {"one row", pair({7}), mean},
                 {"scaled", pair({6, 13}), [=](const std::vector<Var>& in) { return scale(mean(in), -2.5); }},
                 {"size-1", pair({1, 1}), mean},
                 {"empty", pair({0, 4}), mean},
                 {"empty, sum", pair({0, 4}), total}};
  for (Sample& sample : out.samples) sample.is_loss = true;
  const Input logits = normal("logits", {2, 3});
  out.refusals = {{"shapes", {logits, fixed(normal("teacher", {2, 4}))}, mean, {"kl_divergence", "(2, 3)", "(2, 4)"}},
                  {"no classes", pair({2, 0}), mean, {"kl_divergence", "(2, 0)"}},
                  {"counted",
                   {logits, fixed(normal("teacher", {2, 3})), booleans("counted", {3}, 0.5)},
                   mean,
                   {"kl_divergence", "(2, 3)", "(3)"}},
                  {"scalar logits", pair({}), mean, {"kl_divergence", "()"}}};
  out.value = {8, 1e-6}, out.gradient = {4, 1e-6};
  return out;
}

}  // namespace headroom::autograd
