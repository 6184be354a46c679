#pragma once
// The layout of rows of numbers in blocks of few bits each, as in GGUF files
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). Kernel files may include this header.
#include "engine/quantized/formats/halves.h"
#include "engine/quantized/formats/iq4_nl.h"
#include "engine/quantized/formats/iq4_xs.h"
#include "engine/quantized/formats/mxfp4.h"
#include "engine/quantized/formats/numbers.h"
#include "engine/quantized/formats/q2_k.h"
#include "engine/quantized/formats/q3_k.h"
#include "engine/quantized/formats/q4_k.h"
#include "engine/quantized/formats/q5_k.h"
#include "engine/quantized/formats/q6_k.h"
#include "engine/quantized/formats/q8_0.h"

/// The table of formats: X(name, struct in formats/ and name in GGUF, its type number there (ggml.h, enum ggml_type),
/// general.file_type of a file mostly in that format (llama.h, enum llama_ftype)).
#define HEADROOM_BLOCK_FORMATS(X) \
  X(q8_0, Q8_0, 8, 7)             \
  X(q4_0, Q4_0, 2, 2)             \
  X(q4_1, Q4_1, 3, 3)             \
  X(q5_0, Q5_0, 6, 8)             \
  X(q5_1, Q5_1, 7, 9)             \
  X(q2_k, Q2_K, 10, 10)           \
  X(q3_k, Q3_K, 11, 12)           \
  X(q4_k, Q4_K, 12, 15)           \
  X(q5_k, Q5_K, 13, 17)           \
  X(q6_k, Q6_K, 14, 18)           \
  X(iq4_nl, IQ4_NL, 20, 25)       \
  X(iq4_xs, IQ4_XS, 23, 30)       \
  X(mxfp4, MXFP4, 39, 38)         \
  X(f16, F16, 1, 1)               \
  X(bf16, BF16, 30, 32)

namespace headroom::engine {

#define HEADROOM_NAME(NAME, ...) NAME,
enum class BlockFormat : uint8_t { HEADROOM_BLOCK_FORMATS(HEADROOM_NAME) };
/// All of them, in the table's order.
#define HEADROOM_FORMAT(NAME, ...) BlockFormat::NAME,
inline constexpr BlockFormat block_formats[] = {HEADROOM_BLOCK_FORMATS(HEADROOM_FORMAT)};
#undef HEADROOM_NAME
#undef HEADROOM_FORMAT

/// Calls f(F()) with the format's struct F.
template <class Function>
void visit_format(BlockFormat format, const Function& f) {
  switch (format) {
#define HEADROOM_VISIT(NAME, FORMAT, ...) \
  case BlockFormat::NAME:                 \
    return f(blocks::FORMAT());
    HEADROOM_BLOCK_FORMATS(HEADROOM_VISIT)
#undef HEADROOM_VISIT
  }
}

}  // namespace headroom::engine
