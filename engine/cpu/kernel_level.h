#pragma once
#include <string>

namespace headroom::engine {

/// The library for f32 matrix products here, with a fingerprint: "oneDNN 2.6.3, bits 1a2b3c4d", or "own products, bits
/// 5e6f7a8b" if oneDNN is absent or refuses. The fingerprint comes from a few fixed products, multiplied once per
/// process: it distinguishes libraries with the same name.
const std::string& products();

/// Everything a result's bits depend on besides the program, its config and its data: the kernels' instruction set and
/// products(), as in "avx2, oneDNN 2.6.3, bits 1a2b3c4d".
const std::string& kernel_level();

/// True if results of both levels have the same bits, as far as known: older programs noted only the instruction set,
/// the oldest nothing.
bool may_be_alike(const std::string& noted, const std::string& level);

}  // namespace headroom::engine
