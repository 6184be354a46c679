#include "engine/convert.h"

#include "engine/cuda/pack.cuh"
#include "engine/cuda/runtime.h"

namespace headroom::engine::cuda {
namespace {

template <class To, class From>
struct ConvertElements {
  Walk<1> walk;
  const From* x;
  To* y;
  template <int N>
  __device__ void run(int64_t i) const {
    int64_t at[1];
    walk.find(i, at);
    Pack<To, N> to;
    if (N > 1 && walk.inner_stride(0) == 1) {
      const Pack<From, N> from = *reinterpret_cast<const Pack<From, N>*>(x + at[0]);
      for (int k = 0; k < N; ++k) store(to.value[k], engine::convert<Compute<To>>(from.value[k]));
    } else {
      const auto value = engine::convert<Compute<To>>(x[at[0]]);
      for (int k = 0; k < N; ++k) store(to.value[k], value);
    }
    *reinterpret_cast<Pack<To, N>*>(y + i) = to;
  }
};

template <class Word>
struct FillElements {
  Word word;
  Word* y;
  template <int N>
  __device__ void run(int64_t i) const {
    Pack<Word, N> pack;
    for (int k = 0; k < N; ++k) pack.value[k] = word;
    *reinterpret_cast<Pack<Word, N>*>(y + i) = pack;
  }
};

}  // namespace

void convert(const Tensor& destination, const Tensor& source) {
  visit_dtype(destination.dtype(), [&](auto to_zero) {
    visit_dtype(source.dtype(), [&](auto from_zero) {
      using To = decltype(to_zero);
      using From = decltype(from_zero);
      if constexpr (!std::is_same_v<To, From>) {
        constexpr int n = pack_size<To, From>();
        const ConvertElements<To, From> g{Walk<1>(source.shape(), {source.strides()}), source.data<From>(),
                                          destination.mutable_data<To>()};
        const bool whole = is_aligned<n>(g.y) && g.walk.takes_packs(n, 0, g.x, sizeof(From));
        launch_packs<n>("convert", source.numel(), whole, g);
      }
    });
  });
}

void fill_elements(const Tensor& y, const void* element) {
  visit_dtype(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const FillElements<T> g{*static_cast<const T*>(element), y.mutable_data<T>()};
    constexpr int n = pack_size<T>();
    launch_packs<n>("fill", y.numel(), is_aligned<n>(g.y), g);
  });
}

}  // namespace headroom::engine::cuda
