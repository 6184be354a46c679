#pragma once
#include <array>

#include "engine/quantized/block_format.h"
#include "engine/tensor.h"

namespace headroom::engine {

/// The formats a key-value cache may hold its rows in.
inline constexpr std::array packed_formats{BlockFormat::f16, BlockFormat::bf16, BlockFormat::q8_0, BlockFormat::q4_0};

/// Rows of `dim` numbers as whole blocks: bytes u8 (..., bytes of a row).
struct PackedRows {
  Tensor bytes;
  BlockFormat format = BlockFormat::f16;
  int64_t dim = 0;
};

/// Bytes of a row. Throws Error if the format is not in packed_formats, or its blocks do not fill the row.
int64_t packed_bytes(BlockFormat format, int64_t dim);

/// Rounds x (..., d), real, on the CPU, to the format as quantize_block_q8_0(), quantize_block_q4_0(), f16() and bf16()
/// do. Throws Error as packed_bytes() does, and for a block that no 16-bit scale can hold.
PackedRows pack_rows(const Tensor& x, BlockFormat format);

/// Its numbers: f32 (..., d).
Tensor unpack_rows(const PackedRows& rows);

/// x (..., d), real, on the CPU, in f32 as a cache packs it: for block formats, times Sylvester's orthonormal Hadamard
/// matrix in runs of the largest power of two that divides d; else x. It is its own inverse and keeps products of two
/// rows, both up to rounding. Keys have a few channels far larger than all others: turning spreads them, so that a
/// block's scale fits its numbers better (QuaRot, arXiv:2404.00456). First multiplies x by `scales` f32 (d), if given.
/// Throws as pack_rows(), and if scales do not fit x.
Tensor turned_rows(const Tensor& x, BlockFormat format, const Tensor& scales = {});

}  // namespace headroom::engine
