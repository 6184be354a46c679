#pragma once
#include <source_location>

#include "tests/cuda/emulator/device/vectors.h"

// Who a thread is, and the block's barriers. A barrier that not all threads of the block reach at the same place ends
// the kernel with an error that names the places.

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

void __syncthreads(std::source_location where = std::source_location::current());
/// How many threads of the block gave a predicate other than zero; whether all did; whether any did.
int __syncthreads_count(int predicate, std::source_location where = std::source_location::current());
int __syncthreads_and(int predicate, std::source_location where = std::source_location::current());
int __syncthreads_or(int predicate, std::source_location where = std::source_location::current());
/// Ends the kernel with an error.
[[noreturn]] void __trap(std::source_location where = std::source_location::current());

inline void __threadfence() {}
inline void __threadfence_block() {}
