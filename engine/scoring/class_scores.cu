#include "engine/scoring/class_scores.h"

#include <cmath>

#include "engine/cuda/exp_sum.cuh"

namespace headroom::engine::cuda {
namespace {

/// Reads the row twice, the second time mostly from the L2 cache: with its maximum known, each logit needs one
/// exponential in f64, and no sum is rescaled.
template <class T, int pack>
struct ClassScoresRow {
  const T* x;
  const int64_t* targets;
  double* nats;
  bool* is_likeliest;
  int64_t n, stride;
  bool aligned;
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    using C = Compute<T>;
    const int64_t target = targets[row];
    if (target < 0 || target >= n) {
      if (team.index() == 0) nats[row] = NAN, is_likeliest[row] = false;
      return;
    }
    const T* from = x + row * stride;
    C top = -C(HUGE_VAL);
    int64_t place = 0;  // of the first of this thread's largest
    for_each_pack<pack>(team, n, [&](int64_t i) {
      const Numbers<T, pack> v = load_of_row<pack>(from, i, n, aligned);
      for (int k = 0; k < pack; ++k) {
        const bool is_larger = v.at[k] > top;
        top = is_larger ? v.at[k] : top;
        place = is_larger ? i + k : place;
      }
    });
    const C largest = team.reduce(top, Larger());
    const auto base = static_cast<double>(largest);
    place = team.reduce(top == largest ? place : n, Smaller());
    double sum = 0;
    for_each_pack<pack>(team, n, [&](int64_t i) {
      const Numbers<T, pack> v = load_of_row<pack>(from, i, n, aligned);
      for (int k = 0; k < pack; ++k) sum += std::exp(static_cast<double>(v.at[k]) - base);
    });
    sum = team.reduce(sum, Add());
    if (team.index() > 0) return;
    const C first = load(from[0]);
    nats[row] = std::log(sum) + base - static_cast<double>(load(from[target]));
    is_likeliest[row] = target == (first == first ? place : 0);  // to the CPU nothing is larger than a NaN in front
  }
};

template <class T>
void run(ClassScoresCall& c) {
  const Tensor x = c.logits.as_rows(), targets = c.targets.contiguous();  // (rows, V), (…)
  const int64_t rows = x.dim(0), n = x.dim(1), stride = rows > 1 ? x.strides()[0] : n;
  const T* from = x.data<T>();
  with_pack<T>(stride, [&](auto pack) {
    launch_rows("class_scores", rows, n,
                ClassScoresRow<T, pack()>{from, targets.data<int64_t>(), c.out.nats.mutable_data<double>(),
                                          c.out.is_likeliest.mutable_data<bool>(), n, stride, are_aligned(from)});
  });
}

}  // namespace

void register_class_scores() { add_strided_kernels(class_scores_op, "rows", run<float>, run<double>, run<bf16>); }

}  // namespace headroom::engine::cuda
