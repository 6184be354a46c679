#include "engine/cuda/launch.cuh"
#include "engine/cuda/number.cuh"
#include "engine/joined_sums.h"

namespace headroom::engine::cuda {
namespace {

/// A block adds the chunks of 32 columns: sixteen threads a column, whose sums are added in order.
constexpr int join_columns = 32, join_lanes = 16;
/// Sums of one launch: as many as its arguments, of at most 4 KiB, hold.
constexpr int most_joined = 120;

template <class C, class To>
struct JoinedOnes {
  struct One {
    const C* chunks;
    To* to;
    int32_t count, width;
    int64_t first_block;
  } of[most_joined];
  int64_t size;
};

template <class C, class To>
__global__ void join_kernel(const __grid_constant__ JoinedOnes<C, To> all) {
  __shared__ C sums[join_lanes][join_columns];
  const int64_t block = blockIdx.x;
  int at = 0;  // the last sum that begins at this block or before
  for (int step = 64; step > 0; step /= 2)
    if (at + step < all.size && all.of[at + step].first_block <= block) at += step;
  const C* chunks = all.of[at].chunks;
  const int32_t count = all.of[at].count, width = all.of[at].width;
  const int x = static_cast<int>(threadIdx.x), lane = static_cast<int>(threadIdx.y);
  const int64_t column = (block - all.of[at].first_block) * join_columns + x;
  C own = 0;
  if (column < width) {
#pragma unroll 8
    for (int32_t i = lane; i < count; i += join_lanes) own += chunks[int64_t{i} * width + column];
  }
  sums[lane][x] = own;
  __syncthreads();
  if (lane > 0 || column >= width) return;
  C total = sums[0][x];
  for (int i = 1; i < join_lanes; ++i) total += sums[i][x];
  store(all.of[at].to[column], static_cast<Compute<To>>(total));
}

template <class C, class To>
void join(const JoinCall& c) {
  for (size_t first = 0; first < c.sums.size(); first += most_joined) {
    JoinedOnes<C, To> all{};
    int64_t blocks = 0;
    for (size_t i = first; i < c.sums.size() && i < first + most_joined; ++i) {
      const auto& [chunks, to] = c.sums[i];
      const auto count = static_cast<int32_t>(chunks.dim(0)), width = static_cast<int32_t>(chunks.dim(1));
      chunks.use_on_stream();
      to.use_on_stream();
      all.of[all.size++] = {chunks.data<C>(), to.mutable_data<To>(), count, width, blocks};
      blocks += (width + join_columns - 1) / join_columns;
    }
    launch_kernel("join", join_kernel<C, To>, {blocks, dim3(join_columns, join_lanes)}, all);
  }
}

void run(JoinCall& c) {
  if (c.chunks.dtype() == DType::f64) return join<double, double>(c);
  c.sums[0].to.dtype() == DType::f32 ? join<float, float>(c) : join<float, bf16>(c);
}

}  // namespace

void register_join() { add_kernel(join_op, "one kernel", DType::f32 | DType::f64, run); }

}  // namespace headroom::engine::cuda
