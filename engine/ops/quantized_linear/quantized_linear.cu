#include "engine/ops/quantized_linear/quantized_linear.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/context.h"
#include "engine/cuda/bias.cuh"
#include "engine/cuda/blas.h"
#include "engine/cuda/blocks.cuh"
#include "engine/cuda/numbers.cuh"
#include "engine/cuda/warp.cuh"
#include "engine/ops/quantized_linear/quantized_linear_parts.cuh"

namespace headroom::engine::cuda {
namespace {

/// The most rows of x for which W is read in place.
constexpr int64_t most_few_rows = 8;
/// How much of W is unpacked at a time.
constexpr int64_t tile_bytes = int64_t{64} << 20;

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// A block of four warps, each of which takes a row of W.
LaunchShape warp_to_row(int64_t w_rows) {
  constexpr int threads = 128, warps = threads / warp_size;
  return {(w_rows + warps - 1) / warps, threads};
}

/// W's bytes on the device.
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

/// Writes each row of y from a warp's sums over the columns of one row of W, for `rows` ≤ most rows of x.
template <class T, int most>
__device__ void write_sums(const float (&sums)[most], int rows, int64_t o, int64_t w_rows, const T* bias, T* y) {
  for (int r = 0; r < most; ++r) {
    const float sum = warp_reduce(sums[r], Add{});
    if (threadIdx.x % warp_size == 0 && r < rows) store(y[r * w_rows + o], bias ? sum + load(bias[o]) : sum);
  }
}

/// The row of W that a warp takes.
__device__ inline int64_t own_row() { return int64_t{blockIdx.x} * (blockDim.x / warp_size) + threadIdx.x / warp_size; }

/// Column by column, whatever the alignment.
template <class F, class T, int most>
__global__ void few_rows(BlockRows w, const T* x, const T* bias, T* y, int rows, int64_t cols, int64_t w_rows) {
  const int64_t o = own_row();
  if (o >= w_rows) return;
  const uint8_t* const row = w.row(o);
  float sums[most] = {};
  for (int64_t c = threadIdx.x % warp_size; c < cols; c += warp_size) {
    const float value = block_value<F>(row, c);
    for (int r = 0; r < most; ++r)
      if (r < rows) sums[r] += value * load(x[r * cols + c]);
  }
  write_sums(sums, rows, o, w_rows, bias, y);
}

/// A part of the row to a lane.
template <class F, class T, int most>
__global__ void few_rows_by_parts(BlockRows w, const T* x, const T* bias, T* y, int rows, int64_t cols,
                                  int64_t w_rows) {
  using Part = RowPart<F>;
  constexpr int pack = 4;
  const int64_t o = own_row();
  if (o >= w_rows) return;
  const uint8_t* const row = w.row(o);
  float sums[most] = {};
  for (int64_t p = threadIdx.x % warp_size; p < cols / (Part::runs * part_run); p += warp_size) {
    const Part part = Part::of(row, p);
#pragma unroll
    for (int h = 0; h < Part::runs; ++h) {
      float values[part_run];
      part.values(h, values);
      const T* const from = x + Part::column(p) + h * Part::apart;
      for (int r = 0; r < most; ++r)
        for (int i = 0; i < part_run && r < rows; i += pack) {
          const Numbers<T, pack> v = load_numbers<pack>(from + r * cols + i, true);
          for (int k = 0; k < pack; ++k) sums[r] += values[i + k] * v.at[k];
        }
    }
  }
  write_sums(sums, rows, o, w_rows, bias, y);
}

/// Rows of 8-bit activations: engine/quantized/activations.h, without the padding.
struct ByteActivations {
  const int8_t* values;
  const float *scales, *sums;
};

/// Integer products of 16 columns each, which are exact, then f32.
template <class F, int most>
__global__ void few_rows_int8(BlockRows w, ByteActivations x, const float* bias, float* y, int rows, int64_t cols,
                              int64_t w_rows) {
  using Part = RowPart<F>;
  const int64_t o = own_row(), x_blocks = cols / 32;
  if (o >= w_rows) return;
  const uint8_t* const row = w.row(o);
  float sums[most] = {};
  for (int64_t p = threadIdx.x % warp_size; p < x_blocks; p += warp_size) {
    const Part part = Part::of(row, p);
    float minimum = 0;
    if constexpr (Part::adds_minimum) minimum = part.added(p);
    for (int r = 0; r < most; ++r) {
      if (r >= rows) continue;
      const int64_t block = r * x_blocks;
      for (int h = 0; h < 2; ++h) {
        const int64_t c = Part::column(p) + h * Part::apart;
        const FourWords a = sixteen_bytes<16>(reinterpret_cast<const uint8_t*>(x.values) + r * cols + c);
        int dot = 0;
        for (int k = 0; k < 4; ++k) dot = __dp4a(static_cast<int>(part.words[h][k]), static_cast<int>(a.at[k]), dot);
        sums[r] += static_cast<float>(dot) * (part.step[h] * x.scales[block + c / 32]);
      }
      if (Part::adds_minimum) sums[r] += minimum * x.sums[block + p];
    }
  }
  write_sums(sums, rows, o, w_rows, bias, y);
}

/// Each 32 of n numbers as 8 bits hold them, four to a lane: engine/quantized/activations.h. Into values, scales and
/// sums, or into `rounded` as f32.
__global__ void round_activations(const float* x, bool aligned, int64_t n, int8_t* values, float* scales, float* sums,
                                  float* rounded) {
  constexpr int pack = 4, lanes = 32 / pack;
  const int64_t first = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * pack;
  const bool is_there = first < n;
  const float infinity = std::bit_cast<float>(0x7f800000u);
  Numbers<float, pack> v{};
  if (is_there) v = load_numbers<pack>(x + first, aligned);
  float most = 0;
  for (const float number : v.at) {
    const float a = std::fabs(number);
    if (!(a <= most)) most = a == a ? a : infinity;
  }
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    most = Larger{}(most, __shfl_xor_sync(all_lanes, most, distance));
  const bool is_finite = most < infinity, is_zero = most < 1e-30f;
  const float scale = is_finite ? (is_zero ? 0 : most / 127) : not_a_number;
  const float factor = is_finite && !is_zero ? 127 / most : 0;
  int q[pack], sum = 0;
  for (int k = 0; k < pack; ++k) {
    q[k] = factor == 0 ? 0 : static_cast<int>(std::rint(v.at[k] * factor));
    sum += q[k];
  }
  for (int distance = lanes / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(all_lanes, sum, distance);
  if (!is_there) return;
  if (rounded) {
    for (int k = 0; k < pack; ++k) rounded[first + k] = scale * static_cast<float>(q[k]);
    return;
  }
  uint32_t bytes = 0;
  for (int k = 0; k < pack; ++k) bytes |= static_cast<uint32_t>(q[k] & 255) << (8 * k);
  *reinterpret_cast<uint32_t*>(values + first) = bytes;
  if (first % 32 != 0) return;
  scales[first / 32] = scale;
  sums[first / 32] = scale * static_cast<float>(sum);
}

void launch_round(const Tensor& x, int8_t* values, float* scales, float* sums, float* rounded) {
  constexpr int threads = 128, pack = 4;
  const auto* const from = x.data<float>();
  launch_kernel("round_activations", round_activations, {(x.numel() + threads * pack - 1) / (threads * pack), threads},
                from, are_aligned(from), x.numel(), values, scales, sums, rounded);
}

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
  launch_round(c.x, nullptr, nullptr, nullptr, y.mutable_data<float>());
  return y;
}

template <int most>
void run_few_int8(QuantizedLinearCall& c) {
  const Device device = c.x.device();
  const int64_t rows = c.x.dim(0), cols = c.weight.cols(), out = c.weight.rows();
  const Tensor values = Tensor::empty({rows, cols}, DType::i8, device);
  const Tensor scales = Tensor::empty({rows, cols / 32}, DType::f32, device);
  const Tensor sums = Tensor::empty({rows, cols / 32}, DType::f32, device);
  launch_round(c.x, values.mutable_data<int8_t>(), scales.mutable_data<float>(), sums.mutable_data<float>(), nullptr);
  visit_format(c.weight.format(), [&](auto f) {
    if constexpr (decltype(f)::has_integer_products)
      launch_kernel("quantized_few_rows_int8", few_rows_int8<decltype(f), most>, warp_to_row(out), BlockRows(c.weight),
                    ByteActivations{values.data<int8_t>(), scales.data<float>(), sums.data<float>()},
                    c.bias.data_or_null<float>(), c.y.mutable_data<float>(), static_cast<int>(rows), cols, out);
  });
}

/// True if W's parts and x's packs can be read by words.
template <class F>
bool takes_parts(const QuantizedMatrix& w, const void* x) {
  const auto is_multiple = [](const void* p, int n) { return reinterpret_cast<uintptr_t>(p) % n == 0; };
  return w.cols() % part_run == 0 && is_multiple(w.row(0), RowPart<F>::alignment) && is_multiple(x, 16);
}

template <class T, int most>
void run_few(QuantizedLinearCall& c) {
  const T* const bias = c.bias.data_or_null<T>();
  const T* const x = c.x.data<T>();
  visit_format(c.weight.format(), [&](auto f) {
    using F = decltype(f);
    const bool by_parts = takes_parts<F>(c.weight, x);
    launch_kernel(by_parts ? "quantized_few_rows" : "quantized_few_columns",
                  by_parts ? few_rows_by_parts<F, T, most> : few_rows<F, T, most>, warp_to_row(c.weight.rows()),
                  BlockRows(c.weight), x, bias, c.y.mutable_data<T>(), static_cast<int>(c.x.dim(0)), c.weight.cols(),
                  c.weight.rows());
  });
}

template <class T>
void run_few(QuantizedLinearCall& c) {
  c.x.dim(0) == 1 ? run_few<T, 1>(c) : run_few<T, static_cast<int>(most_few_rows)>(c);
}
void run_few_int8(QuantizedLinearCall& c) {
  c.x.dim(0) == 1 ? run_few_int8<1>(c) : run_few_int8<static_cast<int>(most_few_rows)>(c);
}

bool has_few_rows(const QuantizedLinearCall& c) { return c.x.dim(0) <= most_few_rows; }
/// W may be some rows of another matrix, which begin where words do not.
bool is_aligned_weight(const QuantizedLinearCall& c) {
  bool out = false;
  visit_format(c.weight.format(), [&](auto f) {
    out = reinterpret_cast<uintptr_t>(c.weight.row(0)) % RowPart<decltype(f)>::alignment == 0;
  });
  return out;
}
bool has_few_int8_rows(const QuantizedLinearCall& c) {
  return has_few_rows(c) && takes_int8(c) && is_aligned_weight(c);
}

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
  add_kernel(quantized_linear_op, "tiles", dtype_of<T>(), run_tiles<T>);
  add_kernel(quantized_linear_grad_op, "tiles", dtype_of<T>(), run_grad<T>);
}

template <class T>
void add_few_rows() {
  add_kernel(quantized_linear_op, "dots", dtype_of<T>(), run_few<T>, has_few_rows);
}

}  // namespace

void register_quantized_linear() {
  add_kernel(quantized_linear_op, "8-bit dots", DType::f32, run_few_int8, has_few_int8_rows);
  add_few_rows<float>();
  add_few_rows<bf16>();
  add_rows<float>();
  add_rows<bf16>();
  add_rows<double>();
  add_kernel(quantized_rows_op, "element by element", DType::i64, run_rows);
}

}  // namespace headroom::engine::cuda
