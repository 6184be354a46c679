#include "engine/ops/mse/mse.h"

#include "engine/cuda/sum.cuh"
#include "engine/joined_sums.h"

namespace headroom::engine::cuda {
namespace {

/// factor · Σ (x - target)² of one chunk; the last may be shorter.
template <class T, int pack>
struct MseChunk {
  using C = Compute<T>;
  const T* x;
  const C* target;
  C *sums, factor;
  int64_t n, chunk;
  bool aligned;
  template <class Team>
  __device__ void operator()(const Team& team, int64_t task) const {
    const int64_t first = task * chunk, count = n - first < chunk ? n - first : chunk;
    C total = 0;
    for_each_pack<pack>(team, count, [&](int64_t i) {
      const Numbers<T, pack> a = load_numbers<pack>(x + first + i, aligned);
      const Numbers<C, pack> b = load_numbers<pack>(target + first + i, aligned);
      for (int k = 0; k < pack; ++k) total += (a.at[k] - b.at[k]) * (a.at[k] - b.at[k]);
    });
    total = team.reduce(total, Add());
    if (team.index() == 0) sums[task] = factor * total;
  }
};

template <class T>
struct MseSlope {
  using C = Compute<T>;
  const T* x;
  const C *target, *dy;
  T* dx;
  C factor;
  __device__ void operator()(int64_t i) const { store(dx[i], (load(x[i]) - target[i]) * (*dy * factor)); }
};

template <class T>
void run(MseCall& c) {
  using C = Compute<T>;
  if (!joins_gradients()) return run_mse_by_parts(c);
  constexpr int64_t chunk = 4096;
  const Device device = c.prediction.device();
  const int64_t n = c.prediction.numel(), chunks = (n + chunk - 1) / chunk;
  const Tensor sums = Tensor::empty({chunks}, dtype_of<C>(), device);  // (chunks)
  const T* x = c.prediction.data<T>();
  const C* target = c.target.data<C>();
  with_pack<C>(n, [&](auto pack) {
    launch_rows("mse", chunks, chunk,
                MseChunk<T, pack()>{x, target, sums.mutable_data<C>(), static_cast<C>(c.factor()), n, chunk,
                                    are_aligned(x, target)});
  });
  if (chunks == 1) {
    c.loss = sums.reshape({});  // ()
    return;
  }
  c.loss = Tensor::empty({}, dtype_of<C>(), device);  // ()
  sum_into(sums.data<C>(), c.loss.mutable_data<C>(), 1, chunks, 1, device);
}

template <class T>
void run_grad(MseGradCall& c) {
  using C = Compute<T>;
  if (!joins_gradients()) return run_mse_grad_by_parts(c);
  const int64_t n = c.prediction.numel();
  c.dprediction = Tensor::empty(c.prediction.shape(), c.prediction.dtype(), c.prediction.device());  // (…)
  launch("mse_grad", n,
         MseSlope<T>{c.prediction.data<T>(), c.target.data<C>(), c.dy.data<C>(), c.dprediction.mutable_data<T>(),
                     static_cast<C>(2 * c.factor())});
}

}  // namespace

void register_mse() {
  add_kernels(mse_op, "a kernel", run<float>, run<double>, run<bf16>);
  add_kernels(mse_grad_op, "a kernel", run_grad<float>, run_grad<double>, run_grad<bf16>);
}

}  // namespace headroom::engine::cuda
