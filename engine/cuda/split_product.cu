#include "engine/cuda/split_product.h"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "engine/allocator.h"
#include "engine/cuda/launch.cuh"
#include "engine/cuda/numbers.cuh"
#include "engine/cuda/split_tile.cuh"

namespace headroom::engine::cuda {
namespace {

constexpr int warp_rows = 64, warp_columns = 32;

struct SplitProduct {
  BlasProduct p;
  const float *a, *b;
  float* y;
  const float *bias, *added;
  float* bias_grad;
  int64_t terms = 0;                     ///< of k in each part, whole steps
  int64_t next_part = 0, next_bias = 0;  ///< from one part's y to the next, and of bias_grad
  int parts = 1;
  bool aligned_a = false, aligned_b = false;  ///< four neighbours can be read at once
};

template <bool a_along_k, bool b_along_k>
__global__ void __launch_bounds__(split_threads) split_product_kernel(const SplitProduct s) {
  struct Stage {
    SplitTile<a_along_k> a;
    SplitTile<b_along_k> b;
  };
  Stage* const stages = dynamic_shared<Stage>();
  const BlasProduct& p = s.p;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % warp_size, warp = thread / warp_size;
  const int64_t n0 = int64_t{blockIdx.x} * split_side, m0 = int64_t{blockIdx.y} * split_side;
  const int64_t stack = blockIdx.z / s.parts, of = blockIdx.z % s.parts;
  const int64_t k0 = of * s.terms;
  const int k = static_cast<int>(std::min(s.terms, p.k - k0));
  const float *const matrix_a = s.a + stack * p.step_a, *const matrix_b = s.b + stack * p.step_b;
  const bool sums_a = !a_along_k && s.bias_grad && blockIdx.x == 0;

  SplitSide<a_along_k> side_a(matrix_a, p.row_a, k0, k, m0, p.m, s.aligned_a);
  SplitSide<b_along_k> side_b(matrix_b, p.row_b, k0, k, n0, p.n, s.aligned_b);
  float4 next_a[2], next_b[2];
  float sum_a[4] = {};
  const auto get = [&](int half) { next_a[half] = side_a.get(half), next_b[half] = side_b.get(half); };
  const auto put_a = [&](Stage& stage, int half) {
    stage.a.put(half, next_a[half]);
    if (!sums_a) return;
    sum_a[0] += next_a[half].x, sum_a[1] += next_a[half].y, sum_a[2] += next_a[half].z, sum_a[3] += next_a[half].w;
  };
  get(0), get(1);
  for (int half = 0; half < 2; ++half) put_a(stages[0], half), stages[0].b.put(half, next_b[half]);
  side_a.advance(), side_b.advance();
  get(0), get(1);
  __syncthreads();

  float sums[4][4][4] = {};
  const int row = warp / (split_side / warp_columns) * warp_rows,
            column = warp % (split_side / warp_columns) * warp_columns;
  const bool is_inside = m0 + row < p.m && n0 + column < p.n;  // else the warp only helps to copy
  const int steps = (k + split_depth - 1) / split_depth;
  for (int step = 0; step < steps; ++step) {
    const Stage& now = stages[step % 2];
    Stage& then = stages[(step + 1) % 2];
    side_a.advance(), side_b.advance();
    uint32_t a[2][3][4], b[3][2][4];
    if (is_inside)
#pragma unroll
      for (int i = 0; i < 3; ++i) {
#pragma unroll
        for (int x = 0; x < 2; ++x) now.b.template load<false>(b[i][x], i, column + 16 * x);
        now.a.template load<true>(a[0][i], i, row);
      }
#pragma unroll
    for (int x = 0; x < 4; ++x) {
      if (is_inside) {
#pragma unroll
        for (int i = 0; i < 3 && x < 3; ++i) now.a.template load<true>(a[(x + 1) % 2][i], i, row + 16 * (x + 1));
        split_multiply(sums[x], a[x % 2], b);
      }
      if (x < 2) {
        put_a(then, x);
        next_a[x] = side_a.get(x);
      } else {
        then.b.put(x - 2, next_b[x - 2]);
        next_b[x - 2] = side_b.get(x - 2);
      }
    }
    __syncthreads();  // the next tiles are whole, and these are read
  }

  if (sums_a) {  // Warps hold the sums of every eighth row.
    auto* const all = reinterpret_cast<float*>(stages);
    for (int i = 0; i < 4; ++i) all[warp * split_side + lane * 4 + i] = sum_a[i];
    __syncthreads();
    if (thread < split_side && m0 + thread < p.m) {
      float total = 0;
      for (int i = 0; i < split_threads / warp_size; ++i) total += all[i * split_side + thread];
      s.bias_grad[of * s.next_bias + m0 + thread] = total;
    }
  }

  float zero = 0;  // NaN if any of the sums is not finite
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    float& v = sums[i / 16][i / 4 % 4][i % 4];
    zero += 0 * v;
    v *= 1 / split_scale / split_scale;
  }
  const int64_t m = m0 + row + lane / 4, n = n0 + column + lane % 4 * 2;
  if (zero != 0) {  // rare: infinities, NaN, overflow
#pragma unroll 1
    for (int at = 0; at < 64; ++at) {
      float v = 0;
#pragma unroll
      for (int i = 0; i < 64; ++i)
        if (i == at) v = sums[i / 16][i / 4 % 4][i % 4];
      const int64_t r = m + at / 16 * 16 + at % 4 / 2 * 8, c = n + at / 4 % 4 * 8 + at % 2;
      if (0 * v == 0 || r >= p.m || c >= p.n) continue;
      const float* x = matrix_a + (a_along_k ? r * p.row_a + k0 : k0 * p.row_a + r);
      const float* w = matrix_b + (b_along_k ? c * p.row_b + k0 : k0 * p.row_b + c);
      v = 0;
#pragma unroll 1
      for (int i = 0; i < k; ++i) {
        v = __fmaf_rn(*x, *w, v);
        x += a_along_k ? 1 : p.row_a, w += b_along_k ? 1 : p.row_b;
      }
#pragma unroll
      for (int i = 0; i < 64; ++i)
        if (i == at) sums[i / 16][i / 4 % 4][i % 4] = v;
    }
  }
  const int64_t first = of * s.next_part + stack * p.step_y;
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int64_t r = m + i / 16 * 16 + i % 4 / 2 * 8, c = n + i / 4 % 4 * 8 + i % 2, to = first + r * p.row_y + c;
    if (r >= p.m || c >= p.n) continue;
    float v = sums[i / 16][i / 4 % 4][i % 4];
    if (s.bias) v += s.bias[c];
    if (s.added) v += s.added[to];
    s.y[to] = v;
  }
}

