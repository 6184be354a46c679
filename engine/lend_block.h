#pragma once
#include <cstddef>

/// Told of each block of a device other than the CPU that goes to a storage, which will use `bytes` of it: the emulated
/// GPU guards what lies after them, and fills them with NaN in the order of the context's stream. Null elsewhere.
extern "C" [[gnu::weak]] void headroom_lend_block(void* block, size_t bytes);
