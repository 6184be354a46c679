#include "engine/ops/cross_entropy/cross_entropy.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"

namespace headroom::autograd {

namespace {

/// The same for targets of one axis, none ignored.
Var composed(const Var& logits, const Tensor& targets, Reduction reduction) {
  const int64_t rows = logits.dim(0), classes = logits.dim(1);
  const auto target = targets.to_vector<int64_t>();
  std::vector<double> onehot(static_cast<size_t>(rows * classes), 0.0);
  for (size_t i = 0; i < target.size(); ++i)
    onehot[i * static_cast<size_t>(classes) + static_cast<size_t>(target[i])] = 1;
  const Var picked(  // (rows, V)
      Tensor::from({rows, classes}, onehot).to(logits.value().dtype()).to(logits.value().device()));
  const Var total = sum(log_softmax(logits) * picked);
  return scale(total, reduction == Reduction::mean ? -1.0 / static_cast<double>(rows) : -1.0);
}

}  // namespace

OpSamples cross_entropy_samples() {
  const auto by = [](Reduction reduction, int64_t ignore = -100) {
    return [=](const std::vector<Var>& in) { return cross_entropy(in[0], in[1].value(), reduction, ignore); };
  };
  const auto twin = [](Reduction reduction) {
    return [=](const std::vector<Var>& in) { return composed(in[0], in[1].value(), reduction); };
  };
  const auto inputs = [](Shape logits) {
    const Shape targets = logits.without(-1);
    const int64_t classes = logits[-1];
    return std::vector<Input>{normal("logits", logits), integers("targets", targets, 0, classes)};
  };
  const auto mean = by(Reduction::mean), sum = by(Reduction::sum);
  OpSamples out;
  out.samples = {
      {"typical", inputs({6, 13}), mean, twin(Reduction::mean)},
      {"sum", inputs({6, 13}), sum, twin(Reduction::sum)},
      {"characters", inputs({4, 9, 65}), mean},
      {"large vocabulary", inputs({3, 1031}), mean, twin(Reduction::mean)},
      {"many rows", inputs({1031, 5}), mean, twin(Reduction::mean)},
      {"some ignored", inputs({12, 3}), by(Reduction::mean, 1)},
      {"some ignored, sum", inputs({12, 3}), by(Reduction::sum, 0)},
      {"all ignored", {normal("logits", {4, 3}), integers("targets", {4}, -100, -99)}, mean},
      {"one row", {normal("logits", {7}), integers("targets", {}, 0, 7)}, mean},
      {"i32 targets", inputs({6, 13}),
       [](const std::vector<Var>& in) { return cross_entropy(in[0], in[1].value().to(engine::DType::i32)); }},
      {"scaled", inputs({6, 13}),
       [](const std::vector<Var>& in) { return scale(cross_entropy(in[0], in[1].value()), -2.5); }},
      {"size-1", inputs({1, 1}), mean},
      {"empty", {normal("logits", {0, 4}), integers("targets", {0}, 0, 4)}, mean},
      {"empty, sum", {normal("logits", {0, 4}), integers("targets", {0}, 0, 4)}, sum}};
  // Losses near 1e4: the difference quotient keeps 1e-16 · 1e4 / 1e-6 of them.
  out.samples.push_back({"large logits", {uniform("logits", {4, 9}, -1e4, 1e4), integers("targets", {4}, 0, 9)}, mean});
  out.samples.back().tolerances.gradcheck = 1e-5;
  for (Sample& sample : out.samples) sample.is_loss = true;
  const Input logits = normal("logits", {2, 3});
  out.refusals = {
      {"target",
       {logits, integers("targets", {2}, 3, 4)},
       mean,
       {"cross_entropy", "target 3", "position 0", "(2, 3)"},
       true},
      {"negative target",
       {logits, integers("targets", {2}, -1, 0)},
       mean,
       {"cross_entropy", "target -1", "[0, 3)"},
       true},
      {"no classes", {normal("logits", {2, 0}), integers("targets", {2}, 0, 1)}, mean, {"cross_entropy", "(2, 0)"}},
      {"shapes", {logits, integers("targets", {3}, 0, 3)}, mean, {"cross_entropy", "(2, 3)", "(3)"}},
      {"floating targets", {logits, normal("targets", {2})}, mean, {"cross_entropy", "i64"}},
      {"scalar logits", {normal("logits", {}), integers("targets", {}, 0, 1)}, mean, {"cross_entropy", "()"}}};
  out.value = out.gradient = {8, 1e-6};
  return out;
}

}  // namespace headroom::autograd
