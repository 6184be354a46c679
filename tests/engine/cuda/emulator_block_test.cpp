// Threads of a block on the emulator: barriers, warps, and what it says of kernels that a GPU would hang on.
#include <numeric>

#include "engine/cuda/warp.cuh"
#include "tests/engine/cuda/emulated.h"
#include "tests/support/catch.h"

namespace {

using namespace headroom;
using namespace headroom::testing;
using engine::cuda::launch_kernel;

constexpr int threads = 96;

/// The sum of a block's values by halving, with or without the barrier between two halvings.
template <bool with_barrier>
__global__ void sum_block(const float* x, float* y) {
  __shared__ float partial[128];
  const unsigned i = threadIdx.x;
  partial[i] = x[blockIdx.x * blockDim.x + i];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (i < half) partial[i] += partial[i + half];
    if (with_barrier) __syncthreads();
  }
  if (i == 0) y[blockIdx.x] = partial[0];
}

template <bool with_barrier>
std::vector<float> sums_of_blocks(const std::vector<float>& x) {
  const DeviceArray<float> in(x), out(x.size() / 128);
  launch_kernel("sum_block", sum_block<with_barrier>, {static_cast<unsigned>(x.size() / 128), 128}, in.data(),
                out.data());
  return out.values();
}

constexpr int line_of_half = __LINE__ + 3;
__global__ void half_of_it(float* y) {
  if (threadIdx.x < 32) return;
  __syncthreads();
  y[0] = 1;
}

constexpr int line_of_first = __LINE__ + 2, line_of_second = line_of_first + 1;
__global__ void two_barriers(float* y) {
  if (threadIdx.x < 32) __syncthreads();
  else __syncthreads();
  y[0] = 1;
}

__global__ void lane_that_returned(int* y) {
  if (threadIdx.x == 3) return;
  y[threadIdx.x] = __shfl_sync(engine::cuda::all_lanes, 1, 0);
}

__global__ void lanes_that_do_not_exist(int* y) { y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1, 1); }

__global__ void throws(const int* limits) {
  if (threadIdx.x == 5 && blockIdx.x == 2) __trap();
  (void)limits;
}

struct Votes {
  unsigned ballot, all, any, full;
};

__global__ void votes(int* shuffled, Votes* votes) {
  const int i = static_cast<int>(threadIdx.x);
  int* out = shuffled + i * 6;
  out[0] = __shfl_sync(0xffffffffu, i * 10, 7);
  out[1] = __shfl_up_sync(0xffffffffu, i, 3);
  out[2] = __shfl_down_sync(0xffffffffu, i, 3);
  out[3] = __shfl_xor_sync(0xffffffffu, i, 5);
  out[4] = __shfl_sync(0xffffffffu, i, 1, 8);
  out[5] = 0;
  if (i % 2 == 0) out[5] = __reduce_add_sync(0x55555555u, i);
  const unsigned ballot = __ballot_sync(0xffffffffu, i % 32 < 4);
  const int all = __all_sync(0xffffffffu, i < 32), any = __any_sync(0xffffffffu, i == 40);
  if (i % 32 == 0) votes[i / 32] = {ballot, all != 0, any != 0, __activemask()};
  __syncwarp();
}

__global__ void sums(const double* x, double* y) {
  __shared__ double scratch[3];
  const double value = x[threadIdx.x];
  const double total = engine::cuda::block_reduce(value, scratch, engine::cuda::Add{});
  const double largest = engine::cuda::block_reduce(value, scratch, engine::cuda::Larger{});
  y[threadIdx.x] = total + 1000 * largest;
}

__global__ void counts(int* y) {
  const int i = static_cast<int>(threadIdx.x);
  y[3 * i] = __syncthreads_count(i % 3 == 0);
  y[3 * i + 1] = __syncthreads_or(i == 4);
  y[3 * i + 2] = __syncthreads_and(i < 4);
}

