#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

Var mse(const Var& prediction, const Var& target, Reduction reduction) {
  const Shape& shape = prediction.shape();
  if (!prediction.defined() || !target.defined() || shape != target.shape())
    fail("mse: shapes differ: prediction {}, target {}", prediction.value().str(), target.value().str());
  const Var difference = prediction - target;
  const Var total = sum(difference * difference);
  if (reduction == Reduction::sum) return total;
  return scale(total, shape.numel() > 0 ? 1.0 / static_cast<double>(shape.numel()) : 0.0);
}

OpSamples mse_samples() {
  const auto by = [](Reduction reduction) {
    return [=](const std::vector<Var>& in) { return mse(in[0], in[1], reduction); };
  };
  const auto pair = [](Shape a, Shape b) { return std::vector<Input>{normal("prediction", a), normal("target", b)}; };
  const auto mean = by(Reduction::mean), total = by(Reduction::sum);
  OpSamples out;
  out.samples = {{"typical", pair({3, 5, 7}, {3, 5, 7}), mean},
                 {"sum", pair({3, 5, 7}, {3, 5, 7}), total},
                 {"long", pair({2, 1031}, {2, 1031}), mean},
                 {"size-1", pair({1}, {1}), mean},
                 {"scalar", pair({}, {}), mean},
                 {"empty", pair({0, 4}, {0, 4}), mean}};
  out.refusals = {{"shapes", pair({2, 3}, {3}), mean, {"mse", "(2, 3)", "(3)"}}};
  return out;
}

}  // namespace headroom::autograd
