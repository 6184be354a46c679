#include "engine/quantized/block_format.h"

#include <string>

#include "engine/error.h"
#include "engine/quantized/dequantize_kernel.h"

namespace headroom::engine {
namespace {

template <class F>
constexpr BlockTraits block_traits(const char* name, const char* gguf_name, uint32_t gguf_type, int64_t file_type) {
  return {name,
          gguf_name,
          gguf_type,
          file_type,
          F::elements,
          F::bytes,
          F::has_integer_products,
          {F::scale_places[0], F::scale_places[1]},
          F::exponent_place,
          F::typical};
}

#define HEADROOM_ROW(NAME, FORMAT, TYPE, FILE_TYPE) block_traits<blocks::FORMAT>(#NAME, #FORMAT, TYPE, FILE_TYPE),
constexpr BlockTraits all_traits[] = {HEADROOM_BLOCK_FORMATS(HEADROOM_ROW)};
#undef HEADROOM_ROW

}  // namespace

const BlockTraits& traits_of(BlockFormat format) { return all_traits[static_cast<size_t>(format)]; }

BlockFormat block_format_named(std::string_view name) {
  std::string known;
  for (const BlockFormat format : block_formats) {
    if (name == traits_of(format).name) return format;
    known += (known.empty() ? "" : ", ") + std::string(traits_of(format).name);
  }
  fail("unknown block format '{}'; known: {}", name, known);
}

void dequantize(BlockFormat format, const uint8_t* blocks, int64_t count, float* values) {
  kernel::dequantize_blocks(format, blocks, count, values);
}

}  // namespace headroom::engine
