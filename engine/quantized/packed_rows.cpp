#include "engine/quantized/packed_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "engine/error.h"
#include "engine/parallel.h"
#include "engine/quantized/dequantize_kernel.h"
#include "engine/quantized/quantize.h"

namespace headroom::engine {
namespace {

constexpr int64_t rows_at_once = 64;

template <class Half>
void pack_halves(const float* x, int64_t count, uint8_t* bytes) {
  for (int64_t i = 0; i < count; ++i) {
    const Half rounded(x[i]);
    std::memcpy(bytes + 2 * i, &rounded.bits, 2);
  }
}

void pack_row(BlockFormat format, const float* x, int64_t dim, uint8_t* bytes) {
  if (format == BlockFormat::f16) return pack_halves<f16>(x, dim, bytes);
  if (format == BlockFormat::bf16) return pack_halves<bf16>(x, dim, bytes);
  const auto [elements, block_bytes] = std::pair(traits_of(format).elements, traits_of(format).bytes);
  const auto pack = format == BlockFormat::q8_0 ? quantize_block_q8_0 : quantize_block_q4_0;
  for (int64_t b = 0; b < dim / elements; ++b)
    if (!pack(x + elements * b, bytes + block_bytes * b))
      fail("pack rows: a row holds a number too large for a scale of 16 bits");
}

/// Rows to be packed, in f32.
Tensor numbers_of(const Tensor& x) {
  require(x.rank() >= 1 && is_floating(x.dtype()) && x.device().is_cpu(),
          "pack rows: expected rows of real numbers on the CPU, got {}", x);
  return x.to(DType::f32).contiguous();
}

/// x in place times the Hadamard matrix of `n` over its root.
void turn(float* x, int64_t n) {
  for (int64_t half = 1; half < n; half *= 2)
    for (int64_t begin = 0; begin < n; begin += 2 * half)
      for (int64_t i = begin; i < begin + half; ++i) {
        const float a = x[i], b = x[i + half];
        x[i] = a + b, x[i + half] = a - b;
      }
  const float scale = 1 / std::sqrt(static_cast<float>(n));
  for (int64_t i = 0; i < n; ++i) x[i] *= scale;
}

}  // namespace

int64_t packed_bytes(BlockFormat format, int64_t dim) {
  const BlockTraits& traits = traits_of(format);
  require(std::find(packed_formats.begin(), packed_formats.end(), format) != packed_formats.end(),
          "pack rows: {} is not packed; known: f16, bf16, q8_0, q4_0", traits.name);
  require(dim >= 1 && dim % traits.elements == 0, "pack rows: rows of {} are no whole blocks of {} numbers of {}", dim,
          traits.elements, traits.name);
  return dim / traits.elements * traits.bytes;
}

PackedRows pack_rows(const Tensor& x_in, BlockFormat format) {
  const Tensor x = numbers_of(x_in);  // (..., d)
  const int64_t dim = x.dim(-1), bytes = packed_bytes(format, dim), rows = x.numel() / dim;
  const Tensor out = Tensor::empty(x.shape().with(x.rank() - 1, bytes), DType::u8);  // (..., bytes)
  const auto* from = x.data<float>();
  auto* to = out.mutable_data<uint8_t>();
  parallel_ranges(rows, rows_at_once, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) pack_row(format, from + r * dim, dim, to + r * bytes);
  });
  return {out, format, dim};
}

Tensor unpack_rows(const PackedRows& packed) {
  const int64_t blocks = packed.dim / traits_of(packed.format).elements;
  const Tensor bytes = packed.bytes.contiguous();
  const int64_t rows = bytes.numel() / bytes.dim(-1);
  const Tensor out = Tensor::empty(bytes.shape().with(bytes.rank() - 1, packed.dim));  // (..., d)
  const auto* from = bytes.data<uint8_t>();
  auto* to = out.mutable_data<float>();
  parallel_ranges(rows, rows_at_once, [&](int64_t begin, int64_t end) {
    kernel::dequantize_blocks(packed.format, from + begin * bytes.dim(-1), (end - begin) * blocks,
                              to + begin * packed.dim);
  });
  return out;
}

Tensor turned_rows(const Tensor& x, BlockFormat format, const Tensor& scales) {
  if (traits_of(format).elements == 1) return x;
  const Tensor out = numbers_of(x).clone();  // (..., d)
  const int64_t dim = x.dim(-1), run = dim & -dim;
  packed_bytes(format, dim);  // rows that no blocks fill are refused here, too
  require(!scales.defined() || scales.shape() == Shape{dim}, "turn rows: scales {} of rows {}", scales, x);
  const Tensor by = scales.defined() ? numbers_of(scales) : Tensor();  // (d), in one piece
  const float* scale = by.defined() ? by.data<float>() : nullptr;
  auto* to = out.mutable_data<float>();
  parallel_ranges(out.numel() / run, rows_at_once, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float* row = to + r * run;
      if (scale)
        for (int64_t i = 0; i < run; ++i) row[i] *= scale[r * run % dim + i];
      turn(row, run);
    }
  });
  return out;
}

}  // namespace headroom::engine
