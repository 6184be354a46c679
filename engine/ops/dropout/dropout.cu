#include "engine/ops/dropout/dropout.h"

#include "engine/cuda/pack.cuh"
#include "engine/philox.h"

namespace headroom::engine::cuda {
namespace {

/// Packs of four, the words of one Philox counter.
template <class T>
struct DropoutElements {
  const T* x;
  T* y;
  RngKey key;
  uint32_t threshold;
  Compute<T> factor;

  template <int N>
  __device__ void run(int64_t i) const {
    Compute<T> values[N];
    load_pack<N>(x + i, 1, values);
    if constexpr (N == 4) {
      const auto words = random_words(key, (key.first() + static_cast<uint64_t>(i)) / 4);
      for (int k = 0; k < 4; ++k) values[k] = kept(words[static_cast<size_t>(k)], values[k]);
    } else {
      values[0] = kept(random_bits(key, static_cast<uint64_t>(i)), values[0]);
    }
    store_pack<N>(y + i, values);
  }
  __device__ Compute<T> kept(uint32_t bits, Compute<T> value) const {
    return bits >= threshold ? value * factor : Compute<T>(0);
  }
};

template <class T>
void run(DropoutCall& c) {
  const DropoutElements<T> g{c.x.data<T>(), c.y.mutable_data<T>(), c.key, c.threshold,
                             static_cast<Compute<T>>(c.factor)};
  launch_packs<4>("dropout", c.x.numel(), is_aligned<4>(g.x) && is_aligned<4>(g.y), g);
}

template <class T>
Implementation<DropoutCall> row() {
  return {.name = "packs", .dtypes = dtype_of<T>(), .run = run<T>, .device = Device::Kind::cuda};
}

}  // namespace

void register_dropout() {
  dropout_op.add(row<float>());
  dropout_op.add(row<double>());
  dropout_op.add(row<bf16>());
}

}  // namespace headroom::engine::cuda
