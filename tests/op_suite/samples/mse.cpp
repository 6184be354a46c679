#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

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
  for (Sample& sample : out.samples) sample.is_loss = true;
  out.refusals = {{"shapes", pair({2, 3}, {3}), mean, {"mse", "(2, 3)", "(3)"}}};
  out.value = {4, 1e-6}, out.gradient = {4};
  return out;
}

}  // namespace headroom::autograd
