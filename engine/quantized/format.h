#pragma once
#include <cstdint>

namespace headroom::engine {

/// How a row of numbers lies in blocks of few bits each, as GGUF files hold them. With f16 scales d and m, a block is
///
///   q8_0   32   d, 32 signed bytes                    x = d·q
///   q4_0   32   d, 16 bytes of two                    x = d·(q - 8)
///   q4_1   32   d, m, 16 bytes                        x = d·q + m
///   q5_0   32   d, 32 fifth bits, 16 bytes            x = d·(q - 16)
///   q5_1   32   d, m, 32 fifth bits, 16 bytes         x = d·q + m
///   q4_k  256   d, m, eight 6-bit pairs (s, n), 128 bytes      x = d·s·q - m·n
///   q6_k  256   128 bytes of low halves, 64 of high bits, 16 signed s, d      x = d·s·(q - 32)
///   f16     1   the number
///   bf16    1   the number
///
/// Low halves of the 4- and 5-bit bytes are elements 0–15 of a block, high halves 16–31. Source: the GGUF format,
/// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. A header of its own, as kernel files may include it.
enum class BlockFormat : uint8_t { q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q6_k, f16, bf16 };

}  // namespace headroom::engine
