#include "engine/ops/quantized_linear/quantized_linear.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/context.h"
#include "engine/cuda/bias.cuh"
#include "engine/cuda/blas.h"
#include "engine/cuda/blocks.cuh"
#include "engine/cuda/warp.cuh"

namespace headroom::engine::cuda {
namespace {

/// Rows of x up to which W is read as it lies.
constexpr int64_t most_few_rows = 8;
/// How much of W is unpacked at a time.
constexpr int64_t tile_bytes = int64_t{64} << 20;

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Where W lies on the device.
struct BlockRows {
  const uint8_t* blocks;
  int64_t row_bytes;
  explicit BlockRows(const QuantizedMatrix& w) : blocks(w.blocks().data<uint8_t>()), row_bytes(w.row_bytes()) {}
  __device__ const uint8_t* row(int64_t r) const { return blocks + r * row_bytes; }
};

/// (n, width): columns from `first_column` of the rows from `first_row`, or of those that `index` names. An index that
/// is no row gives NaN.
template <class F, class T>
struct UnpackElement {
  BlockRows w;
  int64_t first_row, first_column, width, w_rows;
  const int64_t* index;
  T* out;
  __device__ void operator()(int64_t i) const {
    const int64_t row = index ? index[i / width] : first_row + i / width;
    const bool is_there = row >= 0 && row < w_rows;
    const float value = is_there ? block_value<F>(w.row(row), first_column + i % width) : not_a_number;
    store(out[i], static_cast<Compute<T>>(value));
  }
};

template <class T>
void unpack(const QuantizedMatrix& w, int64_t first_row, int64_t first_column, const int64_t* index, const Tensor& to) {
  visit_format(w.format(), [&](auto f) {
    launch("unpack_blocks", to.numel(),
           UnpackElement<decltype(f), T>{BlockRows(w), first_row, first_column, to.dim(-1), w.rows(), index,
                                         to.mutable_data<T>()});
  });
}

/// One warp per row of W: its dot products with `rows` ≤ most rows of x.
template <class F, class T, int most>
__global__ void few_rows(BlockRows w, const T* x, const T* bias, T* y, int rows, int64_t cols, int64_t w_rows) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int64_t o = int64_t{blockIdx.x} * (blockDim.x / warp_size) + threadIdx.x / warp_size;
  if (o >= w_rows) return;
  const uint8_t* const row = w.row(o);
  float sums[most] = {};
  for (int64_t c = lane; c < cols; c += warp_size) {
    const float value = block_value<F>(row, c);
    for (int r = 0; r < most; ++r)
      if (r < rows) sums[r] += value * load(x[r * cols + c]);
  }
  for (int r = 0; r < most; ++r) {
    const float sum = warp_reduce(sums[r], Add{});
    if (lane == 0 && r < rows) store(y[r * w_rows + o], bias ? sum + load(bias[o]) : sum);
  }
}

/// Each 32 numbers as 8 bits hold them: engine/quantized/activations.h.
struct RoundBlock {
  const float* x;
  float* y;
  __device__ void operator()(int64_t block) const {
    constexpr int n = 32;
    const float *const from = x + block * n, infinity = std::bit_cast<float>(0x7f800000u);
    float* const to = y + block * n;
    float most = 0;
    for (int i = 0; i < n; ++i) {
      const float a = std::fabs(from[i]);
      if (!(a <= most)) most = a == a ? a : infinity;
    }
    const bool is_finite = most < infinity, is_zero = most < 1e-30f;
    const float scale = is_finite ? (is_zero ? 0 : most / 127) : not_a_number;
    const float factor = is_finite && !is_zero ? 127 / most : 0;
    for (int i = 0; i < n; ++i) to[i] = factor == 0 ? scale * 0.0f : scale * std::rint(from[i] * factor);
  }
};

template <class T>
Tensor unpacked(const QuantizedMatrix& w, int64_t begin, int64_t end, int64_t left, int64_t right) {
  const Tensor values = Tensor::empty({end - begin, right - left}, dtype_of<T>(), w.device());
  unpack<T>(w, begin, left, nullptr, values);
  return values;
}

/// x as the product takes it.
Tensor rounded(const QuantizedLinearCall& c) {
  if (!takes_int8(c)) return c.x;
  const Tensor y = Tensor::empty(c.x.shape(), DType::f32, c.x.device());
  launch("round_activations", y.numel() / 32, RoundBlock{c.x.data<float>(), y.mutable_data<float>()});
  return y;
}

template <class T, int most>
void run_few(QuantizedLinearCall& c) {
  constexpr int threads = 128, warps = threads / warp_size;
  const Tensor x = rounded(c);
  const T* const bias = c.bias.defined() ? c.bias.data<T>() : nullptr;
  visit_format(c.weight.format(), [&](auto f) {
    launch_kernel("quantized_few_rows", few_rows<decltype(f), T, most>,
                  {static_cast<unsigned>((c.weight.rows() + warps - 1) / warps), threads}, BlockRows(c.weight),
                  x.data<T>(), bias, c.y.mutable_data<T>(), static_cast<int>(x.dim(0)), c.weight.cols(),
                  c.weight.rows());
  });
}

template <class T>
void run_few(QuantizedLinearCall& c) {
  c.x.dim(0) == 1 ? run_few<T, 1>(c) : run_few<T, static_cast<int>(most_few_rows)>(c);
}

bool has_few_rows(const QuantizedLinearCall& c) { return c.x.dim(0) <= most_few_rows; }

/// Some rows of W at a time, unpacked.
template <class T>
void run_tiles(QuantizedLinearCall& c) {
  const int64_t rows = c.x.dim(0), in = c.weight.cols(), out = c.weight.rows();
  const bool has_bias = c.bias.defined();
  if (in == 0) {
    fill_zero(c.y);
    if (has_bias) add_bias(c.y.reshape({rows, out}), c.bias);
    return;
  }
  const Tensor x = rounded(c);
  const int64_t step = std::clamp<int64_t>(tile_bytes / (in * size_of(x.dtype())), 1, out);
  bool is_added = false;
  for (int64_t begin = 0; begin < out; begin += step) {
    const int64_t n = std::min(step, out - begin);
    const Tensor w = unpacked<T>(c.weight, begin, begin + n, 0, in);  // (n, in)
    const BlasOperands operands{x.raw(), w.raw(), c.y.mutable_data<T>() + begin, has_bias ? c.bias.raw() : nullptr};
    BlasProduct product = blas_product(x.dtype(), rows, n, in, false, true, BlasEpilogue::bias);
    product.row_y = out;
    is_added = has_bias && n == out && blas_supports(product, operands);
    if (!is_added) product.epilogue = BlasEpilogue::none;
    blas_matmul(product, operands);
  }
  if (has_bias && !is_added) add_bias(c.y.reshape({rows, out}), c.bias);
}

/// Some columns of W at a time, all rows of them: the sums over rows of W are those of the product.
template <class T>
void run_grad(QuantizedLinearGradCall& c) {
  const int64_t rows = c.dy.dim(0), in = c.weight.cols(), out = c.weight.rows();
  if (out == 0) return fill_zero(c.dx);
  const int64_t step = std::clamp<int64_t>(tile_bytes / (out * size_of(c.dy.dtype())) / 256 * 256, 256, in);
  for (int64_t begin = 0; begin < in; begin += step) {
    const int64_t n = std::min(step, in - begin);
    const Tensor w = unpacked<T>(c.weight, 0, out, begin, begin + n);  // (out, n)
    BlasProduct product = blas_product(c.dy.dtype(), rows, n, out, false, false);
    product.row_y = in;
    blas_matmul(product, {c.dy.raw(), w.raw(), c.dx.mutable_data<T>() + begin});
  }
}

void run_rows(QuantizedRowsCall& c) {
  const auto* index = c.indices.data<int64_t>();
  if (c.y.dtype() == DType::bf16) return unpack<bf16>(c.matrix, 0, 0, index, c.y);
  c.y.dtype() == DType::f32 ? unpack<float>(c.matrix, 0, 0, index, c.y) : unpack<double>(c.matrix, 0, 0, index, c.y);
}

template <class T>
void add_rows() {
  const Device::Kind cuda = Device::Kind::cuda;
  quantized_linear_op.add({.name = "tiles", .dtypes = dtype_of<T>(), .run = run_tiles<T>, .device = cuda});
  quantized_linear_grad_op.add({.name = "tiles", .dtypes = dtype_of<T>(), .run = run_grad<T>, .device = cuda});
}

template <class T>
void add_few_rows() {
  quantized_linear_op.add({.name = "dots",
                           .dtypes = dtype_of<T>(),
                           .run = run_few<T>,
                           .supports = has_few_rows,
                           .device = Device::Kind::cuda});
}

}  // namespace

void register_quantized_linear() {
  add_few_rows<float>();
  add_few_rows<bf16>();
  add_rows<float>();
  add_rows<bf16>();
  add_rows<double>();
  quantized_rows_op.add(
      {.name = "element by element", .dtypes = DType::i64, .run = run_rows, .device = Device::Kind::cuda});
}

}  // namespace headroom::engine::cuda