__global__ void find_oneself(int* y) {
  const dim3 &n = blockDim, &g = gridDim;
  const unsigned thread = threadIdx.x + n.x * (threadIdx.y + n.y * threadIdx.z);
  const unsigned block = blockIdx.x + g.x * (blockIdx.y + g.y * blockIdx.z);
  atomicAdd(y + block * n.x * n.y * n.z + thread, 1);
}

__global__ void dynamic_memory(int* y) {
  auto* shared = engine::cuda::dynamic_shared<int>();
  y[2 * threadIdx.x] = shared[threadIdx.x];
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  y[2 * threadIdx.x + 1] = shared[(threadIdx.x + 1) % blockDim.x];
}

std::string place(int line) { return "emulator_block_test.cpp:" + std::to_string(line); }

}  // namespace

TEST_CASE("a reduction with its barriers is right in every order, one without is not") {
  std::vector<float> x(64 * 128), wanted(64);
  std::iota(x.begin(), x.end(), 1.0f);
  for (size_t i = 0; i < x.size(); ++i) wanted[i / 128] += x[i];
  for (const uint64_t seed : seeds) {
    engine::cuda::emulator::set_seed(seed);
    CHECK(sums_of_blocks<true>(x) == wanted);
    CHECK(sums_of_blocks<false>(x) != wanted);
  }
}

TEST_CASE("the order of threads depends on the seed alone") {
  const std::vector<float> x(64 * 128, 1.0f);
  const auto run = [&](uint64_t seed) {
    engine::cuda::emulator::set_seed(seed);
    return sums_of_blocks<false>(x);
  };
  CHECK(run(1) == run(1));
  CHECK(run(1) != run(2));
}

TEST_CASE("threads that wait for each other forever are an error that names both") {
  const DeviceArray<float> y(1);
  const std::string returned = device_error([&] { launch_kernel("half_of_it", half_of_it, {2, 64}, y.data()); });
  CHECK_THAT(returned, contains("kernel half_of_it, block ("));
  CHECK_THAT(returned, contains("waits at __syncthreads ("));
  CHECK_THAT(returned, contains(place(line_of_half) + "), but thread (0, 0, 0) has returned"));
  const std::string two = device_error([&] { launch_kernel("two_barriers", two_barriers, {1, 64}, y.data()); });
  CHECK_THAT(two, contains("waits at __syncthreads ("));
  CHECK_THAT(two, contains(place(line_of_first)));
  CHECK_THAT(two, contains(place(line_of_second)));
}

TEST_CASE("a warp that waits for a lane that does not come is an error that names it") {
  const DeviceArray<int> y(64);
  const std::string returned = device_error([&] {
    launch_kernel("lane_that_returned", lane_that_returned, {1, 64}, y.data());
  });
  CHECK_THAT(returned,
             contains("kernel lane_that_returned, block (0, 0, 0), thread (0, 0, 0): waits at __shfl_sync ("));
  CHECK_THAT(returned, contains("for lanes 0xffffffff, but thread (3, 0, 0) has returned"));
  const std::string none = device_error([&] {
    launch_kernel("lanes_that_do_not_exist", lanes_that_do_not_exist, {1, 16}, y.data());
  });
  CHECK_THAT(none, contains("names lanes that do not exist: the warp has 16"));
}

