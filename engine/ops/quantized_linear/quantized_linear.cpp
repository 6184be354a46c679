#include "engine/ops/quantized_linear/quantized_linear.h"

#include <algorithm>
#include <vector>

#include "engine/cpu/gemm.h"
#include "engine/cpu/gemm_kernel.h"
#include "engine/error.h"
#include "engine/ops/quantized_linear/integer_kernel.h"
#include "engine/ops/quantized_linear/quantized_linear_kernel.h"
#include "engine/parallel.h"
#include "engine/quantized/activations.h"

namespace headroom::engine {
namespace {

/// Rows of W that are unpacked at a time: their f32 stay in the second-level cache up to some thousand columns. Fewer
/// where there would be few tasks.
int64_t rows_at_once(int64_t out) { return out < 1024 ? 32 : 64; }
/// Columns of W that are unpacked at a time for the gradient, all rows of them: whole blocks of every format.
constexpr int64_t columns_at_once = 256;

/// (…, C) as (rows, C).
Tensor as_rows(const Tensor& x) { return x.reshape({x.shape().numel(0, x.rank() - 1), x.dim(-1)}).contiguous(); }

/// x as the product is to take it.
Tensor rounded(const QuantizedLinearCall& c) { return takes_int8(c) ? dequantize(quantize_activations(c.x)) : c.x; }

/// The formula. W's rows one after the other, as each is unpacked once.
template <class T>
void run_loops(QuantizedLinearCall& c) {
  const int64_t rows = c.x.dim(0), in = c.weight.cols(), out = c.weight.rows();
  const Tensor used = rounded(c);
  const T *x = used.data<T>(), *bias = c.bias.data_or_null<T>();
  T* y = c.y.mutable_data<T>();
  std::vector<float> row(static_cast<size_t>(in));
  for (int64_t o = 0; o < out; ++o) {
    c.weight.dequantize_row(o, 0, in, row.data());
    for (int64_t r = 0; r < rows; ++r) {
      T sum = 0;
      for (int64_t i = 0; i < in; ++i) sum += x[r * in + i] * static_cast<T>(row[static_cast<size_t>(i)]);
      y[r * out + o] = bias ? sum + bias[o] : sum;
    }
  }
}

template <class T>
void run_grad_loops(QuantizedLinearGradCall& c) {
  const int64_t rows = c.dy.dim(0), in = c.weight.cols(), out = c.weight.rows();
  const T* dy = c.dy.data<T>();
  T* dx = c.dx.mutable_data<T>();
  std::vector<float> row(static_cast<size_t>(in));
  std::fill(dx, dx + rows * in, T(0));
  for (int64_t o = 0; o < out; ++o) {
    c.weight.dequantize_row(o, 0, in, row.data());
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < in; ++i) dx[r * in + i] += dy[r * out + o] * static_cast<T>(row[static_cast<size_t>(i)]);
  }
}

/// Columns [left, right) of W's rows [begin, end) in T.
template <class T>
Tensor unpacked(const QuantizedMatrix& w, int64_t begin, int64_t end, int64_t left, int64_t right) {
  const Tensor values = Tensor::empty({end - begin, right - left});
  for (int64_t o = begin; o < end; ++o)
    w.dequantize_row(o, left, right, values.mutable_data<float>() + (o - begin) * (right - left));
  return values.to(dtype_of<T>());
}

/// Our own kernel, not oneDNN's: on tiles as narrow as these it is the faster one at every level.
template <class T>
void run_tiles(QuantizedLinearCall& c, const Kernel<void(const GemmTile<T>&, T*)>& multiply) {
  const int64_t rows = c.x.dim(0), in = c.weight.cols(), out = c.weight.rows();
  if (in == 0) return run_loops<T>(c);  // a tile has a k
  const Tensor used = rounded(c);
  const T *x = used.data<T>(), *bias = c.bias.data_or_null<T>();
  T* y = c.y.mutable_data<T>();
  parallel_ranges(out, rows_at_once(out), [&](int64_t begin, int64_t end) {
    const Tensor w = unpacked<T>(c.weight, begin, end, 0, in), scratch = Tensor::empty({gemm_scratch}, dtype_of<T>());
    multiply(
        {rows, end - begin, in, x, in, 1, w.data<T>(), 1, in, y + begin, out, bias ? bias + begin : nullptr, false},
        scratch.mutable_data<T>());
  });
}

template <class T>
void run_grad_tiles(QuantizedLinearGradCall& c) {
  const int64_t rows = c.dy.dim(0), in = c.weight.cols(), out = c.weight.rows();
  const T* dy = c.dy.data<T>();
  T* dx = c.dx.mutable_data<T>();
  parallel_ranges(in, columns_at_once, [&](int64_t begin, int64_t end) {
    const Tensor w = unpacked<T>(c.weight, 0, out, begin, end);
    gemm(MatrixProduct<T>{rows, end - begin, out, {dy, out}, {w.data<T>(), end - begin}, dx + begin, in});
  });
}

/// The most rows of x for which reading W in place beats unpacking it for a product of tiles.
constexpr int64_t few_rows = 8;
bool has_few_rows(const QuantizedLinearCall& c) { return c.x.dim(0) <= few_rows; }
/// Few rows on every CPU, more where there are tiles for them.
bool has_int8_rows(const QuantizedLinearCall& c) { return takes_int8(c) && (has_few_rows(c) || has_bf16_pairs()); }

/// Rows of W to a task: halves of a small matrix, at most 256 KiB. Tasks of 16 KiB had two cores read lines of memory
/// in turns, which took half as long again as one core alone.
int64_t rows_of_task(const QuantizedMatrix& w) {
  const int64_t bytes = std::clamp<int64_t>(w.bytes() / 2, 64 << 10, 256 << 10);
  return std::max<int64_t>(4, bytes / std::max<int64_t>(1, w.row_bytes()) / 4 * 4);
}

/// x as it is to be multiplied by W's rows, `rows` of them to a task, by multiply(FewRows).
template <class X>
void run_blocks(QuantizedLinearCall& c, const X& x, int64_t rows, const auto& multiply) {
  const int64_t out = c.weight.rows();
  const BlockTraits& traits = traits_of(c.weight.format());
  const float* bias = c.bias.data_or_null<float>();
  auto* y = c.y.mutable_data<float>();
  parallel_ranges(out, rows, [&](int64_t begin, int64_t end) {
    multiply(FewRows<X>{.format = c.weight.format(),
                        .block_elements = traits.elements,
                        .block_bytes = traits.bytes,
                        .w = c.weight.row(begin),
                        .row_bytes = c.weight.row_bytes(),
                        .w_rows = end - begin,
                        .cols = c.weight.cols(),
                        .x = x,
                        .x_rows = c.x.dim(0),
                        .y = y + begin,
                        .y_row = out});
    if (!bias) return;
    for (int64_t r = 0; r < c.x.dim(0); ++r)
      for (int64_t o = begin; o < end; ++o) y[r * out + o] += bias[o];
  });
}

ByteRows bytes_of(const QuantizedActivations& a) {
  return {a.values.data<int8_t>(), a.scales.data<float>(), a.sums.data<float>(), a.blocks};
}

void run_few_int8(QuantizedLinearCall& c) {
  const QuantizedActivations a = quantize_activations(c.x);
  run_blocks(c, bytes_of(a), rows_of_task(c.weight), kernel::few_rows_int8);
}

void run_few_f32(QuantizedLinearCall& c) {
  run_blocks(c, FloatRows{c.x.data<float>(), c.weight.cols()}, rows_of_task(c.weight), kernel::few_rows_f32);
}

void run_integer_tiles(QuantizedLinearCall& c) {
  const QuantizedActivations a = quantize_activations(c.x);
  const int64_t bytes = a.values.dim(1);
  auto* const values = reinterpret_cast<uint8_t*>(a.values.mutable_data<int8_t>());
  parallel_ranges(a.rows, rows_at_once(a.rows), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * bytes; i < end * bytes; ++i) values[i] ^= 128;  // plus 128, unsigned
  });
  run_blocks(c, bytes_of(a), rows_at_once(c.weight.rows()), [&](const FewRows<ByteRows>& p) {
    const Tensor scratch = Tensor::empty({a.blocks * integer_tiles_scratch}, DType::u8);
    kernel::integer_tiles(p, scratch.mutable_data<uint8_t>());
  });
}

