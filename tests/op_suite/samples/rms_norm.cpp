#include "engine/ops/rms_norm/rms_norm.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

OpSamples rms_norm_samples() {
  constexpr double eps = 1e-6;
  const auto run = [](const std::vector<Var>& in) { return rms_norm(in[0], in[1], eps); };
  const auto twin = [](const std::vector<Var>& in) {
    const Var mean_square = mean(in[0] * in[0], {-1}, true);  // (…, 1)
    return in[0] * rsqrt(mean_square + eps) * in[1];          // (…, C)
  };
  const auto inputs = [](Shape x, Shape weight) {
    return std::vector<Input>{normal("x", x), normal("weight", weight)};
  };
  OpSamples out;
  out.samples = {{"typical", inputs({2, 3, 8}, {8}), run, twin},
                 {"odd width", inputs({3, 5, 13}, {13}), run, twin},
                 {"long rows", inputs({3, 1031}, {1031}), run, twin},
                 {"many rows", inputs({1031, 33}, {33}), run, twin},
                 {"one axis", inputs({37}, {37}), run, twin},
                 // dx of one element is 0 up to eps, the difference of numbers as large as 1/|x|: x stays away from 0.
                 {"size-1", {uniform("x", {1, 1}, 0.5, 2), normal("weight", {1})}, run, twin},
                 {"empty", inputs({0, 4}, {4}), run},
                 {"empty rows", inputs({4, 0}, {0}), run}};
  // As in a residual stream: its sum with a branch is normed, and is also used itself.
  const auto residual = [=](const std::vector<Var>& in) {
    const auto [sum, norm] = add_rms_norm(in[0], in[1], in[2], eps);
    return sum * norm;
  };
  const auto apart = [=](const std::vector<Var>& in) {
    const Var sum = in[0] + in[1];
    return sum * twin({sum, in[2]});
  };
  for (const Shape& shape : {Shape{2, 3, 8}, Shape{5, 13}, Shape{3, 1031}, Shape{2, 4100}, Shape{0, 4}})
    out.samples.push_back({"sum and norm " + shape.str(),
                           {normal("x", shape), normal("residual", shape), normal("weight", {shape[-1]})},
                           residual,
                           apart});
  const engine::Dropout third{0.3, {3, 5, 0}};
  out.samples.push_back({"sum with dropout, and norm",
                         {normal("x", {5, 16}), normal("residual", {5, 16}), normal("weight", {16})},
                         [=](const std::vector<Var>& in) {
                           const auto [sum, norm] = add_rms_norm(in[0], in[1], in[2], eps, third);
                           return sum * norm;
                         },
                         [=](const std::vector<Var>& in) {
                           const Var sum = in[0] + dropout(in[1], third.p, third.key);
                           return sum * twin({sum, in[2]});
                         }});
  out.samples.back().tolerances.value = {8, 1e-7};  // x and what was dropped to may cancel
  // With one element all of g/|x| cancels.
  for (Sample& sample : out.samples)
    if (sample.label == "size-1")
      for (Tolerance* each : {&sample.tolerances.gradient, &sample.tolerances.reference, &sample.tolerances.twin,
                              &sample.tolerances.reduced})
        each->least = 4;
  out.refusals = {{"weight", inputs({2, 3, 8}, {7}), run, {"rms_norm", "weight has 7", "(2, 3, 8)", "(7)"}},
                  {"scalar", inputs({}, {1}), run, {"rms_norm", "()"}},
                  {"negative eps",
                   inputs({2, 8}, {8}),
                   [](const std::vector<Var>& in) { return rms_norm(in[0], in[1], -0.1); },
                   {"rms_norm", "eps = -0.1"}},
                  {"residual",
                   {normal("x", {2, 8}), normal("residual", {8}), normal("w", {8})},
                   residual,
                   {"rms_norm", "(2, 8)", "(8)"}},
                  {"integers", {integers("x", {3}, 0, 5), normal("w", {3})}, run, {"rms_norm", "i64"}}};
  out.value = {8}, out.gradient = {4, 4e-6};
  return out;
}

}  // namespace headroom::autograd
