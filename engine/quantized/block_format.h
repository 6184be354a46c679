#pragma once
#include <array>
#include <string_view>

#include "engine/quantized/format.h"

namespace headroom::engine {

/// What is known of a format, beside its formula: a row of the table in format.h, and what the format's struct says.
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
/// The format of that name ("q4_k"). Throws Error that lists the known ones.
BlockFormat block_format_named(std::string_view name);

/// The numbers of `count` blocks, in f32 arithmetic: (count · elements) of them, the same bits at every level of the
/// instruction set. Any bytes are a block; a scale that is not finite gives numbers that are not.
void dequantize(BlockFormat format, const uint8_t* blocks, int64_t count, float* values);

}  // namespace headroom::engine