/// y and bias_grad from their parts, in order.
struct AddParts {
  const float *parts_of_y, *parts_of_bias;
  float *y, *bias_grad;
  const float *bias, *added;
  int64_t m, n, step_y, row_y, total;  ///< `total`: numbers of y
  int parts;

  __device__ void operator()(int64_t i) const {
    const bool is_y = i < total;
    const float* const from = is_y ? parts_of_y + i : parts_of_bias + (i - total);
    float sum = 0;
    for (int part = 0; part < parts; ++part) sum += from[part * (is_y ? total : m)];
    if (!is_y) {
      bias_grad[i - total] = sum;
      return;
    }
    const int64_t row = i / n, column = i - row * n, to = row / m * step_y + row % m * row_y + column;
    if (bias) sum += bias[column];
    if (added) sum += added[to];
    y[to] = sum;
  }
};

int64_t quotient(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool are_whole_packs(const float* x, int64_t row, int64_t step) {
  return are_aligned(x) && row % 4 == 0 && step % 4 == 0;
}

}  // namespace

void split_product(const BlasProduct& p, const BlasOperands& o) {
  SplitProduct s{.p = p,
                 .a = static_cast<const float*>(o.a),
                 .b = static_cast<const float*>(o.b),
                 .y = static_cast<float*>(o.y),
                 .bias = p.epilogue == BlasEpilogue::bias ? static_cast<const float*>(o.bias) : nullptr,
                 .added = p.adds ? static_cast<const float*>(o.added) : nullptr,
                 .bias_grad = p.epilogue == BlasEpilogue::bias_grad ? static_cast<float*>(o.bias_grad) : nullptr};
  s.aligned_a = are_whole_packs(s.a, p.row_a, p.step_a);
  s.aligned_b = are_whole_packs(s.b, p.row_b, p.step_b);
  const int64_t numbers = p.batch * p.m * p.n;
  s.terms = quotient(quotient(p.k, split_parts(p)), split_depth) * split_depth;
  s.parts = static_cast<int>(quotient(p.k, s.terms));
  std::optional<Block> partial;
  AddParts join{nullptr, nullptr, s.y, s.bias_grad, s.bias, s.added, p.m, p.n, p.step_y, p.row_y, numbers, s.parts};
  if (s.parts > 1) {
    const int64_t of_bias = s.bias_grad ? p.m : 0;
    int device = 0;
    HEADROOM_CUDA(cudaGetDevice(&device));
    partial.emplace(Device{Device::Kind::cuda, device},
                    static_cast<size_t>(s.parts * (numbers + of_bias)) * sizeof(float));
    s.y = static_cast<float*>(partial->address());
    if (s.bias_grad) s.bias_grad = s.y + s.parts * numbers;
    s.bias = s.added = nullptr;
    s.p.row_y = p.n, s.p.step_y = p.m * p.n;
    s.next_part = numbers, s.next_bias = p.m;
    join.parts_of_y = s.y, join.parts_of_bias = s.bias_grad;
  }
  const LaunchShape shape{
      dim3(static_cast<unsigned>(quotient(p.n, split_side)), static_cast<unsigned>(quotient(p.m, split_side)),
           static_cast<unsigned>(p.batch * s.parts)),
      split_threads};
  const auto run = [&](auto a_along_k, auto b_along_k) {
    LaunchShape sized = shape;
    sized.shared_bytes = 2 * (sizeof(SplitTile<a_along_k>) + sizeof(SplitTile<b_along_k>));
    launch_kernel("split_product", split_product_kernel<a_along_k, b_along_k>, sized, s);
  };
  if (p.transpose_a)
    p.transpose_b ? run(std::false_type(), std::true_type()) : run(std::false_type(), std::false_type());
  else p.transpose_b ? run(std::true_type(), std::true_type()) : run(std::true_type(), std::false_type());
  if (s.parts > 1) launch("split_product_sum", numbers + (join.bias_grad ? p.m : 0), join);
}

}  // namespace headroom::engine::cuda
