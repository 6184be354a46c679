#pragma once
#include <algorithm>
#include <limits>

#include "engine/cuda/launch.cuh"
#include "engine/cuda/number.cuh"
#include "engine/cuda/warp.cuh"
#include "engine/ops/attention/attention_problem.h"

// Shared parts of attention's GPU kernels: the layout of a head's rows, the keys a query sees, ALiBi, dropout. Scores
// are in units of log2 e, so that a probability is one power of two.
namespace headroom::engine::cuda {

template <class C>
inline constexpr C log2_e = static_cast<C>(1.4426950408889634);
template <class C>
inline constexpr C ln_2 = static_cast<C>(0.6931471805599453);
/// The largest score of no keys: finite, so that hidden ones, -inf, get probability 0 even if there are no others.
template <class C>
inline constexpr C least_top = static_cast<C>(-1e30);
template <class C>
inline constexpr C infinity = std::numeric_limits<C>::infinity();

// By value: GPU code cannot hold a reference to a host constant.
__device__ inline int smaller(int a, int b) { return a < b ? a : b; }
__device__ inline int larger(int a, int b) { return a > b ? a : b; }

/// Some rows of one head: row r starts at first + r · step. Elements beyond `count` rows or `width` columns are 0.
template <class T>
struct Rows {
  const T* first;
  int64_t step;
  int count, width;
  bool packed;  ///< every row starts at and spans a multiple of 16 bytes
  __device__ bool has(int r, int c) const { return r < count && c < width; }
  __device__ Compute<T> at(int r, int c) const { return has(r, c) ? load(first[r * step + c]) : Compute<T>(0); }
};

/// x (B, tokens, H, width), each row of `width` contiguous.
template <class T>
struct Heads {
  T* data;
  int64_t batch_step, token_step, head_step;
  int tokens, width;
  bool packed;  ///< as Rows::packed

  __device__ T* row(int b, int t, int h) const { return data + b * batch_step + t * token_step + h * head_step; }
  /// Tokens [t, t + count) of a head, as far as they exist.
  template <class U = T>
  __device__ Rows<std::remove_const_t<U>> rows(int b, int t, int h, int count) const {
    return {row(b, t, h), token_step, smaller(count, tokens - t), width, packed};
  }
};

template <class T>
Heads<T> heads_at(T* data, const Tensor& x) {
  const auto whole = [](int64_t elements) { return elements * static_cast<int64_t>(sizeof(T)) % 16 == 0; };
  const bool packed = reinterpret_cast<uintptr_t>(data) % 16 == 0 && whole(x.dim(3)) && whole(x.strides()[0]) &&
                      whole(x.strides()[1]) && whole(x.strides()[2]);
  return {data,  x.strides()[0], x.strides()[1], x.strides()[2], static_cast<int>(x.dim(1)), static_cast<int>(x.dim(3)),
          packed};
}
template <class T>
Heads<const T> heads_of(const Tensor& x) {
  return heads_at(x.data<T>(), x);
}
template <class T>
Heads<T> mutable_heads_of(const Tensor& x) {
  return heads_at(x.mutable_data<T>(), x);
}

/// The arguments of every kernel.
template <class T>
struct AttentionArguments {
  using C = Compute<T>;
  Heads<const T> q, k, v;
  const T* slopes;       ///< (H) or null
  const bool* key_mask;  ///< (B, Tk) or null
  int heads, group;      ///< query heads, and how many of them share a key-value head
  int window;            ///< 0 = none; only the kernels for any width and for few queries support it
  bool causal, dropout;
  C scale, kept;  ///< on q·k; 1 / (1 - dropout)
  uint32_t dropped_below;
  RngKey dropout_key;

  AttentionArguments(const AttentionProblem& p, const Tensor& q_in, const Tensor& k_in, const Tensor& v_in,
                     const Tensor& slopes_in)
      : AttentionArguments(p, q_in, slopes_in) {
    k = heads_of<T>(k_in);
    v = heads_of<T>(v_in);
  }
  /// Without keys and values, which the kernel has from elsewhere.
  AttentionArguments(const AttentionProblem& p, const Tensor& q_in, const Tensor& slopes_in)
      : q(heads_of<T>(q_in)),
        k{},
        v{},
        slopes(slopes_in.data_or_null<T>()),
        key_mask(p.key_mask.data_or_null<bool>()),
        heads(static_cast<int>(p.heads)),
        group(static_cast<int>(p.group())),
        window(static_cast<int>(std::min<int64_t>(p.window, p.keys))),
        causal(p.causal),
        dropout(p.dropout > 0),
        scale(static_cast<C>(p.scale)),
        kept(static_cast<C>(1 / (1 - p.dropout))),
        dropped_below(p.dropped_below()),
        dropout_key(p.dropout_key) {
    k.tokens = static_cast<int>(p.keys);
  }

