#include "engine/quantized/block_format.h"

#include <array>
#include <string>

#include "engine/error.h"
#include "engine/quantized/dequantize_kernel.h"

namespace headroom::engine {
namespace {

constexpr std::array<BlockLayout, 9> layouts{{{"q8_0", 32, 34},
                                              {"q4_0", 32, 18},
                                              {"q4_1", 32, 20},
                                              {"q5_0", 32, 22},
                                              {"q5_1", 32, 24},
                                              {"q4_k", 256, 144},
                                              {"q6_k", 256, 210},
                                              {"f16", 1, 2},
                                              {"bf16", 1, 2}}};

}  // namespace

const BlockLayout& layout_of(BlockFormat format) { return layouts[static_cast<size_t>(format)]; }

BlockFormat block_format_named(std::string_view name) {
  std::string known;
  for (size_t i = 0; i < layouts.size(); ++i) {
    if (name == layouts[i].name) return static_cast<BlockFormat>(i);
    known += (i > 0 ? ", " : "") + std::string(layouts[i].name);
  }
  fail("unknown block format '{}'; known: {}", name, known);
}

void dequantize(BlockFormat format, const uint8_t* blocks, int64_t count, float* values) {
  kernel::dequantize_blocks(format, blocks, count, values);
}

}  // namespace headroom::engine
