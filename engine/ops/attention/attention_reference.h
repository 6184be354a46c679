#pragma once
#include <limits>
#include <vector>

#include "engine/ops/attention/attention_problem.h"

namespace headroom::engine {

template <class T>
T row_dot(const T* a, const T* b, int64_t n) {
  T total = 0;
  for (int64_t i = 0; i < n; ++i) total += a[i] * b[i];
  return total;
}

template <class T>
void add_scaled(T* y, T factor, const T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

/// The offset of one head's rows in contiguous q, k, v, y: element (b, t, h, 0).
template <class T>
struct AttentionReference {
  static constexpr T lowest = -std::numeric_limits<T>::infinity();
  const AttentionProblem& p;
  const T *q, *k, *v, *slopes;
  AttentionReference(const AttentionProblem& problem, const Tensor& q_in, const Tensor& k_in, const Tensor& v_in,
                     const Tensor& slopes_in)
      : p(problem), q(q_in.data<T>()), k(k_in.data<T>()), v(v_in.data<T>()), slopes(slopes_in.data_or_null<T>()) {}

  const T* q_row(int64_t b, int64_t i, int64_t h) const { return q + ((b * p.queries + i) * p.heads + h) * p.qk_dim; }
  int64_t kv_index(int64_t b, int64_t j, int64_t h) const { return (b * p.keys + j) * p.kv_heads + h / p.group(); }
  const T* k_row(int64_t b, int64_t j, int64_t h) const { return k + kv_index(b, j, h) * p.qk_dim; }
  const T* v_row(int64_t b, int64_t j, int64_t h) const { return v + kv_index(b, j, h) * p.v_dim; }

  /// s_ij for every j below visible(i); -inf for masked keys and before the window.
  void scores(int64_t b, int64_t h, int64_t i, std::vector<T>& s) const {
    s.resize(static_cast<size_t>(p.visible(i)));
    const bool* mask = p.mask(b);
    std::fill(s.begin(), s.end(), lowest);
    for (int64_t j = p.first(i); j < p.visible(i); ++j) {
      T value = static_cast<T>(p.scale) * row_dot(q_row(b, i, h), k_row(b, j, h), p.qk_dim);
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
      for (int64_t j = p.first(i); j < p.visible(i); ++j) {
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
      const T lse_i = lse[(b * p.heads + h) * p.queries + i], delta = row_dot(dy_row, y + row * p.v_dim, p.v_dim);
      if (lse_i == lowest) continue;
      scores(b, h, i, s);
      for (int64_t j = p.first(i); j < p.visible(i); ++j) {
        const T prob = std::exp(s[static_cast<size_t>(j)] - lse_i), kept = static_cast<T>(p.kept(b, h, i, j));
        const T ds = prob * (kept * row_dot(dy_row, v_row(b, j, h), p.v_dim) - delta);
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

}  // namespace headroom::engine
