#include "engine/ops/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/backend.h"
#include "engine/error.h"
#include "engine/ops/attention/attention_kernel.h"
#include "engine/ops/sum/sum.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

/// One call's sizes and options, checked.
struct Problem {
  int64_t batch, queries, keys, heads, kv_heads, qk_dim, v_dim;
  bool causal;
  double scale, dropout;
  RngKey dropout_key;
  Tensor key_mask;

  int64_t group() const { return heads / kv_heads; }
  /// Query i may see keys [0, visible(i)).
  int64_t visible(int64_t i) const { return causal ? std::clamp<int64_t>(i + keys - queries + 1, 0, keys) : keys; }
  /// The ALiBi distance.
  double distance(int64_t i, int64_t j) const { return static_cast<double>(std::abs(i + keys - queries - j)); }
  const bool* mask(int64_t b) const { return key_mask.defined() ? key_mask.data<bool>() + b * keys : nullptr; }
  uint32_t dropped_below() const {
    return static_cast<uint32_t>(std::min(std::floor(dropout * 0x1p32 + 0.5), 0x1p32 - 1));
  }
  /// m_ij of the formula.
  double kept(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (dropout == 0) return 1;
    const int64_t index = ((b * heads + h) * queries + i) * keys + j;
    return random_bits(dropout_key, static_cast<uint64_t>(index)) < dropped_below() ? 0 : 1 / (1 - dropout);
  }
};

std::string shapes(const Tensor& q, const Tensor& k, const Tensor& v) {
  return fmt::format("q {}, k {}, v {}", q.shape().str(), k.shape().str(), v.shape().str());
}

Problem check(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes,
              const AttentionOptions& options) {
  check_floating("attention", {&q, &k, &v});
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4)
    fail("attention: wants q (B, Tq, H, d), k (B, Tk, H_kv, d), v (B, Tk, H_kv, d_v): {}", shapes(q, k, v));
  const Problem p{.batch = q.dim(0),
                  .queries = q.dim(1),
                  .keys = k.dim(1),
                  .heads = q.dim(2),
                  .kv_heads = k.dim(2),
                  .qk_dim = q.dim(3),
                  .v_dim = v.dim(3),
                  .causal = options.causal,
                  .scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.dim(3)))),
                  .dropout = options.dropout,
                  .dropout_key = options.dropout_key,
                  .key_mask = options.key_mask.defined() ? options.key_mask.contiguous() : Tensor()};
  if (k.dim(0) != p.batch || v.dim(0) != p.batch) fail("attention: batch sizes differ: {}", shapes(q, k, v));
  if (v.dim(1) != p.keys || v.dim(2) != p.kv_heads) fail("attention: k and v differ in T or H: {}", shapes(q, k, v));
  if (k.dim(3) != p.qk_dim) fail("attention: q and k differ in width: {}", shapes(q, k, v));
  if (p.qk_dim < 1 || p.v_dim < 1) fail("attention: a head has width 0: {}", shapes(q, k, v));
  if (p.kv_heads < 1 || p.heads % p.kv_heads != 0)
    fail("attention: {} query heads cannot share {} key-value heads: {}", p.heads, p.kv_heads, shapes(q, k, v));
  require(p.dropout >= 0 && p.dropout < 1, "attention: dropout {} is not in [0, 1)", p.dropout);
  if (slopes.defined()) {
    check_floating("attention", {&q, &slopes});
    if (!(slopes.shape() == Shape{p.heads}))
      fail("attention: slopes {} for {} heads: {}", slopes.shape().str(), p.heads, shapes(q, k, v));
  }
  if (p.key_mask.defined() && (p.key_mask.dtype() != DType::boolean || !(p.key_mask.shape() == Shape{p.batch, p.keys})))
    fail("attention: key_mask {}, wants bool ({}, {}): {}", p.key_mask.str(), p.batch, p.keys, shapes(q, k, v));
  return p;
}

template <class T>
T dot(const T* a, const T* b, int64_t n) {
  T total = 0;
  for (int64_t i = 0; i < n; ++i) total += a[i] * b[i];
  return total;
}

