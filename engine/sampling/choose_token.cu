#include "engine/sampling/choose_token.h"

#include <cmath>

#include "engine/cuda/launch.cuh"
#include "engine/cuda/number.cuh"
#include "engine/cuda/warp.cuh"

// Many blocks find the largest logit, then weigh all of them, which takes an exponential in f64 each; one block draws.
// Nothing is sorted: which candidate a filter ends at, and which one is drawn, are found by looking at the bits of the
// logits from the highest on, eight at a time, with a sum of weights for each value of them.
namespace headroom::engine::cuda {
namespace {

using Weight = unsigned long long;
constexpr int threads = 1024, bins = 256;
constexpr int64_t slice = 4 * threads;  ///< logits of one of the many blocks
constexpr double unit = 0x1p40;         ///< the likeliest's weight
constexpr Weight below_min_p = Weight{1} << 63;

struct LowerId {
  __device__ int64_t operator()(int64_t a, int64_t b) const { return a < b ? a : b; }
};

/// Larger for larger logits; equal for equal ones, 0 and -0 among them.
__device__ inline Weight order_of(double logit) {
  const auto bits = __builtin_bit_cast(Weight, logit + 0.0);
  return bits >> 63 ? ~bits : bits | Weight{1} << 63;
}

/// A candidate by its place: larger orders come first, of equal ones the lesser id.
struct Place {
  Weight order;
  int64_t id;
  __device__ bool is_before(const Place& other) const {
    return order > other.order || (order == other.order && id < other.id);
  }
};

/// The block's shared memory.
struct Shared {
  Weight sums[bins];
  unsigned counts[bins];
  Weight before;
  int bin;
  unsigned count;
  double numbers[warp_size];
};

template <class T>
struct Candidates {
  const T* logits;
  const Weight* weights;
  int64_t vocab;
  Place last{0, INT64_MAX};  ///< those after it are out
  bool has_min_p = false;    ///< and those below it
  bool counts_only = false;  ///< each weighs 1

