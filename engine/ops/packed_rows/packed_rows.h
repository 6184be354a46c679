#pragma once
#include <array>

#include "engine/dispatch/op.h"
#include "engine/quantized/block_format.h"

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

/// Rounds x (..., d), real, to the format by pack_block(): the same bytes on the CPU and a GPU. Throws Error as
/// packed_bytes() does, and on the CPU for a block with a NaN or a number too large for its scale of 16 bits. A GPU is
/// not waited for: all numbers of such a block are then infinite or NaN.
PackedRows pack_rows(const Tensor& x, BlockFormat format);

/// Its numbers: f32 (..., d).
Tensor unpack_rows(const PackedRows& rows);

/// x (..., d), real, in f32 as a cache packs it: for block formats, times Sylvester's orthonormal Hadamard matrix in
/// runs of the largest power of two that divides d; else x. It is its own inverse and keeps products of two rows, both
/// up to rounding. Keys have a few channels far larger than all others: turning spreads them, so that a block's scale
/// fits its numbers better (QuaRot, arXiv:2404.00456). First multiplies x by `scales` f32 (d), if given. Throws as
/// pack_rows(), and if scales do not fit x.
Tensor turned_rows(const Tensor& x, BlockFormat format, const Tensor& scales = {});

/// Calls of these three, whose operands are in f32 and contiguous, for their implementations.
struct PackRowsCall {
  Tensor x;
  PackedRows out;
  auto operands() { return std::array{real("x", x)}; }
};
struct UnpackRowsCall {
  PackedRows rows;
  Tensor out{};
  auto operands() { return std::array{bytes("rows", rows.bytes)}; }
};
struct TurnRowsCall {
  Tensor x, scales;
  int64_t run = 0;  ///< numbers that are turned together
  Tensor out{};
  auto operands() { return std::array{real("x", x), optional_real("scales", scales)}; }
};
extern Op<PackRowsCall> pack_rows_op;
extern Op<UnpackRowsCall> unpack_rows_op;
extern Op<TurnRowsCall> turn_rows_op;

}  // namespace headroom::engine
