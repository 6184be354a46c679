#pragma once
#include "engine/isa.h"

namespace headroom::engine {

/// A CPU kernel, compiled once per instruction-set level that changes it. A call runs the highest version that
/// active_isa() allows.
template <class Signature>
struct Kernel;
template <class Result, class... Arguments>
struct Kernel<Result(Arguments...)> {
  using Function = Result (*)(Arguments...);
  Function portable, avx2 = nullptr, avx512 = nullptr, avx512_bf16 = nullptr;

  Function best() const {
    const Isa isa = active_isa();
    if (avx512_bf16 && has_bf16_pairs()) return avx512_bf16;
    if (avx512 && isa >= Isa::avx512) return avx512;
    if (avx2 && isa >= Isa::avx2) return avx2;
    return portable;
  }
  Result operator()(Arguments... arguments) const { return best()(arguments...); }
  /// The levels with a version of their own.
  constexpr IsaSet levels() const {
    IsaSet set = IsaSet(Isa::portable);
    if (avx2) set = set | Isa::avx2;
    if (avx512 || avx512_bf16) set = set | Isa::avx512;
    return set;
  }
};

}  // namespace headroom::engine

/// HEADROOM_KERNEL(RETURN, NAME, PARAMETERS) declares a kernel's versions and `kernel::NAME`, which chooses between
/// them. Use it inside namespace headroom::engine:
///
///     HEADROOM_KERNEL(void, softmax_rows, (const float* x, float* y, int64_t rows, int64_t n))
///
/// Define it in a `*_kernel.cpp` under the same name, inside `namespace headroom::engine::HEADROOM_ISA`. Such a file
/// may include only simd.h, this header and the kernel's own declarations: otherwise the linker could keep an inline
/// function's AVX-512 copy for every caller. engine/meson.build lists the levels that compile each file.
/// HEADROOM_KERNEL_AVX512 declares kernels that the AVX-512 level compiles too, HEADROOM_KERNEL_BF16 those compiled
/// once more with AVX512-BF16, and HEADROOM_KERNEL_VNNI those compiled for that level but not for AVX-512.
#define HEADROOM_KERNEL_AT(LEVEL, RETURN, NAME, PARAMETERS) \
  namespace LEVEL {                                         \
  RETURN NAME PARAMETERS;                                   \
  }
#define HEADROOM_KERNEL_CHOICE(NAME, ...)                              \
  namespace kernel {                                                   \
  inline constexpr Kernel<decltype(portable::NAME)> NAME{__VA_ARGS__}; \
  }
#ifdef __x86_64__
#define HEADROOM_KERNEL(RETURN, NAME, PARAMETERS)        \
  HEADROOM_KERNEL_AT(portable, RETURN, NAME, PARAMETERS) \
  HEADROOM_KERNEL_AT(avx2, RETURN, NAME, PARAMETERS)     \
  HEADROOM_KERNEL_CHOICE(NAME, portable::NAME, avx2::NAME)
#define HEADROOM_KERNEL_AVX512(RETURN, NAME, PARAMETERS) \
  HEADROOM_KERNEL_AT(portable, RETURN, NAME, PARAMETERS) \
  HEADROOM_KERNEL_AT(avx2, RETURN, NAME, PARAMETERS)     \
  HEADROOM_KERNEL_AT(avx512, RETURN, NAME, PARAMETERS)   \
  HEADROOM_KERNEL_CHOICE(NAME, portable::NAME, avx2::NAME, avx512::NAME)
#define HEADROOM_KERNEL_BF16(RETURN, NAME, PARAMETERS)      \
  HEADROOM_KERNEL_AT(portable, RETURN, NAME, PARAMETERS)    \
  HEADROOM_KERNEL_AT(avx2, RETURN, NAME, PARAMETERS)        \
  HEADROOM_KERNEL_AT(avx512, RETURN, NAME, PARAMETERS)      \
  HEADROOM_KERNEL_AT(avx512_bf16, RETURN, NAME, PARAMETERS) \
  HEADROOM_KERNEL_CHOICE(NAME, portable::NAME, avx2::NAME, avx512::NAME, avx512_bf16::NAME)
#define HEADROOM_KERNEL_VNNI(RETURN, NAME, PARAMETERS)      \
  HEADROOM_KERNEL_AT(portable, RETURN, NAME, PARAMETERS)    \
  HEADROOM_KERNEL_AT(avx2, RETURN, NAME, PARAMETERS)        \
  HEADROOM_KERNEL_AT(avx512_bf16, RETURN, NAME, PARAMETERS) \
  HEADROOM_KERNEL_CHOICE(NAME, .portable = portable::NAME, .avx2 = avx2::NAME, .avx512_bf16 = avx512_bf16::NAME)
#else
#define HEADROOM_KERNEL(RETURN, NAME, PARAMETERS)        \
  HEADROOM_KERNEL_AT(portable, RETURN, NAME, PARAMETERS) \
  HEADROOM_KERNEL_CHOICE(NAME, portable::NAME)
#define HEADROOM_KERNEL_AVX512 HEADROOM_KERNEL
#define HEADROOM_KERNEL_BF16 HEADROOM_KERNEL
#define HEADROOM_KERNEL_VNNI HEADROOM_KERNEL
#endif
