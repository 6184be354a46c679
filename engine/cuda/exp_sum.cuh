#pragma once
#include <cmath>

#include "engine/cuda/rows.cuh"

// The sum of exponentials that softmax and its losses divide by, in one sweep over a row.
namespace headroom::engine::cuda {

/// max x and Σ e^(x - max x). A row that holds a NaN or +inf has a NaN for its sum, one of nothing but -inf 0.
template <class C>
struct ExpSum {
  C top = C(-HUGE_VAL), sum = 0;

  /// Adds a number; a new maximum rescales what was there.
  __device__ void add(C x) {
    if (x > top) {
      sum = sum * std::exp(top - x) + std::exp(x - x);  // NaN for +inf
      top = x;
    } else if (!(x == -C(HUGE_VAL))) {
      sum += std::exp(x - top);
    }
  }

  /// The sum over all of the team, which each of them knows.
  template <class Team>
  __device__ ExpSum joined(const Team& team) const {
    const C all = team.reduce(top, Larger());
    return {all, team.reduce(top == all ? sum : sum * std::exp(top - all), Add())};
  }
};

/// Of n numbers that begin at x; `see(i, numbers)` is shown each pack.
template <int pack, class T, class Team, class See>
__device__ inline ExpSum<Compute<T>> exp_sum(const Team& team, const T* x, int64_t n, bool aligned, const See& see) {
  ExpSum<Compute<T>> total;
  for_each_pack<pack>(team, n, [&](int64_t i) {
    const Numbers<T, pack> v = load_numbers<pack>(x + i, aligned);
    for (int k = 0; k < pack; ++k) total.add(v.at[k]);
    see(i, v);
  });
  return total.joined(team);
}
template <int pack, class T, class Team>
__device__ inline ExpSum<Compute<T>> exp_sum(const Team& team, const T* x, int64_t n, bool aligned) {
  return exp_sum<pack>(team, x, n, aligned, [](int64_t, const Numbers<T, pack>&) {});
}

}  // namespace headroom::engine::cuda
