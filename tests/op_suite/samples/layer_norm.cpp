#include "engine/ops/layer_norm/layer_norm.h"

#include <fmt/core.h>

#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

namespace {

Var composed(const Var& x, const Var& weight, const Var& bias, double eps) {
  const double inverse = 1.0 / static_cast<double>(x.dim(-1));
  const Var centred = x - inverse * sum(x, {-1}, true);               // (…, C)
  const Var variance = inverse * sum(centred * centred, {-1}, true);  // (…, 1)
  const Var y = centred * rsqrt(variance + eps) * weight;             // (…, C)
  return bias.defined() ? y + bias : y;
}

}  // namespace

OpSamples layer_norm_samples() {
  constexpr double eps = 1e-5;
  const auto bias = [](const std::vector<Var>& in) { return in.size() > 2 ? in[2] : Var(); };
  const auto run = [=](const std::vector<Var>& in) { return layer_norm(in[0], in[1], bias(in), eps); };
  const auto twin = [=](const std::vector<Var>& in) { return composed(in[0], in[1], bias(in), eps); };
  const auto inputs = [](Shape x, Shape weight) {
    return std::vector<Input>{normal("x", x), normal("weight", weight), normal("bias", weight)};
  };
  OpSamples out;
  out.samples = {{"typical", inputs({2, 3, 8}, {8}), run, twin},
                 {"odd width", inputs({3, 5, 13}, {13}), run, twin},
                 {"without bias", {normal("x", {7, 19}), normal("weight", {19})}, run, twin},
                 {"long rows", inputs({3, 1031}, {1031}), run, twin},
                 {"many rows", inputs({1031, 33}, {33}), run, twin},
                 {"one axis", inputs({37}, {37}), run, twin},
                 {"size-1", inputs({1, 1}, {1}), run, twin},
                 {"empty", inputs({0, 4}, {4}), run},
                 {"empty rows", inputs({4, 0}, {0}), run}};
  // As in a residual stream: its sum with a branch is normed, and is also used itself.
  const auto residual = [=](double p) {
    return [=](const std::vector<Var>& in) {
      const auto [sum, norm] = add_layer_norm(in[0], in[1], in[2], in[3], eps, {p, {3, 5, 0}});
      return sum * norm;
    };
  };
  const auto apart = [=](double p) {
    return [=](const std::vector<Var>& in) {
      const Var sum = in[0] + dropout(in[1], p, {3, 5, 0});
      return sum * composed(sum, in[2], in[3], eps);
    };
  };
  for (const double p : {0.0, 0.3})
    for (const Shape& shape : {Shape{2, 3, 8}, Shape{5, 13}, Shape{3, 1031}, Shape{2, 4100}, Shape{0, 4}})
      out.samples.push_back(
          {fmt::format("sum and norm {}, dropout {}", shape.str(), p),
           {normal("x", shape), normal("residual", shape), normal("weight", {shape[-1]}), normal("bias", {shape[-1]})},
           residual(p),
           apart(p)});
  // With one element all of g/σ cancels, 1/σ = 1/√eps.
  for (Sample& sample : out.samples)
    if (sample.label == "size-1")
      for (Tolerance* each : {&sample.tolerances.gradient, &sample.tolerances.reference, &sample.tolerances.twin,
                              &sample.tolerances.reduced})
        each->least = 400;
  // Far from the origin the mean is rounded to a few 100 · 2^-24, and inv_std ≈ 3.5 magnifies that.
  out.samples.push_back({"offset", {uniform("x", {4, 64}, 100, 101), normal("w", {64}), normal("b", {64})}, run});
  out.samples.back().tolerances.value = out.samples.back().tolerances.gradient = {4, 1e-4};
  out.refusals = {{"weight", inputs({2, 3, 8}, {7}), run, {"layer_norm", "weight has 7", "(2, 3, 8)", "(7)"}},
                  {"bias",
                   {normal("x", {2, 8}), normal("w", {8}), normal("b", {1})},
                   run,
                   {"layer_norm", "bias has 1", "(2, 8)", "(1)"}},
                  {"weight's rank", inputs({2, 8}, {1, 8}), run, {"layer_norm", "(2, 8)", "(1, 8)"}},
                  {"scalar", inputs({}, {1}), run, {"layer_norm", "()"}},
                  {"negative eps",
                   inputs({2, 8}, {8}),
                   [](const std::vector<Var>& in) { return layer_norm(in[0], in[1], in[2], -0.1); },
                   {"layer_norm", "eps = -0.1"}},
                  {"residual",
                   {normal("x", {2, 8}), normal("residual", {8}), normal("w", {8}), normal("b", {8})},
                   residual(0),
                   {"layer_norm", "(2, 8)", "(8)"}},
                  {"dropout",
                   {normal("x", {2, 8}), normal("residual", {2, 8}), normal("w", {8}), normal("b", {8})},
                   residual(1),
                   {"layer_norm", "p = 1"}},
                  {"integers", {integers("x", {3}, 0, 5), normal("w", {3})}, run, {"layer_norm", "i64"}}};
  out.value = out.gradient = {4, 4e-6};
  return out;
}

}  // namespace headroom::autograd
