#include "engine/quantized/block_format.h"

#include <array>
#include <cstring>
#include <string>

#include "engine/dtype.h"
#include "engine/error.h"

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

float half_at(const uint8_t* bytes) {
  f16 value;
  std::memcpy(&value.bits, bytes, 2);
  return static_cast<float>(value);
}

float signed_byte(uint8_t byte) { return static_cast<float>(static_cast<int8_t>(byte)); }

void dequantize_q8_0(const uint8_t* block, float* x) {
  const float d = half_at(block);
  for (int i = 0; i < 32; ++i) x[i] = d * signed_byte(block[2 + i]);
}

/// x = d·(q - offset) + m of 32 elements with halves of 16 bytes, and fifth bits where `high` is not 0.
void dequantize_halves(const uint8_t* halves, uint32_t high, float d, int offset, float m, bool has_m, float* x) {
  for (int i = 0; i < 16; ++i) {
    const int low = (halves[i] & 15) | static_cast<int>((high >> i & 1) << 4);
    const int upper = (halves[i] >> 4) | static_cast<int>((high >> (i + 16) & 1) << 4);
    const float a = d * static_cast<float>(low - offset), b = d * static_cast<float>(upper - offset);
    x[i] = has_m ? a + m : a;
    x[i + 16] = has_m ? b + m : b;
  }
}

uint32_t fifth_bits(const uint8_t* bytes) {
  uint32_t bits = 0;
  std::memcpy(&bits, bytes, 4);
  return bits;
}

/// Eight pairs of 6 bits in 12 bytes: scale and minimum of each 32 elements.
void dequantize_q4_k(const uint8_t* block, float* x) {
  const float d = half_at(block), m = half_at(block + 2);
  const uint8_t *b = block + 4, *halves = block + 16;
  for (int j = 0; j < 8; ++j) {
    const int scale = j < 4 ? b[j] & 63 : (b[j + 4] & 15) | (b[j - 4] >> 6) << 4;
    const int minimum = j < 4 ? b[j + 4] & 63 : (b[j + 4] >> 4) | (b[j] >> 6) << 4;
    const float step = d * static_cast<float>(scale), low = m * static_cast<float>(minimum);
    for (int i = 0; i < 32; ++i) {
      const uint8_t byte = halves[j / 2 * 32 + i];
      x[j * 32 + i] = step * static_cast<float>(j % 2 == 0 ? byte & 15 : byte >> 4) - low;
    }
  }
}

/// Two runs of 128 elements; in each, element 32·j + i has its low half in byte 32·(j % 2) + i and its two high bits in
/// byte i, bits 2·j and 2·j + 1.
void dequantize_q6_k(const uint8_t* block, float* x) {
  const uint8_t *low = block, *high = block + 128, *scales = block + 192;
  const float d = half_at(block + 208);
  for (int e = 0; e < 256; ++e) {
    const int run = e / 128, j = e % 128 / 32, i = e % 32;
    const uint8_t half = low[run * 64 + j % 2 * 32 + i];
    const int q = (j < 2 ? half & 15 : half >> 4) | (high[run * 32 + i] >> (2 * j) & 3) << 4;
    x[e] = d * signed_byte(scales[e / 16]) * static_cast<float>(q - 32);
  }
}

template <class T>
void widen(const uint8_t* bytes, int64_t count, float* x) {
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value.bits, bytes + 2 * i, 2);
    x[i] = static_cast<float>(value);
  }
}

void dequantize_block(BlockFormat format, const uint8_t* block, float* x) {
  switch (format) {
    case BlockFormat::q8_0:
      return dequantize_q8_0(block, x);
    case BlockFormat::q4_0:
      return dequantize_halves(block + 2, 0, half_at(block), 8, 0, false, x);
    case BlockFormat::q4_1:
      return dequantize_halves(block + 4, 0, half_at(block), 0, half_at(block + 2), true, x);
    case BlockFormat::q5_0:
      return dequantize_halves(block + 6, fifth_bits(block + 2), half_at(block), 16, 0, false, x);
    case BlockFormat::q5_1:
      return dequantize_halves(block + 8, fifth_bits(block + 4), half_at(block), 0, half_at(block + 2), true, x);
    case BlockFormat::q4_k:
      return dequantize_q4_k(block, x);
    case BlockFormat::q6_k:
      return dequantize_q6_k(block, x);
    case BlockFormat::f16:
    case BlockFormat::bf16:
      break;  // no blocks: see dequantize()
  }
}

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
  if (format == BlockFormat::f16) return widen<f16>(blocks, count, values);
  if (format == BlockFormat::bf16) return widen<bf16>(blocks, count, values);
  const BlockLayout& layout = layout_of(format);
  for (int64_t i = 0; i < count; ++i) dequantize_block(format, blocks + i * layout.bytes, values + i * layout.elements);
}

}  // namespace headroom::engine
