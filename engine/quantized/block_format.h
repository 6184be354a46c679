#pragma once
#include <string_view>

#include "engine/quantized/format.h"

namespace headroom::engine {

struct BlockLayout {
  const char* name;
  int64_t elements;  ///< of one block
  int64_t bytes;
};
const BlockLayout& layout_of(BlockFormat format);
/// The format of that name ("q4_k"). Throws Error that lists the known ones.
BlockFormat block_format_named(std::string_view name);

/// The numbers of `count` blocks, in f32 arithmetic: (count · elements) of them, the same bits at every level of the
/// instruction set. Any bytes are a block; a scale that is not finite gives numbers that are not.
void dequantize(BlockFormat format, const uint8_t* blocks, int64_t count, float* values);

}  // namespace headroom::engine
