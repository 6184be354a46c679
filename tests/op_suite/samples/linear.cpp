#include "engine/ops/linear/linear.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"

namespace headroom::autograd {

OpSamples linear_samples() {
  const auto run = [](const std::vector<Var>& in) { return linear(in[0], in[1], in.size() > 2 ? in[2] : Var()); };
  const auto twin = [](const std::vector<Var>& in) {
    const Var y = matmul(in[0], in[1], false, true);
    return in.size() > 2 ? add(y, in[2]) : y;
  };
  // x is used next to its product, so that its gradient comes from two ops.
  const auto beside = [](const auto& op) {
    return [=](std::vector<Var> in) {
      in[0] = in[0] * 2.0;
      return in[0] * op(in);
    };
  };
  const auto inputs = [](Shape x, int64_t out_features) {
    const int64_t in_features = x[-1];
    return std::vector<Input>{normal("x", x), normal("weight", {out_features, in_features}),
                              normal("bias", {out_features})};
  };
  const auto no_bias = [&](const Shape& x, int64_t out_features) {
    auto list = inputs(x, out_features);
    list.pop_back();
    return list;
  };
  OpSamples out;
  out.samples = {{"typical", inputs({2, 5, 7}, 3), run, twin},
                 {"beside x", inputs({2, 5, 7}, 7), beside(run), beside(twin)},
                 {"no bias", no_bias({2, 5, 7}, 3), run, twin},
                 {"odd sizes", inputs({13, 19}, 37), run, twin},
                 {"one feature in", inputs({9, 1}, 17), run, twin},
                 {"one feature out", inputs({9, 17}, 1), run, twin},
                 {"many rows", inputs({3, 701, 3}, 2), run, twin},
                 {"wide", inputs({2, 3}, 523), run, twin},
                 {"one vector", inputs({7}, 3), run},
                 {"size-1", inputs({1, 1}, 1), run, twin},
                 {"empty", inputs({0, 4}, 3), run, twin},
                 {"no features in: the bias", inputs({3, 0}, 2), run, twin}};
  // A strided matrix is multiplied where it lies, which may sum in another order than its contiguous copy.
  for (Sample& sample : out.samples) sample.tolerances.strided = {4, 4e-6};
  out.refusals = {
      {"features", {normal("x", {2, 5}), normal("weight", {4, 6})}, run, {"linear", "x (2, 5)", "weight (4, 6)"}},
      {"bias", {normal("x", {2, 6}), normal("weight", {4, 6}), normal("bias", {6})}, run, {"linear", "(6)", "(4, 6)"}},
      {"weight rank", {normal("x", {2, 6}), normal("weight", {6})}, run, {"linear", "(2, 6)", "(6)"}},
      {"integers", {integers("x", {2, 3}, 0, 5), normal("weight", {4, 3})}, run, {"linear", "i64"}}};
  out.value = {4, 1e-6}, out.gradient = {4, 2e-6};
  return out;
}

}  // namespace headroom::autograd
