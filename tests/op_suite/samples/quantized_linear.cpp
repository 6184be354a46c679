#include "engine/ops/quantized_linear/quantized_linear.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"
#include "engine/ops/sum/sum.h"
#include "tests/op_suite/quantized_data.h"

namespace headroom::autograd {

OpSamples quantized_linear_samples() {
  using engine::BlockFormat;
  OpSamples out;
  const auto add = [&](const std::string& label, BlockFormat format, Shape x, int64_t rows, bool has_bias) {
    // The same blocks in every run: a function of the label.
    const engine::QuantizedMatrix weight = op_suite::random_blocks("quantized_linear/" + label, format, rows, x[-1]);
    std::vector<Input> inputs{normal("x", x)};
    if (has_bias) inputs.push_back(normal("bias", {rows}));
    const auto bias_of = [](const std::vector<Var>& in) { return in.size() > 1 ? in[1] : Var(); };
    out.samples.push_back(
        {label, inputs,
         [=](const std::vector<Var>& in) {
           return quantized_linear(in[0], weight.to(in[0].value().device()), bias_of(in));
         },
         [=](const std::vector<Var>& in) {
           return linear(in[0], Var(weight.to(in[0].value().device()).dequantize(in[0].value().dtype())), bias_of(in));
         }});
  };
  for (const BlockFormat format : engine::block_formats) {
    const std::string name = engine::traits_of(format).name;
    add(name, format, {2, 3, 256}, 5, true);
    add(name + ", two blocks of rows", format, {3, 512}, 67, false);
  }
  add("one vector", BlockFormat::q4_1, {64}, 7, true);
  add("many rows", BlockFormat::q8_0, {3, 131, 32}, 2, true);
  add("columns in two parts", BlockFormat::q4_0, {2, 288}, 130, false);
  add("columns that are no multiple of 16", BlockFormat::f16, {2, 40}, 3, true);
  add("size-1", BlockFormat::q8_0, {1, 32}, 1, true);
  add("empty", BlockFormat::q4_k, {0, 256}, 3, true);
  add("no features in: the bias", BlockFormat::q8_0, {3, 0}, 2, true);
  // On a GPU the gradient of x is a product of cuBLASLt's, whose plan depends on how operands are aligned.
  for (Sample& sample : out.samples) sample.tolerances.strided = {4, 4e-6};
  const auto into = [](BlockFormat format, int64_t rows, int64_t cols) {
    const engine::QuantizedMatrix weight = op_suite::random_blocks("refused", format, rows, cols);
    return [=](const std::vector<Var>& in) {
      return quantized_linear(in[0], weight.to(in[0].value().device()), in.size() > 1 ? in[1] : Var());
    };
  };
  out.refusals = {
      {"features",
       {normal("x", {2, 32})},
       into(BlockFormat::q8_0, 4, 64),
       {"quantized_linear", "x (2, 32)", "q8_0 (4, 64)"}},
      {"bias",
       {normal("x", {2, 64}), normal("bias", {5})},
       into(BlockFormat::q4_1, 4, 64),
       {"quantized_linear", "bias (5)", "q4_1 (4, 64)"}},
      {"integers", {integers("x", {2, 64}, 0, 5)}, into(BlockFormat::q4_1, 4, 64), {"quantized_linear", "i64"}},
      {"undefined",
       {normal("x", {2, 64})},
       [](const std::vector<Var>& in) { return quantized_linear(in[0], {}, {}); },
       {"quantized_linear", "undefined"}}};
  out.value = out.gradient = {4, 1e-6};
  return out;
}

}  // namespace headroom::autograd
