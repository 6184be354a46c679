#include <cmath>

#include "engine/cuda/launch.cuh"
#include "engine/cuda/warp.cuh"
#include "engine/optim/calls.h"

// √Σx² without a look at the result in between. Squares of f32 are within f64's range, so they are added there; those
// of f64 go into one of three sums by size, the outer two of them scaled (Blue, "A portable Fortran program to find the
// Euclidean norm of a vector", ACM TOMS 4(1), 1978).
namespace headroom::engine::cuda {
namespace {

constexpr int threads = 256;
constexpr int64_t chunk = 1 << 14;

/// Σx² of elements of the middle sizes, and of (2^-538 x)² and (2^537 x)² of the large and of the small.
struct SquareSums {
  double middle = 0, large = 0, small = 0;

  __device__ void add(float x) { middle += static_cast<double>(x) * static_cast<double>(x); }
  __device__ void add(double x) {
    if (std::fabs(x) > 0x1p486) large += x * 0x1p-538 * (x * 0x1p-538);
    else if (std::fabs(x) < 0x1p-511) small += x * 0x1p537 * (x * 0x1p537);
    else middle += x * x;  // NaN as well
  }
  __device__ void add(const SquareSums& other) {
    middle += other.middle;
    large += other.large;
    small += other.small;
  }
  __device__ double root() const {
    if (large > 0) return std::sqrt(large + middle * 0x1p-538 * 0x1p-538) * 0x1p538;
    if (small > 0 && middle == 0) return std::sqrt(small) * 0x1p-537;
    return std::sqrt(middle + small * 0x1p-537 * 0x1p-537);
  }
};

__device__ SquareSums joined(const SquareSums& own, double* scratch) {
  return {block_reduce(own.middle, scratch, Add()), block_reduce(own.large, scratch, Add()),
          block_reduce(own.small, scratch, Add())};
}

/// A block sums a chunk.
template <class T>
__global__ void square_sum_kernel(const T* x, int64_t n, SquareSums* sums) {
  __shared__ double scratch[warp_size];
  const int64_t begin = int64_t{blockIdx.x} * chunk, end = n - begin < chunk ? n : begin + chunk;
  SquareSums own;
  for (int64_t i = begin + threadIdx.x; i < end; i += threads) own.add(x[i]);
  const SquareSums all = joined(own, scratch);
  if (threadIdx.x == 0) sums[blockIdx.x] = all;
}

/// One block joins the chunks in a fixed order.
__global__ void norm_kernel(const SquareSums* sums, int64_t chunks, double* y) {
  __shared__ double scratch[warp_size];
  SquareSums own;
  for (int64_t i = threadIdx.x; i < chunks; i += threads) own.add(sums[i]);
  const SquareSums all = joined(own, scratch);
  if (threadIdx.x == 0) *y = all.root();
}

template <class T>
void run(NormCall& c) {
  static_assert(sizeof(SquareSums) == 3 * sizeof(double));
  const int64_t n = c.x.numel(), chunks = (n + chunk - 1) / chunk;
  const Tensor partial = Tensor::empty({chunks, 3}, DType::f64, c.x.device());
  auto* sums = reinterpret_cast<SquareSums*>(partial.mutable_data<double>());
  launch_kernel("square_sum", square_sum_kernel<T>, {chunks, threads}, c.x.data<T>(), n, sums);
  launch_kernel("norm", norm_kernel, {1, threads}, sums, chunks, c.y.mutable_data<double>());
}

}  // namespace

void register_norm() {
  add_kernel(norm_op, "chunks in order", DType::f32, run<float>);
  add_kernel(norm_op, "chunks in order", DType::f64, run<double>);
}

}  // namespace headroom::engine::cuda