void check_device(const char* op, const Tensor& x, const QuantizedMatrix& weight) {
  require(x.device() == weight.device(), "{}: operands lie on different devices: {} on {}, {} on {}", op, x, x.device(),
          weight, weight.device());
}

}  // namespace

Op<QuantizedLinearCall> quantized_linear_op{
    "quantized_linear",
    {{.name = "8-bit",
      .dtypes = DType::f32,
      .run = [](QuantizedLinearCall& c) { has_few_rows(c) ? run_few_int8(c) : run_integer_tiles(c); },
      .levels = kernel::few_rows_int8.levels(),
      .supports = has_int8_rows},
     {.name = "dots",
      .dtypes = DType::f32,
      .run = run_few_f32,
      .levels = kernel::few_rows_f32.levels(),
      .supports = has_few_rows},
     {.name = "tiles",
      .dtypes = DType::f32,
      .run = [](QuantizedLinearCall& c) { run_tiles<float>(c, kernel::gemm_tile_f32); },
      .levels = kernel::gemm_tile_f32.levels()},
     {.name = "tiles",
      .dtypes = DType::f64,
      .run = [](QuantizedLinearCall& c) { run_tiles<double>(c, kernel::gemm_tile_f64); },
      .levels = kernel::gemm_tile_f64.levels()},
     {.name = "loops", .dtypes = DType::f32, .run = run_loops<float>, .is_reference = true},
     {.name = "loops", .dtypes = DType::f64, .run = run_loops<double>, .is_reference = true}}};

