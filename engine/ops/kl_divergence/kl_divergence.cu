#include "engine/ops/kl_divergence/kl_divergence.h"

#include "engine/ops/rows/loss_rows.cuh"

namespace headroom::engine::cuda {
namespace {

struct IsCounted {
  const bool* counted;
  __device__ bool operator()(int64_t i) const { return !counted || counted[i]; }
};

template <class T, int pack>
struct KlDivergenceRow {
  using C = Compute<T>;
  const T *x, *teacher;
  const bool* counted;   ///< may be null
  const int64_t* count;  ///< of rows; null for a sum
  C* losses;
  T* dx;  ///< may be null
  int64_t n;
  bool aligned;
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    const T *own = x + row * n, *wanted = teacher + row * n;
    if (counted && !counted[row]) {
      if (team.index() == 0) losses[row] = 0;
      if (!dx) return;
      for_each_pack<pack>(team, n,
                          [&](int64_t i) { store_numbers<pack>(dx + row * n + i, Numbers<T, pack>{}, aligned); });
      return;
    }
    const ExpSum<C> total = exp_sum<pack>(team, own, n, aligned),
                    teacher_total = exp_sum<pack>(team, wanted, n, aligned);
    // Differences first: where the rows are alike nothing large cancels.
    const C shift = std::log(teacher_total.sum) - std::log(total.sum), share = share_of<C>(count);
    C divergence = 0;
    for_each_pack<pack>(team, n, [&](int64_t i) {
      Numbers<T, pack> v = load_numbers<pack>(own + i, aligned);
      const Numbers<T, pack> w = load_numbers<pack>(wanted + i, aligned);
      for (int k = 0; k < pack; ++k) {
        const C to = w.at[k] - teacher_total.top, from = v.at[k] - total.top;
        const C p = std::exp(to) / teacher_total.sum;
        divergence += p * (to - from - shift);
        v.at[k] = share * (std::exp(from) / total.sum - p);
      }
      if (dx) store_numbers<pack>(dx + row * n + i, v, aligned);
    });
    divergence = team.reduce(divergence, Add());
    if (team.index() == 0) losses[row] = share * divergence;
  }
};

template <class T>
void run(KlDivergenceCall& c) {
  using C = Compute<T>;
  const Device device = c.logits.device();
  const int64_t n = c.logits.dim(-1), rows = n > 0 ? c.logits.numel() / n : 0;
  const Tensor losses = Tensor::empty({rows}, dtype_of<C>(), device);  // (rows)
  const bool* counted = c.counted.data_or_null<bool>();
  Tensor total;
  if (c.mean && rows > 0) total = count("count_rows", rows, IsCounted{counted}, device);
  const T *x = c.logits.data<T>(), *teacher = c.teacher.data<T>();
  T* dx = c.dlogits.mutable_data_or_null<T>();
  with_pack<T>(n, [&](auto pack) {
    launch_rows("kl_divergence", rows, n,
                KlDivergenceRow<T, pack()>{x, teacher, counted, total.data_or_null<int64_t>(), losses.mutable_data<C>(),
                                           dx, n, are_aligned(x, teacher, dx)});
  });
  c.loss = Tensor::empty({}, dtype_of<C>(), device);  // ()
  sum_into(losses.data<C>(), c.loss.mutable_data<C>(), 1, rows, 1, device);
}

}  // namespace

void register_kl_divergence() {
  add_kernels(kl_divergence_op, "fused with its gradient", run<float>, run<double>, run<bf16>);
  add_scaled_gradient(kl_divergence_grad_op);
}

}  // namespace headroom::engine::cuda
