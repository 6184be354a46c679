#pragma once
#include <type_traits>

// Atomics: all threads run on one system thread, so these are plain. What a sum of them depends on is the order, which
// the emulator shuffles. On a GPU they exist for 32- and 64-bit numbers.

#define HEADROOM_ATOMIC(NAME, EXPRESSION)                                         \
  template <class T>                                                              \
  T NAME(T* address, std::type_identity_t<T> value) {                             \
    static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8)); \
    const T old = *address;                                                       \
    *address = static_cast<T>(EXPRESSION);                                        \
    return old;                                                                   \
  }
HEADROOM_ATOMIC(atomicAdd, old + value)
HEADROOM_ATOMIC(atomicSub, old - value)
HEADROOM_ATOMIC(atomicMax, old > value ? old : value)
HEADROOM_ATOMIC(atomicMin, old < value ? old : value)
HEADROOM_ATOMIC(atomicExch, value)
HEADROOM_ATOMIC(atomicOr, old | value)
HEADROOM_ATOMIC(atomicAnd, old& value)
HEADROOM_ATOMIC(atomicXor, old ^ value)
#undef HEADROOM_ATOMIC

template <class T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  const T old = *address;
  if (old == compare) *address = value;
  return old;
}