  /// True if causality is the only rule: most training, for which kernels are compiled a second time.
  bool is_plain() const { return !slopes && !key_mask && !dropout; }
  /// The factor of q that makes its products with keys scores.
  __device__ C score_scale() const { return scale * log2_e<C>; }
};

/// Additional arguments of the gradient's kernels.
template <class T>
struct AttentionGradArguments {
  using C = Compute<T>;
  Heads<const T> dy;
  const C *lse, *delta;  ///< (B, H, Tq); delta null where a kernel makes it
  Heads<T> dq, dk, dv;
  C* dslope_parts;  ///< (B, H, query tiles) or null

  /// A row's lse in units of log2 e; +inf, which makes every probability 0, if the query may attend to nothing.
  __device__ C top(int64_t row) const { return in_log2(lse[row]); }
  __device__ C in_log2(C value) const { return value == -infinity<C> ? infinity<C> : value * log2_e<C>; }
};

/// One block's share: a tile of tokens of one head of one sequence. Tiles of a head are consecutive, so that its keys
/// stay in the L2 cache; the last one, which sees the most keys if causal, comes first.
struct HeadTile {
  int tile, head, sequence;
  __device__ HeadTile(int block, int tiles, int heads)
      : tile(tiles - 1 - block % tiles), head(block / tiles % heads), sequence(block / tiles / heads) {}
};

/// The rules of one query head of one sequence.
template <class T>
struct HeadRules {
  using C = Compute<T>;
  int queries, keys, offset;
  bool causal;
  C slope;           ///< 0 without ALiBi
  const bool* mask;  ///< of this sequence's keys, or null
  int64_t row;       ///< of query 0 in (B, H, Tq)

  __device__ HeadRules(const AttentionArguments<T>& a, int b, int h) : HeadRules(a, b, h, a.k.tokens) {}
  /// For memory in which only the first `held` keys exist.
  __device__ HeadRules(const AttentionArguments<T>& a, int b, int h, int held)
      : queries(a.q.tokens),
        keys(held),
        offset(held - a.q.tokens),
        causal(a.causal),
        slope(a.slopes ? load(a.slopes[h]) * log2_e<C> : C(0)),
        mask(a.key_mask ? a.key_mask + int64_t{b} * a.k.tokens : nullptr),
        row((int64_t{b} * a.heads + h) * a.q.tokens) {}

  /// Query i sees at most keys [0, visible(i)).
  __device__ int visible(int i) const { return causal ? smaller(larger(i + offset + 1, 0), keys) : keys; }
  /// The first query that may see key j.
  __device__ int first_query(int j) const { return causal ? larger(j - offset, 0) : 0; }
  __device__ C distance(int i, int j) const { return static_cast<C>(abs(i + offset - j)); }
  /// s_ij from the product of the scaled q_i and k_j.
  __device__ C score(C product, int i, int j) const {
    if (j >= visible(i) || (mask && !mask[j])) return -infinity<C>;
    return slope == 0 ? product : product - slope * distance(i, j);
  }
};

/// The same with a window. Separate, because kernels without one have no registers to spare for it.
template <class T>
struct WindowedRules : HeadRules<T> {
  using C = Compute<T>;
  int window;  ///< 0 = none

  __device__ WindowedRules(const AttentionArguments<T>& a, int b, int h) : WindowedRules(a, b, h, a.k.tokens) {}
  __device__ WindowedRules(const AttentionArguments<T>& a, int b, int h, int held)
      : HeadRules<T>(a, b, h, held), window(a.window) {}

  /// The first key that query i sees.
  __device__ int first_key(int i) const { return window > 0 ? larger(i + this->offset + 1 - window, 0) : 0; }
  /// The first query that sees no key up to j.
  __device__ int last_query(int j) const {
    return window > 0 ? smaller(j - this->offset + window, this->queries) : this->queries;
  }
  __device__ C score(C product, int i, int j) const {
    return j < first_key(i) ? -infinity<C> : HeadRules<T>::score(product, i, j);
  }
};

/// Dropout along one query's row. Four neighbouring elements share one call of Philox.
class DropoutRow {
 public:
  template <class T>
  __device__ DropoutRow(const AttentionArguments<T>& a, int64_t row)
      : key_(a.dropout_key),
        below_(a.dropped_below),
        first_(a.dropout ? a.dropout_key.first() + static_cast<uint64_t>(row) * static_cast<uint64_t>(a.k.tokens) : 0) {
  }
  /// Bit n says if element (i, j + n) is kept, n < count ≤ 32. Not unrolled, so that Philox's registers are there once.
  __device__ uint32_t kept(int j, int count) {
    uint32_t bits = 0;
#pragma unroll 1
    for (int n = 0; n < count; ++n) bits |= static_cast<uint32_t>(!dropped(j + n)) << n;
    return bits;
  }
  __device__ bool dropped(int j) {
    const uint64_t index = first_ + static_cast<uint64_t>(j);
    if (index / 4 != block_) {
      block_ = index / 4;
      words_ = random_words(key_, block_);
    }
    const uint32_t low = index & 1 ? words_[1] : words_[0], high = index & 1 ? words_[3] : words_[2];
    return (index & 2 ? high : low) < below_;
  }

