#pragma once
#include <cmath>

#include "engine/cuda/rows.cuh"

// The sum of exponentials that softmax and its losses divide by, in one sweep over a row.
namespace headroom::engine::cuda {

/// max x and Σ e^(x - max x). A row that holds a NaN or +inf has a NaN for its sum, one of nothing but -inf 0.
template <class C>
struct ExpSum {
  C top = C(-HUGE_VAL), sum = 0;

  /// Adds some numbers; a new maximum rescales what was there, once for all of them.
  template <int n>
  __device__ void add(const C (&x)[n]) {
    C largest = top;
    for (int k = 0; k < n; ++k) largest = x[k] > largest ? x[k] : largest;
    if (largest > top) {
      sum *= std::exp(top - largest);
      top = largest;
    }
    const C base = top == -C(HUGE_VAL) ? C(0) : top;  // e^-inf = 0 where all is -inf; NaN for +inf
    for (int k = 0; k < n; ++k) sum += std::exp(x[k] - base);
  }

  /// The sum over all of the team, which each of them knows.
  template <class Team>
  __device__ ExpSum joined(const Team& team) const {
    const C all = team.reduce(top, Larger());
    return {all, team.reduce(top == all ? sum : sum * std::exp(top - all), Add())};
  }
};

/// Numbers i to i + pack of a row of n, of which the last pack may end in the gap before the next row: -inf there.
template <int pack, class T>
__device__ inline Numbers<T, pack> load_of_row(const T* row, int64_t i, int64_t n, bool aligned) {
  if (i + pack <= n) return load_numbers<pack>(row + i, aligned);
  Numbers<T, pack> out;
  for (int k = 0; k < pack; ++k) out.at[k] = i + k < n ? load(row[i + k]) : -Compute<T>(HUGE_VAL);
  return out;
}

/// Of n numbers that begin at x; `see(i, numbers)` is shown each pack.
template <int pack, class T, class Team, class See>
__device__ inline ExpSum<Compute<T>> exp_sum(const Team& team, const T* x, int64_t n, bool aligned, const See& see) {
  ExpSum<Compute<T>> total;
  for_each_pack<pack>(team, n, [&](int64_t i) {
    const Numbers<T, pack> v = load_of_row<pack>(x, i, n, aligned);
    total.add(v.at);
    see(i, v);
  });
  return total.joined(team);
}
template <int pack, class T, class Team>
__device__ inline ExpSum<Compute<T>> exp_sum(const Team& team, const T* x, int64_t n, bool aligned) {
  return exp_sum<pack>(team, x, n, aligned, [](int64_t, const Numbers<T, pack>&) {});
}

}  // namespace headroom::engine::cuda