TEST_CASE("an error in a kernel stays, as on a GPU, and names the thread") {
  const DeviceArray<int> y(1);
  launch_kernel("throws", throws, {4, 8}, y.data());
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK_THAT(std::string(cudaGetErrorString(cudaGetLastError())),
             contains("unspecified launch failure: kernel throws, block (2, 0, 0), thread (5, 0, 0): __trap ("));
  engine::cuda::emulator::find_card_again();
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("shuffles, votes and reductions of a warp") {
  for (const uint64_t seed : seeds) {
    engine::cuda::emulator::set_seed(seed);
    const DeviceArray<int> shuffled(64 * 6);
    const DeviceArray<Votes> voted(2);
    launch_kernel("votes", votes, {1, 64}, shuffled.data(), voted.data());
    const std::vector<int> s = shuffled.values();
    for (int i = 0; i < 64; ++i) {
      const int lane = i % 32, first = i - lane;
      INFO("thread " << i);
      const std::vector<int> wanted{(first + 7) * 10,       lane < 3 ? i : i - 3,
                                    lane >= 29 ? i : i + 3, i ^ 5,
                                    i / 8 * 8 + 1,          i % 2 == 0 ? 16 * (first + 15) : 0};
      CHECK(std::vector<int>(s.begin() + i * 6, s.begin() + i * 6 + 6) == wanted);
    }
    const std::vector<Votes> v = voted.values();
    CHECK(v[0].ballot == 0xfu);
    CHECK(v[1].ballot == 0xfu);
    CHECK(v[0].all == 1);
    CHECK(v[1].all == 0);
    CHECK(v[0].any == 0);
    CHECK(v[1].any == 1);
    CHECK(v[0].full == 0xffffffffu);
  }
}

TEST_CASE("sums and maxima of a block are known to all its threads, the same bits in every order") {
  std::vector<double> x(threads);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 1.0 / static_cast<double>(i + 1);
  const DeviceArray<double> in(x), out(threads);
  std::vector<double> first;
  for (const uint64_t seed : seeds) {
    engine::cuda::emulator::set_seed(seed);
    launch_kernel("sums", sums, {1, threads}, in.data(), out.data());
    const std::vector<double> y = out.values();
    if (first.empty()) first = y;
    CHECK(y == first);
    CHECK(y == std::vector<double>(threads, y[0]));
    CHECK(y[0] == Approx(std::accumulate(x.begin(), x.end(), 0.0) + 1000));
  }
}

TEST_CASE("barriers that count") {
  const DeviceArray<int> y(30);
  launch_kernel("counts", counts, {1, 10}, y.data());
  for (int i = 0; i < 10; ++i) CHECK(y.values()[static_cast<size_t>(3 * i)] == 4);
  CHECK(y.values()[1] == 1);
  CHECK(y.values()[2] == 0);
}

TEST_CASE("every thread of every block runs once and finds itself") {
  const DeviceArray<int> y(std::vector<int>(2 * 3 * 4 * 5 * 3 * 2, 0));
  launch_kernel("find_oneself", find_oneself, {dim3(2, 3, 4), dim3(5, 3, 2)}, y.data());
  CHECK(y.values() == std::vector<int>(2 * 3 * 4 * 5 * 3 * 2, 1));
}

TEST_CASE("dynamic shared memory is the block's own, and starts as NaN") {
  const DeviceArray<int> y(20);
  launch_kernel("dynamic_memory", dynamic_memory, {1, 10, 40}, y.data());
  for (int i = 0; i < 10; ++i) {
    CHECK(y.values()[static_cast<size_t>(2 * i)] == -1);
    CHECK(y.values()[static_cast<size_t>(2 * i + 1)] == (i + 1) % 10);
  }
  CHECK_THAT(device_error([&] {
               launch_kernel("dynamic_memory", dynamic_memory, {1, 10}, y.data());
             }),
             contains("asks for dynamic shared memory, of which its launch gives none"));
}

TEST_CASE("a launch that no card takes is refused") {
  const DeviceArray<int> y(1);
  const auto refused = [&](const engine::cuda::LaunchShape& shape) {
    return device_error([&] { launch_kernel("counts", counts, shape, y.data()); });
  };
  CHECK_THAT(refused({1, 1025}), contains("invalid configuration argument: kernel counts: (1025, 1, 1) threads"));
  CHECK_THAT(refused({1, dim3(32, 33)}), contains("(32, 33, 1) threads"));
  CHECK_THAT(refused({dim3(1, 65536), 32}), contains("(1, 65536, 1) blocks"));
  CHECK_THAT(refused({1, 32, size_t{228} << 10}), contains("233472 bytes of shared memory, of 232448"));
}
