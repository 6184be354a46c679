#pragma once
#include <cstdint>

// What tests ask of the emulator beyond the CUDA runtime's own functions.
namespace headroom::engine::cuda::emulator {

/// Starts the drawing of orders anew, as HEADROOM_CUDA_SEED does for the process.
void set_seed(uint64_t seed);

/// Forgets a lost card, for tests that lose one on purpose. What was allocated stays.
void find_card_again();

}  // namespace headroom::engine::cuda::emulator
