#pragma once
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "engine/dtype.h"

// Instructions without a name in CUDA C++: small matrix products on a warp's tensor cores, the loads that feed them,
// asynchronous copies, and a power of two. Each has two bodies: PTX (PTX ISA, "Warp Level Matrix Multiply-Accumulate",
// "Asynchronous copy"), and for the emulator a function of the whole warp with the same fragment layouts. For lane l
// let g = l / 4 and t = l % 4; two neighbouring bf16 share a register, the first in its low half.
namespace headroom::engine::cuda {

/// d += a·b. a (16, 16): registers hold rows g, g + 8, g, g + 8 and columns 2t, 2t, 2t + 8, 2t + 8 (and the next).
/// b (16, 8): rows 2t and 2t + 8 (and the next) of column g. d (16, 8): row g, columns 2t and 2t + 1; the same of row
/// g + 8. All 32 lanes call it.
__device__ inline void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#ifdef HEADROOM_CUDA_EMULATED
  emulator::mma_m16n8k16(d, a, b0, b1);
#else
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

/// The same with half the terms. a (16, 8): registers hold rows g and g + 8, columns 2t and 2t + 1. b (8, 8): rows 2t
/// and 2t + 1 of column g.
__device__ inline void mma_m16n8k8(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t b) {
#ifdef HEADROOM_CUDA_EMULATED
  emulator::mma_m16n8k16(d, {a0, a1, 0, 0}, b, 0);
#else
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a0), "r"(a1), "r"(b));
#endif
}

/// Loads four matrices (8, 8) from shared memory: lane l names row l % 8 of matrix l / 8, 16 bytes at a multiple of 16.
/// Register m gets row g, columns 2t and 2t + 1 of matrix m; of its transpose if `transposed`. All 32 lanes call it.
template <bool transposed>
__device__ inline void load_matrices(uint32_t (&m)[4], const bf16* row) {
#ifdef HEADROOM_CUDA_EMULATED
  emulator::load_matrices(m, row, transposed);
#else
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(address)
                 : "memory");
#endif
}

/// Starts copying 16, 8 or 4 bytes from global to shared memory, both aligned to that size; zeros unless `is_there`.
/// Readable after wait_for_copies(), for other threads also after a barrier.
template <int bytes = 16>
__device__ inline void copy_async(void* shared, const void* global, bool is_there) {
#ifdef HEADROOM_CUDA_EMULATED
  emulator::copy_async(shared, is_there ? global : nullptr, bytes);
#else
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const int count = is_there ? bytes : 0;
  if constexpr (bytes == 16)  // bypasses the L1 cache, which the others cannot
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(global), "r"(count) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(global), "n"(bytes), "r"(count)
                 : "memory");
#endif
}
/// Ends a batch of this thread's copies.
__device__ inline void commit_copies() {
#ifdef HEADROOM_CUDA_EMULATED
  emulator::commit_copies();
#else
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Waits for all of this thread's batches but the last `pending`.
template <int pending>
__device__ inline void wait_for_copies() {
#ifdef HEADROOM_CUDA_EMULATED
  emulator::wait_for_copies(pending);
#else
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

/// 2^x within 2 ulp; 0 below 2^-126.
__device__ inline float fast_exp2(float x) {
#ifdef HEADROOM_CUDA_EMULATED
  return x < -126 ? 0 : std::exp2(x);
#else
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#endif
}

/// Reads four numbers from shared memory, at a multiple of 16 bytes, as written before the last barrier. Hides from the
/// compiler that they may have been loaded before, so that it does not keep them in registers.
__device__ inline float4 load_again(const void* shared) {
#ifdef HEADROOM_CUDA_EMULATED
  return *static_cast<const float4*>(shared);
#else
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  float4 x;
  asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
               : "r"(address));
  return x;
#endif
}

}  // namespace headroom::engine::cuda
