#include "engine/ops/embedding/embedding.h"

#include "engine/cuda/pack.cuh"
#include "engine/ops/gather/scatter_add.cuh"

namespace headroom::engine::cuda {
namespace {

template <class T>
struct EmbeddingElements {
  const T* table;
  const int64_t* indices;
  int64_t rows, width;
  T* y;

  template <int N>
  __device__ void run(int64_t i) const {
    const int64_t index = indices[i / width];
    Pack<T, N> pack;
    if (index >= 0 && index < rows) pack = *reinterpret_cast<const Pack<T, N>*>(table + index * width + i % width);
    else
      for (int e = 0; e < N; ++e) pack.value[e] = T(std::numeric_limits<float>::quiet_NaN());
    *reinterpret_cast<Pack<T, N>*>(y + i) = pack;
  }
};

template <class T>
void run(EmbeddingCall& c) {
  constexpr int n = pack_size<T>();
  const EmbeddingElements<T> g{c.table.data<T>(), c.indices.data<int64_t>(), c.table.dim(0), c.table.dim(1),
                               c.y.mutable_data<T>()};
  launch_packs<n>("embedding", c.y.numel(), g.width % n == 0 && is_aligned<n>(g.table) && is_aligned<n>(g.y), g);
}

/// One list of rows for all columns.
void run_grad(EmbeddingGradCall& c) {
  const GatherLayout at{1, c.dtable.dim(0), c.dtable.dim(1), c.indices.numel(), 0, 1, 0};
  scatter_add(c.dtable, c.dy, c.indices, at, c.adds, c.order);
}

void run_order(EmbeddingOrderCall& c) {
  const int64_t n = c.indices.numel();
  if (n > few_rows) c.order = sorted_rows(c.indices, {1, c.vocabulary, 1, n, 0, 1, 0});
}

}  // namespace

void register_embedding() {
  add_kernels(embedding_op, "packs", run<float>, run<double>, run<bf16>);
  add_kernel(embedding_op, "packs", DType::f16, run<f16>);
  add_kernel(embedding_order_op, "sort", DType::i64, run_order);
  add_kernel(embedding_grad_op, "sums in order", DTypeSet(DType::f32) | DType::f64 | DType::bf16, run_grad);
}

}  // namespace headroom::engine::cuda
