#include "engine/cuda/pack.cuh"
#include "engine/cuda/runtime.h"

namespace headroom::engine::cuda {
namespace {

/// Copies elements of the size of Word, whatever their dtype.
template <class Word>
struct CopyElements {
  Walk<2> walk;
  Word* to;
  const Word* from;

  template <int N>
  __device__ void run(int64_t i) const {
    int64_t at[2];
    walk.find(i, at);
    Pack<Word, N> pack;
    if (N > 1 && walk.inner_stride(1) == 1) {
      pack = *reinterpret_cast<const Pack<Word, N>*>(from + at[1]);
    } else {
      const Word word = from[at[1]];
      for (int k = 0; k < N; ++k) pack.value[k] = word;
    }
    *reinterpret_cast<Pack<Word, N>*>(to + at[0]) = pack;
  }
};

template <class Word>
void copy_as(const Tensor& destination, const Tensor& source) {
  constexpr int n = pack_size<Word>();
  const CopyElements<Word> g{Walk<2>(source.shape(), {destination.strides(), source.strides()}),
                             static_cast<Word*>(destination.mutable_raw()), static_cast<const Word*>(source.raw())};
  const bool whole = g.walk.takes_packs(n, 0, g.to, sizeof(Word)) && g.walk.takes_packs(n, 1, g.from, sizeof(Word));
  launch_packs<n>("strided_copy", source.numel(), whole, g);
}

}  // namespace

void strided_copy(const Tensor& destination, const Tensor& source) {
  visit_word(source.dtype(), [&](auto word) { copy_as<decltype(word)>(destination, source); });
}

}  // namespace headroom::engine::cuda
