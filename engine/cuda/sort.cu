#include "engine/cuda/sort.cuh"

#include <bit>
#include <utility>

#include "engine/cuda/launch.cuh"
#include "engine/cuda/warp.cuh"

namespace headroom::engine::cuda {
namespace {

constexpr int digit_bits = 8, digits = 1 << digit_bits;
/// A block has a thread per digit and sorts one tile: each warp `per_lane` neighbouring rows of 32 keys.
constexpr int warps = digits / warp_size, per_lane = 8, tile = digits * per_lane;

__device__ inline int digit_of(int64_t key, int shift) {
  return static_cast<int>(static_cast<uint64_t>(key) >> shift) & (digits - 1);
}

/// counts[d][t] = keys of tile t whose digit is d.
__global__ void count_digits(int64_t n, int shift, const int64_t* keys, int64_t* counts) {
  __shared__ int count[digits];
  const int thread = static_cast<int>(threadIdx.x);
  count[thread] = 0;
  __syncthreads();
  for (int i = thread; i < tile; i += digits) {
    const int64_t at = int64_t{blockIdx.x} * tile + i;
    if (at < n) atomicAdd(&count[digit_of(keys[at], shift)], 1);
  }
  __syncthreads();
  counts[int64_t{thread} * gridDim.x + blockIdx.x] = count[thread];
}

/// The sum of the values of all threads before this one, and in `total` of all: a block of `digits` threads. `scratch`:
/// one number per warp, which may be used again at once.
__device__ inline int64_t sum_before(int64_t value, int64_t* scratch, int64_t& total) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size, warp = static_cast<int>(threadIdx.x) / warp_size;
  int64_t sum = value;
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const int64_t before = __shfl_up_sync(all_lanes, sum, static_cast<unsigned>(distance));
    if (lane >= distance) sum += before;
  }
  __syncthreads();  // others may still read the scratch
  if (lane == warp_size - 1) scratch[warp] = sum;
  __syncthreads();
  total = 0;
  int64_t earlier = 0;
  for (int w = 0; w < warps; ++w) {
    if (w < warp) earlier += scratch[w];
    total += scratch[w];
  }
  return earlier + sum - value;
}

/// Block d: counts[d][t] becomes the sum of those of earlier tiles, totals[d] that of all.
__global__ void add_tiles(int64_t tiles, int64_t* counts, int64_t* totals) {
  __shared__ int64_t scratch[warps];
  int64_t* row = counts + int64_t{blockIdx.x} * tiles;
  int64_t carried = 0;
  for (int64_t begin = 0; begin < tiles; begin += digits) {
    const int64_t at = begin + threadIdx.x, value = at < tiles ? row[at] : 0;
    int64_t total = 0;
    const int64_t before = sum_before(value, scratch, total);
    if (at < tiles) row[at] = carried + before;
    carried += total;
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = carried;
}

/// Puts each key, with its position, behind all that have a smaller digit, and those of its own that came before.
__global__ void move_keys(int64_t n, int shift, const int64_t* keys, const int64_t* positions, const int64_t* counts,
                          const int64_t* totals, int64_t* keys_to, int64_t* positions_to) {
  __shared__ int64_t begins[digits], scratch[warps];
  __shared__ int seen[warps][digits];  // of each warp's keys, then of earlier warps'
  const int thread = static_cast<int>(threadIdx.x), lane = thread % warp_size, warp = thread / warp_size;
  int64_t total = 0;
  begins[thread] = sum_before(totals[thread], scratch, total) + counts[int64_t{thread} * gridDim.x + blockIdx.x];
  for (int w = 0; w < warps; ++w) seen[w][thread] = 0;
  __syncthreads();
  const int64_t first = int64_t{blockIdx.x} * tile + warp * (per_lane * warp_size) + lane;
  int64_t key[per_lane];
  int rank[per_lane];
  for (int i = 0; i < per_lane; ++i) {
    const int64_t at = first + i * warp_size;
    const bool is_there = at < n;
    key[i] = is_there ? keys[at] : 0;
    const int digit = digit_of(key[i], shift);
    unsigned same = __ballot_sync(all_lanes, is_there);  // the lanes with this digit
    for (int bit = 0; bit < digit_bits; ++bit) {
      const bool is_set = (digit >> bit & 1) != 0;
      const unsigned set = __ballot_sync(all_lanes, is_set);
      same &= is_set ? set : ~set;
    }
    const int before = __popc(same & ((1u << lane) - 1u)), earlier = seen[warp][digit];
    rank[i] = earlier + before;
    __syncwarp();  // every lane has read what the first of each digit now replaces
    if (is_there && before == 0) seen[warp][digit] = earlier + __popc(same);
    __syncwarp();
  }
  __syncthreads();
  for (int w = 0, earlier = 0; w < warps; ++w) {
    const int count = seen[w][thread];
    seen[w][thread] = earlier;
    earlier += count;
  }
  __syncthreads();
  for (int i = 0; i < per_lane; ++i) {
    const int64_t at = first + i * warp_size;
    if (at >= n) continue;
    const int digit = digit_of(key[i], shift);
    const int64_t to = begins[digit] + seen[warp][digit] + rank[i];
    keys_to[to] = key[i];
    positions_to[to] = positions ? positions[at] : at;
  }
}

}  // namespace

Tensor sort_keys(const Tensor& keys, int64_t end) {
  const int64_t n = keys.numel(), tiles = (n + tile - 1) / tile;
  const auto empty = [&](const Shape& shape) { return Tensor::empty(shape, DType::i64, keys.device()); };
  Tensor from = keys, to = empty({2, n});
  if (n == 0) return to;
  const Tensor counts = empty({digits * tiles}), totals = empty({digits});
  const int bits = end > 1 ? static_cast<int>(std::bit_width(static_cast<uint64_t>(end - 1))) : 1;
  for (int shift = 0; shift < bits; shift += digit_bits) {
    const auto* given = from.data<int64_t>();
    auto *counted = counts.mutable_data<int64_t>(), *moved = to.mutable_data<int64_t>();
    launch_kernel("sort: count", count_digits, {tiles, digits}, n, shift, given, counted);
    launch_kernel("sort: add", add_tiles, {digits, digits}, tiles, counted, totals.mutable_data<int64_t>());
    launch_kernel("sort: move", move_keys, {tiles, digits}, n, shift, given, shift == 0 ? nullptr : given + n, counted,
                  totals.data<int64_t>(), moved, moved + n);
    const Tensor next = shift == 0 && bits > digit_bits ? empty({2, n}) : from;
    from = std::exchange(to, next);
  }
  return from;
}

}  // namespace headroom::engine::cuda
