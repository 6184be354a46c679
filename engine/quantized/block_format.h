#pragma once
#include <array>
#include <string_view>

#include "engine/quantized/format.h"

namespace headroom::engine {

/// A format's properties besides its formula: its row in the table in format.h, and its struct's members.
struct BlockTraits {
  const char* name;         ///< "q4_k"
  const char* gguf_name;    ///< "Q4_K"
  uint32_t gguf_type;       ///< of a tensor
  int64_t gguf_file_type;   ///< of a file
  int64_t elements, bytes;  ///< of one block
  bool has_integer_products;
  std::array<int, 2> scale_places;
  int exponent_place;
  double typical;
};
const BlockTraits& traits_of(BlockFormat format);
/// The format with that name ("q4_k"). Throws Error that lists the known ones.
BlockFormat block_format_named(std::string_view name);

/// Unpacks `count` blocks in f32 arithmetic: (count · elements) numbers, with the same bits at every instruction set.
/// Any bytes are a valid block; a non-finite scale gives non-finite numbers.
void dequantize(BlockFormat format, const uint8_t* blocks, int64_t count, float* values);

}  // namespace headroom::engine
