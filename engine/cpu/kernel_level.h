#pragma once
#include <string>

namespace headroom::engine {

/// The library that multiplies f32 matrices here, and a fingerprint of its sums: "oneDNN 2.6.3, bits 1a2b3c4d", or
/// "own products, bits 5e6f7a8b" where oneDNN is absent or refuses. The fingerprint is that of a few fixed products,
/// multiplied once per process: it tells libraries apart that call themselves alike.
const std::string& products();

/// What a result's bits depend on beside the program, its config and its data: the instruction set of the kernels and
/// products(), as in "avx2, oneDNN 2.6.3, bits 1a2b3c4d".
const std::string& kernel_level();

/// Whether results of both levels have the same bits, as far as is known: earlier programs noted the instruction set
/// alone, the earliest nothing.
bool may_be_alike(const std::string& noted, const std::string& level);

}  // namespace headroom::engine
