#pragma once
#include "engine/isa.h"

/// Declares one CPU kernel that is compiled once per instruction set, and `kernel::NAME`, which calls the one of
/// active_isa(). Use inside namespace headroom::engine:
///
///     HEADROOM_KERNEL(void, rms_norm_rows, (const float* x, int64_t rows), (x, rows))
///
/// The definition goes into a `*_kernel.cpp` listed under `kernels` in engine/meson.build, inside
/// `namespace headroom::engine::HEADROOM_ISA`. Such a file may include only simd.h, this header and the kernel's own
/// declarations: an inline function of a wider header, compiled for AVX-512, could be the copy that the linker keeps.
#ifdef __x86_64__
#define HEADROOM_KERNEL(RETURN, NAME, PARAMETERS, ARGUMENTS) \
  namespace portable {                                       \
  RETURN NAME PARAMETERS;                                    \
  }                                                          \
  namespace avx2 {                                           \
  RETURN NAME PARAMETERS;                                    \
  }                                                          \
  namespace avx512 {                                         \
  RETURN NAME PARAMETERS;                                    \
  }                                                          \
  namespace kernel {                                         \
  inline RETURN NAME PARAMETERS {                            \
    static const Isa isa = active_isa();                     \
    if (isa >= Isa::avx512) return avx512::NAME ARGUMENTS;   \
    if (isa == Isa::avx2) return avx2::NAME ARGUMENTS;       \
    return portable::NAME ARGUMENTS;                         \
  }                                                          \
  }
#else
#define HEADROOM_KERNEL(RETURN, NAME, PARAMETERS, ARGUMENTS)         \
  namespace portable {                                               \
  RETURN NAME PARAMETERS;                                            \
  }                                                                  \
  namespace kernel {                                                 \
  inline RETURN NAME PARAMETERS { return portable::NAME ARGUMENTS; } \
  }
#endif