template <class T>
void add_scaled(T* y, T factor, const T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

/// Where one head's rows lie in contiguous q, k, v, y: element (b, t, h, 0).
template <class T>
struct Reference {
  static constexpr T lowest = -std::numeric_limits<T>::infinity();
  const Problem& p;
  const T *q, *k, *v, *slopes;

  const T* q_row(int64_t b, int64_t i, int64_t h) const { return q + ((b * p.queries + i) * p.heads + h) * p.qk_dim; }
  int64_t kv_index(int64_t b, int64_t j, int64_t h) const { return (b * p.keys + j) * p.kv_heads + h / p.group(); }
  const T* k_row(int64_t b, int64_t j, int64_t h) const { return k + kv_index(b, j, h) * p.qk_dim; }
  const T* v_row(int64_t b, int64_t j, int64_t h) const { return v + kv_index(b, j, h) * p.v_dim; }

  /// s_ij for every j that query i may see; -inf at masked keys.
  void scores(int64_t b, int64_t h, int64_t i, std::vector<T>& s) const {
    s.resize(static_cast<size_t>(p.visible(i)));
    const bool* mask = p.mask(b);
    for (int64_t j = 0; j < p.visible(i); ++j) {
      T value = static_cast<T>(p.scale) * dot(q_row(b, i, h), k_row(b, j, h), p.qk_dim);
      if (slopes) value -= slopes[h] * static_cast<T>(p.distance(i, j));
      s[static_cast<size_t>(j)] = mask && !mask[j] ? lowest : value;
    }
  }

  void forward(int64_t b, int64_t h, T* y, T* lse) const {
    std::vector<T> s;
    for (int64_t i = 0; i < p.queries; ++i) {
      scores(b, h, i, s);
      T top = lowest, total = 0;
      for (T value : s) top = std::max(top, value);
      T* y_row = y + ((b * p.queries + i) * p.heads + h) * p.v_dim;
      std::fill(y_row, y_row + p.v_dim, T(0));
      for (int64_t j = 0; j < p.visible(i); ++j) {
        const T score = s[static_cast<size_t>(j)];
        if (score == lowest) continue;
        const T e = std::exp(score - top);
        total += e;
        add_scaled(y_row, e * static_cast<T>(p.kept(b, h, i, j)), v_row(b, j, h), p.v_dim);
      }
      for (int64_t c = 0; c < p.v_dim && total != 0; ++c) y_row[c] /= total;
      lse[(b * p.heads + h) * p.queries + i] = top + std::log(total);
    }
  }

  /// Adds head h's share to dk and dv (zeroed by the caller), writes its rows of dq, returns its dslope for this b.
  T grad(int64_t b, int64_t h, const T* dy, const T* y, const T* lse, T* dq, T* dk, T* dv) const {
    std::vector<T> s;
    T dslope = 0;
    for (int64_t i = 0; i < p.queries; ++i) {
      const int64_t row = (b * p.queries + i) * p.heads + h;
      const T* dy_row = dy + row * p.v_dim;
      T* dq_row = dq + row * p.qk_dim;
      std::fill(dq_row, dq_row + p.qk_dim, T(0));
      const T lse_i = lse[(b * p.heads + h) * p.queries + i], delta = dot(dy_row, y + row * p.v_dim, p.v_dim);
      if (lse_i == lowest) continue;
      scores(b, h, i, s);
      for (int64_t j = 0; j < p.visible(i); ++j) {
        const T prob = std::exp(s[static_cast<size_t>(j)] - lse_i), kept = static_cast<T>(p.kept(b, h, i, j));
        const T ds = prob * (kept * dot(dy_row, v_row(b, j, h), p.v_dim) - delta);
        const T scaled = static_cast<T>(p.scale) * ds;
        add_scaled(dv + kv_index(b, j, h) * p.v_dim, kept * prob, dy_row, p.v_dim);
        add_scaled(dk + kv_index(b, j, h) * p.qk_dim, scaled, q_row(b, i, h), p.qk_dim);
        add_scaled(dq_row, scaled, k_row(b, j, h), p.qk_dim);
        dslope -= ds * static_cast<T>(p.distance(i, j));
      }
    }
    return dslope;
  }
};

/// Scratch memory of this thread, kept for its next task.
float* scratch(int64_t floats) {
  thread_local std::vector<float> memory;
  constexpr size_t line = 64 / sizeof(float);
  if (memory.size() < static_cast<size_t>(floats) + line) memory.resize(static_cast<size_t>(floats) + line);
  const auto past = reinterpret_cast<uintptr_t>(memory.data()) % 64 / sizeof(float);
  return memory.data() + (line - past) % line;
}

/// Sequence b's key-value head `kv_head` for the kernels.
AttentionHead head_of(const Problem& p, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes,
                      int64_t b, int64_t kv_head) {
  const int64_t first = kv_head * p.group();
  return {.q = q.data<float>() + (b * p.queries * p.heads + first) * p.qk_dim,
          .k = k.data<float>() + (b * p.keys * p.kv_heads + kv_head) * p.qk_dim,
          .v = v.data<float>() + (b * p.keys * p.kv_heads + kv_head) * p.v_dim,
          .q_stride = p.heads * p.qk_dim,
          .k_stride = p.kv_heads * p.qk_dim,
          .v_stride = p.kv_heads * p.v_dim,
          .y_stride = p.heads * p.v_dim,
          .queries = p.queries,
          .keys = p.keys,
          .qk_dim = p.qk_dim,
          .v_dim = p.v_dim,
          .group = p.group(),
          .causal = p.causal,
          .scale = static_cast<float>(p.scale),
          .key_mask = p.mask(b),
          .slopes = slopes.defined() ? slopes.data<float>() + first : nullptr,
          .dropout = p.dropout > 0,
          .dropped_below = p.dropped_below(),
          .kept_scale = static_cast<float>(1 / (1 - p.dropout)),
          .seed = p.dropout_key.seed,
          .first_index = p.dropout_key.offset +
                         static_cast<uint64_t>((b * p.heads + first) * p.queries) * static_cast<uint64_t>(p.keys),
          .stream = p.dropout_key.stream};
}

/// Tasks that are handed out together, so that tiny heads do not pay for the hand-over.
int64_t tasks_at_once(const Problem& p, int64_t queries_per_task) {
  const int64_t work = queries_per_task * std::max<int64_t>(1, p.keys) * (p.qk_dim + p.v_dim);
  return std::max<int64_t>(1, (1 << 16) / std::max<int64_t>(1, work));
}

void forward_fast(const Problem& p, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes,
                  const Attention& out) {
  // Few heads: their queries are cut, and each piece packs the keys again.
  const int64_t piece = p.batch * p.heads < 32 ? 64 : 1024, pieces = (p.queries + piece - 1) / piece;
  parallel_ranges(
      p.batch * p.heads * pieces, tasks_at_once(p, std::min(piece, p.queries)), [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          const int64_t b = task / pieces / p.heads, h = task / pieces % p.heads, i = task % pieces * piece;
          const int64_t first = h / p.group() * p.group();
          const AttentionHead head = head_of(p, q, k, v, slopes, b, h / p.group());
          kernel::attention_forward(head, h - first, i, std::min(i + piece, p.queries),
                                    out.y.mutable_data<float>() + (b * p.queries * p.heads + first) * p.v_dim,
                                    out.lse.mutable_data<float>() + (b * p.heads + first) * p.queries,
                                    scratch(kernel::attention_scratch(head)));
        }
      });
}

