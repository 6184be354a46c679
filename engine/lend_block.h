#pragma once
#include <cstddef>

/// Called for each device block that goes to a storage, which will use `bytes` of it: the emulated GPU guards the bytes
/// after them, and fills the block with NaN in the order of the context's stream. Null elsewhere.
extern "C" [[gnu::weak]] void headroom_lend_block(void* block, size_t bytes);
