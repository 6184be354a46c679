#include "engine/ops/packed_rows/packed_rows.h"

#include <algorithm>
#include <cmath>

#include "engine/cuda/blocks.cuh"
#include "engine/cuda/launch.cuh"
#include "engine/quantized/pack_block.h"

namespace headroom::engine::cuda {
namespace {

template <class F>
struct PackBlock {
  const float* x;
  uint8_t* blocks;
  __device__ void operator()(int64_t i) const { pack_block<F>(x + i * F::elements, blocks + i * F::bytes); }
};

template <class F>
struct UnpackNumber {
  const uint8_t* blocks;
  float* x;
  __device__ void operator()(int64_t i) const { x[i] = block_value<F>(blocks, i); }
};

/// A block of threads turns one run of n numbers.
__global__ void turn_run(const float* x, const float* scales, float* out, int n, int runs_of_row, float factor) {
  float* const run = dynamic_shared<float>();  // (n)
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int64_t first = int64_t{blockIdx.x} * n;
  const int column = static_cast<int>(blockIdx.x) % runs_of_row * n;
  for (int i = thread; i < n; i += threads)
    run[i] = scales ? Gpu::product(x[first + i], scales[column + i]) : x[first + i];
  for (int half = 1; half < n; half *= 2) {
    __syncthreads();
    for (int pair = thread; pair < n / 2; pair += threads) {
      const int i = pair / half * 2 * half + pair % half;
      const float a = run[i], b = run[i + half];
      run[i] = a + b, run[i + half] = a - b;
    }
  }
  __syncthreads();
  for (int i = thread; i < n; i += threads) out[first + i] = run[i] * factor;
}

void run_pack(PackRowsCall& c) {
  visit_format(c.out.format, [&](auto f) {
    using F = decltype(f);
    if constexpr (packs_blocks<F>)
      launch("pack_rows", c.x.numel() / F::elements,
             PackBlock<F>{c.x.data<float>(), c.out.bytes.mutable_data<uint8_t>()});
  });
}

void run_unpack(UnpackRowsCall& c) {
  visit_format(c.rows.format, [&](auto f) {
    using F = decltype(f);
    if constexpr (packs_blocks<F>)
      launch("unpack_rows", c.out.numel(), UnpackNumber<F>{c.rows.bytes.data<uint8_t>(), c.out.mutable_data<float>()});
  });
}

void run_turn(TurnRowsCall& c) {
  const auto n = static_cast<unsigned>(c.run);
  launch_kernel("turn_rows", turn_run, {c.x.numel() / c.run, std::clamp(n / 2, 32u, 256u), n * sizeof(float)},
                c.x.data<float>(), c.scales.data_or_null<float>(), c.out.mutable_data<float>(), static_cast<int>(n),
                static_cast<int>(c.x.dim(-1) / c.run), 1 / std::sqrt(static_cast<float>(n)));
}

}  // namespace

void register_packed_rows() {
  add_kernel(pack_rows_op, "a thread to a block", DType::f32, run_pack);
  add_kernel(unpack_rows_op, "numbers", DType::u8, run_unpack);
  add_kernel(turn_rows_op, "a block of threads to a run", DType::f32, run_turn);
}

}  // namespace headroom::engine::cuda