void backward_fast(const Problem& p, const Tensor& dy, const Tensor& q, const Tensor& k, const Tensor& v,
                   const Tensor& slopes, const Attention& forward, const AttentionGrad& out, const Tensor& dslopes) {
  parallel_ranges(p.batch * p.kv_heads, tasks_at_once(p, p.queries * p.group()), [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t b = task / p.kv_heads, kv_head = task % p.kv_heads, first = b * p.heads + kv_head * p.group();
      const AttentionHead head = head_of(p, q, k, v, slopes, b, kv_head);
      const int64_t row = (b * p.queries * p.heads + kv_head * p.group()) * p.v_dim;
      const AttentionHeadGrad grad{.dy = dy.data<float>() + row,
                                   .y = forward.y.data<float>() + row,
                                   .lse = forward.lse.data<float>() + first * p.queries,
                                   .dq = out.dq.mutable_data<float>() + (head.q - q.data<float>()),
                                   .dk = out.dk.mutable_data<float>() + (head.k - k.data<float>()),
                                   .dv = out.dv.mutable_data<float>() + (head.v - v.data<float>()),
                                   .dslopes = slopes.defined() ? dslopes.mutable_data<float>() + first : nullptr};
      kernel::attention_backward(head, grad, scratch(kernel::attention_grad_scratch(head)));
    }
  });
}

