#include "engine/ops/cross_entropy/cross_entropy.h"

#include "engine/ops/rows/loss_rows.cuh"
#include "engine/ops/rows/padded_rows.h"

namespace headroom::engine::cuda {
namespace {

struct IsCounted {
  const int64_t* targets;
  int64_t ignore;
  __device__ bool operator()(int64_t i) const { return targets[i] != ignore; }
};

/// Loss and gradient of one row. A staged row is read once: it stays in shared memory for the gradient.
template <class T, int pack>
struct CrossEntropyRow {
  using C = Compute<T>;
  const T* x;
  const int64_t *targets, *counted;
  C* losses;
  T* dx;  ///< may be null
  int64_t n, stride, ignore;
  bool aligned, staged;
  template <class Team>
  __device__ void operator()(const Team& team, int64_t row) const {
    const int64_t target = targets[row];
    const T* from = x + row * stride;
    if (target == ignore) {
      if (team.index() == 0) losses[row] = 0;
      if (!dx) return;
      for_each_pack<pack>(team, n,
                          [&](int64_t i) { store_numbers<pack>(dx + row * stride + i, Numbers<T, pack>{}, aligned); });
      return;
    }
    T* held = staged ? dynamic_shared<T>() : nullptr;
    const ExpSum<C> total = exp_sum<pack>(team, from, n, aligned, [&](int64_t i, const Numbers<T, pack>& v) {
      if (held) store_numbers<pack>(held + i, v, true);
    });
    const bool is_class = target >= 0 && target < n;
    const C share = share_of<C>(counted);
    if (team.index() == 0)
      losses[row] = is_class ? share * (std::log(total.sum) - (load(from[target]) - total.top)) : C(NAN);
    if (!dx) return;
    const C weight = is_class ? share / total.sum : C(NAN);
    for_each_pack<pack>(team, n, [&](int64_t i) {
      Numbers<T, pack> v = held ? load_numbers<pack>(held + i, true) : load_of_row<pack>(from, i, n, aligned);
      for (int k = 0; k < pack; ++k)
        v.at[k] = std::exp(v.at[k] - total.top) * weight - (i + k == target ? share : C(0));
      for (int k = 0; k < pack && i + pack > n; ++k)
        if (i + k >= n) v.at[k] = 0;
      store_numbers<pack>(dx + row * stride + i, v, aligned);
    });
  }
};

template <class T>
void run(CrossEntropyCall& c) {
  using C = Compute<T>;
  constexpr int64_t most_shared = 99 << 10;  // of a block, on every GPU since compute capability 8.0
  const Device device = c.logits.device();
  if (!has_padded_rows(c.logits)) c.logits = c.logits.contiguous();
  c.targets = c.targets.contiguous();
  const int64_t rows = c.targets.numel(), n = c.logits.dim(-1), stride = rows > 1 ? c.logits.row_stride() : n;
  const Tensor losses = Tensor::empty({rows}, dtype_of<C>(), device);  // (rows)
  Tensor counted;
  const auto* targets = c.targets.data<int64_t>();
  if (c.mean && rows > 0) counted = count("count_targets", rows, IsCounted{targets, c.ignore_index}, device);
  const T* x = c.logits.data<T>();
  T* dx = c.dlogits.mutable_data_or_null<T>();
  const int64_t row_bytes = stride * static_cast<int64_t>(sizeof(T));
  const bool staged = dx && n > short_row && row_bytes <= most_shared - 512;  // next to the reductions' scratch
  with_pack<T>(stride, [&](auto pack) {
    launch_rows("cross_entropy", rows, n,
                CrossEntropyRow<T, pack()>{x, targets, counted.data_or_null<int64_t>(), losses.mutable_data<C>(), dx, n,
                                           stride, c.ignore_index, are_aligned(x, dx), staged},
                staged ? static_cast<size_t>(row_bytes) : 0);
  });
  c.loss = Tensor::empty({}, dtype_of<C>(), device);  // ()
  sum_into(losses.data<C>(), c.loss.mutable_data<C>(), 1, rows, 1, device);
}

}  // namespace

void register_cross_entropy() {
  add_strided_kernels(cross_entropy_op, "fused with its gradient", run<float>, run<double>, run<bf16>);
  add_scaled_gradient(cross_entropy_grad_op);
}

}  // namespace headroom::engine::cuda