 private:
  const RngKey& key_;
  uint32_t below_;
  uint64_t first_, block_ = ~uint64_t{0};
  std::array<uint32_t, 4> words_{};
};

/// The same along one key's column: bit n of element (i + n, j), count a multiple of 4. `row` is query i's. All lanes
/// of the warp call it, with consecutive keys: of each four rows every lane makes the words of one, for the four keys
/// of its four lanes.
template <class T>
__device__ inline uint32_t kept_column(const AttentionArguments<T>& a, int64_t row, int j, int count) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size, own = lane % 4;
  uint32_t bits = 0;
#pragma unroll 1
  for (int n = 0; n < count; n += 4) {
    const uint32_t four = DropoutRow(a, row + n + own).kept(j - own, 4);
    for (int m = 0; m < 4; ++m) bits |= (__shfl_sync(all_lanes, four, lane - own + m) >> own & 1) << (n + m);
  }
  return bits;
}

inline constexpr int delta_threads = 256, delta_lanes = 8;

/// delta_i = dy_i·y_i with eight lanes per row of y (B, Tq, H, d_v). delta is (B, H, Tq).
template <class T>
__global__ void attention_delta(Heads<const T> dy, const T* y, Compute<T>* delta, int heads, int64_t rows) {
  const int lane = static_cast<int>(threadIdx.x) % delta_lanes;
  const int64_t row = int64_t{blockIdx.x} * (delta_threads / delta_lanes) + threadIdx.x / delta_lanes;
  const int h = static_cast<int>(row % heads), i = static_cast<int>(row / heads % dy.tokens);
  const int b = static_cast<int>(row / heads / dy.tokens);
  Compute<T> total = 0;
  for (int c = lane; c < dy.width && row < rows; c += delta_lanes)
    total += load(dy.row(b, i, h)[c]) * load(y[row * dy.width + c]);
  for (int distance = delta_lanes / 2; distance > 0; distance /= 2)
    total += __shfl_xor_sync(all_lanes, total, distance);
  if (lane == 0 && row < rows) delta[(int64_t{b} * heads + h) * dy.tokens + i] = total;
}

/// The sum of a head's parts, in order.
template <class C>
struct AddParts {
  const C* parts;
  C* total;
  int count;
  __device__ void operator()(int64_t n) const {
    C sum = 0;
    for (int i = 0; i < count; ++i) sum += parts[n * count + i];
    total[n] = sum;
  }
};

/// Calls f(zero of the dtype's type): f32, f64 or bf16.
template <class F>
void with_real(DType dtype, F&& f) {
  if (dtype == DType::f64) f(double{});
  else if (dtype == DType::bf16) f(bf16{});
  else f(float{});
}

/// Lays out a call's operands for the kernels.
template <class Call>
void lay_out(Call& c) {
  c.q = with_whole_rows(c.q), c.k = with_whole_rows(c.k), c.v = with_whole_rows(c.v);
  if (c.slopes.defined()) c.slopes = c.slopes.contiguous();
}

/// The arguments of a gradient's kernels, and the work before and after them.
template <class T>
class AttentionGradRun {
 public:
  using C = Compute<T>;
  /// `needs_delta`: the kernels do not make it themselves.
  explicit AttentionGradRun(AttentionGradCall& c, bool needs_delta = true) : call_(c) {
    lay_out(c);
    c.dy = with_whole_rows(c.dy);
    c.forward.y = c.forward.y.contiguous();
    c.forward.lse = c.forward.lse.contiguous();
    if (!needs_delta) return;
    delta_ = Tensor::empty(c.forward.lse.shape(), c.forward.lse.dtype(), c.q.device());  // (B, H, Tq)
    constexpr int64_t rows_at_once = delta_threads / delta_lanes;
    launch_kernel("attention_delta", attention_delta<T>,
                  {(delta_.numel() + rows_at_once - 1) / rows_at_once, delta_threads}, heads_of<T>(c.dy),
                  c.forward.y.template data<T>(), delta_.template mutable_data<C>(), static_cast<int>(c.problem.heads),
                  delta_.numel());
  }
  AttentionArguments<T> arguments() const { return {call_.problem, call_.q, call_.k, call_.v, call_.slopes}; }
  /// For kernels that cut a head's queries into this many tiles, each writing its part of dslopes.
  AttentionGradArguments<T> grad(int64_t tiles) {
    const AttentionProblem& p = call_.problem;
    if (call_.slopes.defined() && !parts_.defined())
      parts_ = Tensor::empty({p.batch, p.heads, tiles}, delta_.dtype(), delta_.device());
    return {heads_of<T>(call_.dy),
            call_.forward.lse.template data<C>(),
            delta_.template data_or_null<C>(),
            mutable_heads_of<T>(call_.dq),
            mutable_heads_of<T>(call_.dk),
            mutable_heads_of<T>(call_.dv),
            parts_.template mutable_data_or_null<C>()};
  }
  void add_slope_parts() const {
    if (parts_.defined())
      launch("attention_dslopes", call_.dslopes.numel(),
             AddParts<C>{parts_.template data<C>(), call_.dslopes.template mutable_data<C>(),
                         static_cast<int>(parts_.dim(2))});
  }

 private:
  AttentionGradCall& call_;
  Tensor delta_, parts_;
};

}  // namespace headroom::engine::cuda