template <class T>
const T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}

}  // namespace

Attention attention(const Tensor& q_in, const Tensor& k_in, const Tensor& v_in, const Tensor& slopes_in,
                    const AttentionOptions& options) {
  const Problem p = check(q_in, k_in, v_in, slopes_in, options);
  const Tensor q = q_in.contiguous(), k = k_in.contiguous(), v = v_in.contiguous();
  const Tensor slopes = slopes_in.defined() ? slopes_in.contiguous() : Tensor();
  Attention out{Tensor::empty({p.batch, p.queries, p.heads, p.v_dim}, q.dtype()),
                Tensor::empty({p.batch, p.heads, p.queries}, q.dtype())};
  if (out.y.numel() == 0) return out;
  if (use_fast(q)) {
    forward_fast(p, q, k, v, slopes, out);
    return out;
  }
  visit_real("attention", q, [&](auto zero) {
    using T = decltype(zero);
    const Reference<T> reference{p, q.data<T>(), k.data<T>(), v.data<T>(), data_or_null<T>(slopes)};
    parallel_for(p.batch * p.heads, [&](int64_t task) {
      reference.forward(task / p.heads, task % p.heads, out.y.mutable_data<T>(), out.lse.mutable_data<T>());
    });
  });
  return out;
}

AttentionGrad attention_grad(const Tensor& dy_in, const Tensor& q_in, const Tensor& k_in, const Tensor& v_in,
                             const Tensor& slopes_in, const Attention& forward, const AttentionOptions& options) {
  const Problem p = check(q_in, k_in, v_in, slopes_in, options);
  const Tensor dy = dy_in.contiguous(), q = q_in.contiguous(), k = k_in.contiguous(), v = v_in.contiguous();
  const Tensor slopes = slopes_in.defined() ? slopes_in.contiguous() : Tensor();
  AttentionGrad out{Tensor::empty(q.shape(), q.dtype()), Tensor::empty(k.shape(), q.dtype()),
                    Tensor::empty(v.shape(), q.dtype()), Tensor()};
  const Tensor dslopes = Tensor::empty({p.batch, p.heads}, q.dtype());
  if (use_fast(q)) {
    backward_fast(p, dy, q, k, v, slopes, forward, out, dslopes);
    if (slopes.defined()) out.dslopes = sum(dslopes, {0}, false);
    return out;
  }
  visit_real("attention", q, [&](auto zero) {
    using T = decltype(zero);
    const Reference<T> reference{p, q.data<T>(), k.data<T>(), v.data<T>(), data_or_null<T>(slopes)};
    std::fill_n(out.dk.mutable_data<T>(), out.dk.numel(), T(0));
    std::fill_n(out.dv.mutable_data<T>(), out.dv.numel(), T(0));
    // One task per key-value head: the heads that share it add to the same rows of dk and dv, in order.
    parallel_for(p.batch * p.kv_heads, [&](int64_t task) {
      const int64_t b = task / p.kv_heads, first = task % p.kv_heads * p.group();
      for (int64_t h = first; h < first + p.group(); ++h)
        dslopes.mutable_data<T>()[b * p.heads + h] =
            reference.grad(b, h, dy.data<T>(), forward.y.data<T>(), forward.lse.data<T>(), out.dq.mutable_data<T>(),
                           out.dk.mutable_data<T>(), out.dv.mutable_data<T>());
    });
  });
  if (slopes.defined()) out.dslopes = sum(dslopes, {0}, false);
  return out;
}

}  // namespace headroom::engine