Op<QuantizedLinearGradCall> quantized_linear_grad_op{
    "quantized_linear_grad",
    {{.name = "tiles", .dtypes = DType::f32, .run = run_grad_tiles<float>, .levels = kernel::gemm_tile_f32.levels()},
     {.name = "tiles", .dtypes = DType::f64, .run = run_grad_tiles<double>, .levels = kernel::gemm_tile_f64.levels()},
     {.name = "loops", .dtypes = DType::f32, .run = run_grad_loops<float>, .is_reference = true},
     {.name = "loops", .dtypes = DType::f64, .run = run_grad_loops<double>, .is_reference = true}}};

bool takes_int8(const QuantizedLinearCall& c) {
  return context().activations == Activations::int8 && c.x.dtype() == DType::f32 &&
         traits_of(c.weight.format()).has_integer_products;
}

Tensor quantized_linear(const Tensor& x, const QuantizedMatrix& weight, const Tensor& bias) {
  QuantizedLinearCall call{x, bias, weight};
  quantized_linear_op.check(call);
  require(weight.defined(), "quantized_linear: the weight is undefined");
  require(x.rank() >= 1 && x.dim(-1) == weight.cols(),
          "quantized_linear: x (…, in) does not fit weight (out, in): x {}, weight {}", x.shape(), weight);
  require(!bias.defined() || bias.shape() == Shape{weight.rows()},
          "quantized_linear: bias {} does not fit weight (out, in) {}", bias.shape(), weight);
  check_device("quantized_linear", x, weight);
  call.x = as_rows(x);                                                               // (rows, in)
  call.y = Tensor::empty(x.shape().with(-1, weight.rows()), x.dtype(), x.device());  // (…, out)
  if (call.y.numel() > 0) quantized_linear_op.run(call);
  return call.y;
}

Tensor quantized_linear_grad(const Tensor& dy, const QuantizedMatrix& weight) {
  QuantizedLinearGradCall call{dy, weight};
  quantized_linear_grad_op.check(call);
  if (dy.rank() == 0 || dy.dim(-1) != weight.rows())
    fail("quantized_linear_grad: dy {} does not fit weight {}", dy.shape().str(), weight.str());
  check_device("quantized_linear_grad", dy, weight);
  call.dy = as_rows(dy);                                                                 // (rows, out)
  call.dx = Tensor::empty(dy.shape().with(-1, weight.cols()), dy.dtype(), dy.device());  // (…, in)
  if (call.dx.numel() > 0) quantized_linear_grad_op.run(call);
  return call.dx;
}

}  // namespace headroom::engine