  __device__ Place place(int64_t id) const { return {order_of(static_cast<double>(load(logits[id]))), id}; }
  __device__ bool is_in(const Place& p) const {
    return !last.is_before(p) && !(has_min_p && (weights[p.id] & below_min_p) != 0);
  }
  __device__ Weight weight(int64_t id) const { return counts_only ? 1 : weights[id] & ~below_min_p; }
};

/// Σ of the weights of all that are in.
template <class T>
__device__ Weight total_of(const Candidates<T>& c, Shared& shared) {
  Weight own = 0;
  for (int64_t id = threadIdx.x; id < c.vocab; id += threads)
    if (c.is_in(c.place(id))) own += c.weight(id);
  return block_reduce(own, reinterpret_cast<Weight*>(shared.numbers), Add());
}

/// One digit of eight bits: sums by `digit(place)` of those that `fits`, and from the first bin on (`step` away from
/// each other) the one in which the running sum reaches target. `before` is what was summed in front of it.
template <class T, class Fits, class Digit>
__device__ void find_digit(const Candidates<T>& c, Shared& shared, Weight target, int first, int step, const Fits& fits,
                           const Digit& digit) {
  for (int bin = static_cast<int>(threadIdx.x); bin < bins; bin += threads) shared.sums[bin] = shared.counts[bin] = 0;
  __syncthreads();
  Weight sum = 0;
  unsigned count = 0;
  int held = 0;
  const auto flush = [&] {
    if (count == 0) return;
    atomicAdd(&shared.sums[held], sum);
    atomicAdd(&shared.counts[held], count);
    sum = 0, count = 0;
  };
  for (int64_t id = threadIdx.x; id < c.vocab; id += threads) {
    const Place p = c.place(id);
    if (!c.is_in(p) || !fits(p)) continue;
    const int bin = digit(p);
    if (bin != held) flush();
    held = bin;
    sum += c.weight(id);
    ++count;
  }
  flush();
  __syncthreads();
  if (threadIdx.x == 0) {
    int bin = first;
    for (int i = 0; i + 1 < bins && shared.before + shared.sums[bin] < target; ++i, bin += step)
      shared.before += shared.sums[bin];
    shared.bin = bin;
    shared.count = shared.counts[bin];
  }
  __syncthreads();
}

/// The first candidate at which the running sum of weights reaches `target`, of 1 to their total.
template <class T>
__device__ Place find(const Candidates<T>& c, Shared& shared, Weight target) {
  if (threadIdx.x == 0) shared.before = 0;
  __syncthreads();
  Weight order = 0, known = 0;
  int64_t id = 0, known_id = 0;
  const auto fits = [&](const Place& p) { return (p.order & known) == order && (p.id & known_id) == id; };
  bool is_one = false;
  for (int shift = 56; shift >= 0 && !is_one; shift -= 8) {
    find_digit(c, shared, target, bins - 1, -1, fits,
               [&](const Place& p) { return static_cast<int>(p.order >> shift & 255); });
    order |= static_cast<Weight>(shared.bin) << shift;
    known |= Weight{255} << shift;
    is_one = shared.count == 1;
  }
  for (int shift = 24; shift >= 0 && !is_one; shift -= 8) {
    find_digit(c, shared, target, 0, 1, fits, [&](const Place& p) { return static_cast<int>(p.id >> shift & 255); });
    id |= static_cast<int64_t>(shared.bin) << shift;
    known_id |= int64_t{255} << shift;
    is_one = shared.count == 1;
  }
  int64_t found = INT64_MAX;
  for (int64_t i = threadIdx.x; i < c.vocab; i += threads)
    if (const Place p = c.place(i); c.is_in(p) && fits(p)) found = i;
  found = block_reduce(found, reinterpret_cast<int64_t*>(shared.numbers), LowerId());
  return c.place(found);
}

/// The largest logit of each slice; NaN where one is.
template <class T>
__global__ void __launch_bounds__(threads) largest_kernel(const T* logits, int64_t vocab, double* largest) {
  __shared__ double shared[warp_size];
  const int64_t begin = blockIdx.x * slice, end = begin + slice < vocab ? begin + slice : vocab;
  double own = -HUGE_VAL;
  for (int64_t id = begin + threadIdx.x; id < end; id += threads)
    own = Larger()(own, static_cast<double>(load(logits[id])));
  own = block_reduce(own, shared, Larger());
  if (threadIdx.x == 0) largest[blockIdx.x] = own;
}

__device__ inline bool can_draw(double largest) { return largest > -HUGE_VAL && largest < HUGE_VAL; }

/// Of all slices.
__device__ inline double largest_of(const double* largest, int slices) {
  double all = -HUGE_VAL;
  for (int i = 0; i < slices; ++i) all = Larger()(all, largest[i]);
  return all;
}

template <class T>
__global__ void __launch_bounds__(threads)
    weigh_kernel(const T* logits, int64_t vocab, TokenFilter filter, const double* largest, Weight* weights) {
  const double top = largest_of(largest, static_cast<int>(gridDim.x));
  if (!can_draw(top)) return;
  const int64_t begin = blockIdx.x * slice, end = begin + slice < vocab ? begin + slice : vocab;
  for (int64_t id = begin + threadIdx.x; id < end; id += threads) {
    const double share = std::exp((static_cast<double>(load(logits[id])) - top) / filter.temperature);
    weights[id] = static_cast<Weight>(share * unit + 0.5) | (share < filter.min_p ? below_min_p : 0);
  }
}

template <class T>
__global__ void __launch_bounds__(threads)
    choose_kernel(const T* logits, int64_t vocab, TokenFilter filter, RngKey key, const double* largest, int slices,
                  const Weight* weights, int64_t* token) {
  __shared__ Shared shared;
  const double top = largest_of(largest, slices);
  if (!can_draw(top)) {
    if (threadIdx.x == 0) *token = -1;
    return;
  }
  if (filter.temperature == 0) {
    int64_t best = INT64_MAX;
    for (int64_t id = threadIdx.x; id < vocab; id += threads)
      if (static_cast<double>(load(logits[id])) == top && id < best) best = id;
    best = block_reduce(best, reinterpret_cast<int64_t*>(shared.numbers), LowerId());
    if (threadIdx.x == 0) *token = best;
    return;
  }
  Candidates<T> c{logits, weights, vocab};
  if (filter.top_k > 0 && filter.top_k < vocab) {
    c.counts_only = true;
    c.last = find(c, shared, static_cast<Weight>(filter.top_k));
    c.counts_only = false;
  }
  if (filter.top_p < 1) {
    const Weight total = total_of(c, shared);
    const auto wanted = static_cast<Weight>(std::ceil(filter.top_p * static_cast<double>(total)));
    c.last = find(c, shared, wanted < 1 ? 1 : wanted > total ? total : wanted);
  }
  c.has_min_p = filter.min_p > 0;
  const Weight total = total_of(c, shared), bits = random_bits(key, 0);
  const Weight drawn = (total >> 32) * bits + ((total & 0xffffffffu) * bits >> 32) + 1;  // 1 + ⌊total · bits / 2^32⌋
  const Place at = find(c, shared, drawn);
  if (threadIdx.x == 0) *token = at.id;
}

template <class T>
void run(ChooseTokenCall& c) {
  const int64_t vocab = c.logits.numel(), slices = (vocab + slice - 1) / slice;
  const Tensor largest = Tensor::empty({slices}, DType::f64, c.logits.device());
  const Tensor weights = Tensor::empty({vocab}, DType::i64, c.logits.device());  // (V)
  const T* const logits = c.logits.data<T>();
  double* const tops = largest.mutable_data<double>();
  const auto weighed = reinterpret_cast<Weight*>(weights.mutable_data<int64_t>());
  launch_kernel("choose_token", largest_kernel<T>, {slices, threads}, logits, vocab, tops);
  if (c.filter.temperature != 0)
    launch_kernel("choose_token", weigh_kernel<T>, {slices, threads}, logits, vocab, c.filter, tops, weighed);
  launch_kernel("choose_token", choose_kernel<T>, {1, threads}, logits, vocab, c.filter, c.key, tops,
                static_cast<int>(slices), weighed, c.token.mutable_data<int64_t>());
}

}  // namespace

void register_choose_token() {
  add_kernel(choose_token_op, "blocks", DType::f32, run<float>);
  add_kernel(choose_token_op, "blocks", DType::f64, run<double>);
}

}  // namespace headroom::engine::cuda
