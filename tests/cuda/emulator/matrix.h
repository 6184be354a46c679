#pragma once
#include <cstdint>
#include <source_location>

#include "engine/dtype.h"

// What engine/cuda/mma.cuh does in place of PTX, with the fragment layouts of the PTX manual. A lane's payload is its
// own registers; the last lane to arrive computes for all.
namespace headroom::engine::cuda::emulator {

/// d += a·b, eight terms at a time, their last bits cut off rather than rounded.
void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                  std::source_location where = std::source_location::current());

/// ldmatrix .x4, with .trans when `transposed`. A row that is not 16-byte aligned ends the kernel with an error.
void load_matrices(uint32_t (&m)[4], const bf16* row, bool transposed,
                   std::source_location where = std::source_location::current());

/// Bytes that this thread will find in `shared` after it has waited for the batch, and not before; zeros where `global`
/// is null. Either that is not aligned ends the kernel with an error.
void copy_async(void* shared, const void* global, int bytes);
void commit_copies();
/// Lets all batches of this thread land but the last `pending`.
void wait_for_copies(int pending);
/// Forgets what the threads of the block before have not waited for.
void forget_copies();

}  // namespace headroom::engine::cuda::emulator
