#pragma once
#include <cmath>

#include "engine/cuda/rows.cuh"

// The sum of exponentials in softmax and its losses, in one sweep over a row.
namespace headroom::engine::cuda {

/// max x and Σ e^(x - max x). The sum is NaN if the row holds a NaN or +inf, and 0 if it is all -inf.
template <class C>
struct ExpSum {
  C top = C(-HUGE_VAL), sum = 0;

  /// Adds some numbers; a new maximum rescales the old sum, once for all of them.
  template <int n>
  __device__ void add(const C (&x)[n]) {
    C largest = top;
    for (int k = 0; k < n; ++k) largest = x[k] > largest ? x[k] : largest;
    if (largest > top) {
      sum *= std::exp(top - largest);
      top = largest;
    }
    const C base = top == -C(HUGE_VAL) ? C(0) : top;  // e^-inf = 0 if all are -inf; NaN for +inf
    for (int k = 0; k < n; ++k) sum += std::exp(x[k] - base);
  }

  /// The team's sum, known to all of it.
  template <class Team>
  __device__ ExpSum joined(const Team& team) const {
    const C all = team.reduce(top, Larger());
    return {all, team.reduce(top == all ? sum : sum * std::exp(top - all), Add())};
  }
};

/// Numbers i to i + pack of a row of n; the last pack may end in the gap before the next row, which reads as -inf.
template <int pack, class T>
__device__ inline Numbers<T, pack> load_of_row(const T* row, int64_t i, int64_t n, bool aligned) {
  if (i + pack <= n) return load_numbers<pack>(row + i, aligned);
  Numbers<T, pack> out;
  for (int k = 0; k < pack; ++k) out.at[k] = i + k < n ? load(row[i + k]) : -Compute<T>(HUGE_VAL);
  return out;
}

/// Sums n numbers from x on; `see(i, numbers)` is shown each pack.
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
