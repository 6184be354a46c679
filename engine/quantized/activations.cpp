#include "engine/quantized/activations.h"

#include <algorithm>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/parallel.h"
#include "engine/quantized/activations_kernel.h"

namespace headroom::engine {
namespace {

int64_t activation_rows_of_task(int64_t cols) {
  return std::max<int64_t>(1, elementwise_grain / std::max<int64_t>(1, cols));
}

}  // namespace

QuantizedActivations quantize_activations(const Tensor& x) {
  require(
      x.defined() && x.rank() == 2 && x.dtype() == DType::f32 && x.is_contiguous() && x.dim(1) % activation_block == 0,
      "8-bit activations: expected contiguous f32 rows of whole blocks of {}, got {}", activation_block, x);
  constexpr int64_t group = 8;
  QuantizedActivations out{.rows = x.dim(0), .cols = x.dim(1)};
  const int64_t used = out.cols / activation_block;
  out.blocks = (used + group - 1) / group * group;
  out.values = Tensor::empty({out.rows, out.blocks * activation_block}, DType::i8);
  out.scales = Tensor::empty({out.rows, out.blocks});
  out.sums = Tensor::empty({out.rows, out.blocks});
  const auto* from = x.data<float>();
  auto* values = out.values.mutable_data<int8_t>();
  auto *scales = out.scales.mutable_data<float>(), *sums = out.sums.mutable_data<float>();
  const auto quantize =
      context().reference ? kernel::quantize_activations.portable : kernel::quantize_activations.best();
  parallel_for(out.rows, activation_rows_of_task(out.cols), [&](int64_t r) {
    int8_t* const row = values + r * out.blocks * activation_block;
    float *const d = scales + r * out.blocks, *const s = sums + r * out.blocks;
    quantize(from + r * out.cols, out.cols, row, d, s);
    std::fill(row + out.cols, row + out.blocks * activation_block, int8_t{0});
    std::fill(d + used, d + out.blocks, 0.0f);
    std::fill(s + used, s + out.blocks, 0.0f);
  });
  return out;
}

Tensor dequantize(const QuantizedActivations& a) {
  const Tensor x = Tensor::empty({a.rows, a.cols});  // (rows, cols)
  auto* to = x.mutable_data<float>();
  parallel_for(a.rows, activation_rows_of_task(a.cols), [&](int64_t r) {
    kernel::dequantize_activations(a.values.data<int8_t>() + r * a.blocks * activation_block,
                                   a.scales.data<float>() + r * a.blocks, a.cols, to + r * a.cols);
  });
  return x;
}

}  // namespace headroom::engine
