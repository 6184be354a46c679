#pragma once
#include <cstdint>
#include <type_traits>

#include "engine/cuda/number.cuh"

// Neighbouring elements that a thread reads and writes together.
namespace headroom::engine::cuda {

/// `pack` elements in memory, at an address that is a multiple of their size.
template <class T, int pack>
struct alignas(sizeof(T) * pack) Aligned {
  T at[pack];
};

/// The same in the type they are computed in.
template <class T, int pack>
struct Numbers {
  Compute<T> at[pack];
};

/// Elements per 16 bytes, the most that one instruction moves.
template <class T>
inline constexpr int widest_pack = 16 / static_cast<int>(sizeof(T));

/// x[0], …, x[pack - 1]. `aligned`: x is a multiple of their size, so one instruction suffices; the numbers are the
/// same either way.
template <int pack, class T>
__device__ inline Numbers<T, pack> load_numbers(const T* x, bool aligned) {
  Numbers<T, pack> out;
  if (pack > 1 && aligned) {
    const Aligned<T, pack> held = *reinterpret_cast<const Aligned<T, pack>*>(x);
    for (int k = 0; k < pack; ++k) out.at[k] = load(held.at[k]);
  } else {
    for (int k = 0; k < pack; ++k) out.at[k] = load(x[k]);
  }
  return out;
}

/// y[k] = x.at[k], rounded.
template <int pack, class T>
__device__ inline void store_numbers(T* y, const Numbers<T, pack>& x, bool aligned) {
  if (pack > 1 && aligned) {
    Aligned<T, pack> held;
    for (int k = 0; k < pack; ++k) store(held.at[k], x.at[k]);
    *reinterpret_cast<Aligned<T, pack>*>(y) = held;
  } else {
    for (int k = 0; k < pack; ++k) store(y[k], x.at[k]);
  }
}

/// True if every address (null counts) is a multiple of 16 bytes.
template <class... P>
bool are_aligned(const P*... addresses) {
  return ((reinterpret_cast<uintptr_t>(addresses) % 16 == 0) && ...);
}

/// Calls f with the pack size for rows of `width` elements, an integral_constant: the widest pack if rows are whole
/// packs, else 1. It depends only on the width, so a tensor's address never changes the order of additions.
template <class T, class F>
void with_pack(int64_t width, const F& f) {
  if (width % widest_pack<T> == 0) f(std::integral_constant<int, widest_pack<T>>());
  else f(std::integral_constant<int, 1>());
}

}  // namespace headroom::engine::cuda
