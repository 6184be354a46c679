#include "engine/ops/packed_rows/packed_rows.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/parallel.h"
#include "engine/quantized/dequantize_kernel.h"
#include "engine/quantized/pack_block.h"

namespace headroom::engine {
namespace {

constexpr int64_t rows_at_once = 64;

/// Rows to be packed, in f32.
Tensor numbers_of(const Tensor& x) {
  require(x.rank() >= 1 && is_floating(x.dtype()), "pack rows: expected rows of real numbers, got {}", x);
  return x.to(DType::f32);
}

void pack_on_host(PackRowsCall& c) {
  const int64_t dim = c.out.dim;
  const auto* from = c.x.data<float>();
  auto* to = c.out.bytes.mutable_data<uint8_t>();
  visit_format(c.out.format, [&](auto f) {
    using F = decltype(f);
    if constexpr (packs_blocks<F>)
      parallel_ranges(c.x.numel() / dim, rows_at_once, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin * dim / F::elements; b < end * dim / F::elements; ++b)
          if (!pack_block<F>(from + b * F::elements, to + b * F::bytes))
            fail("pack rows: a row holds NaN or a number too large for a scale of 16 bits");
      });
  });
}

void unpack_on_host(UnpackRowsCall& c) {
  const int64_t dim = c.rows.dim, bytes = c.rows.bytes.dim(-1), blocks = dim / traits_of(c.rows.format).elements;
  const auto* from = c.rows.bytes.data<uint8_t>();
  auto* to = c.out.mutable_data<float>();
  parallel_ranges(c.out.numel() / dim, rows_at_once, [&](int64_t begin, int64_t end) {
    kernel::dequantize_blocks(c.rows.format, from + begin * bytes, (end - begin) * blocks, to + begin * dim);
  });
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

void turn_on_host(TurnRowsCall& c) {
  const int64_t run = c.run, dim = c.x.dim(-1);
  const auto* from = c.x.data<float>();
  const float* scale = c.scales.data_or_null<float>();
  auto* to = c.out.mutable_data<float>();
  parallel_for(c.out.numel() / run, rows_at_once, [&](int64_t r) {
    float* row = to + r * run;
    for (int64_t i = 0; i < run; ++i) row[i] = from[r * run + i] * (scale ? scale[r * run % dim + i] : 1);
    turn(row, run);
  });
}

}  // namespace

Op<PackRowsCall> pack_rows_op{"pack_rows",
                              {{.name = "blocks", .dtypes = DType::f32, .run = pack_on_host, .is_reference = true}}};
Op<UnpackRowsCall> unpack_rows_op{"unpack_rows",
                                  {{.name = "blocks",
                                    .dtypes = DType::u8,
                                    .run = unpack_on_host,
                                    .levels = kernel::dequantize_blocks.levels(),
                                    .is_reference = true}}};
Op<TurnRowsCall> turn_rows_op{"turn_rows",
                              {{.name = "loops", .dtypes = DType::f32, .run = turn_on_host, .is_reference = true}}};

int64_t packed_bytes(BlockFormat format, int64_t dim) {
  const BlockTraits& traits = traits_of(format);
  require(std::find(packed_formats.begin(), packed_formats.end(), format) != packed_formats.end(),
          "pack rows: {} is not packed; known: f16, bf16, q8_0, q4_0", traits.name);
  require(dim >= 1 && dim % traits.elements == 0, "pack rows: rows of {} are no whole blocks of {} numbers of {}", dim,
          traits.elements, traits.name);
  return dim / traits.elements * traits.bytes;
}

PackedRows pack_rows(const Tensor& x, BlockFormat format) {
  PackRowsCall call{numbers_of(x), {{}, format, x.dim(-1)}};
  pack_rows_op.check(call);
  call.out.bytes = Tensor::empty(x.shape().with(x.rank() - 1, packed_bytes(format, x.dim(-1))), DType::u8,
                                 x.device());  // (..., bytes)
  if (x.numel() > 0) pack_rows_op.run(call);
  return call.out;
}

Tensor unpack_rows(const PackedRows& rows) {
  UnpackRowsCall call{rows};
  unpack_rows_op.check(call);
  const Tensor& bytes = rows.bytes;
  call.out = Tensor::empty(bytes.shape().with(bytes.rank() - 1, rows.dim), DType::f32, bytes.device());  // (..., d)
  if (bytes.numel() > 0) unpack_rows_op.run(call);
  return call.out;
}

Tensor turned_rows(const Tensor& x, BlockFormat format, const Tensor& scales) {
  if (traits_of(format).elements == 1) return x;
  TurnRowsCall call{numbers_of(x), scales};
  turn_rows_op.check(call);
  const int64_t dim = x.dim(-1);
  packed_bytes(format, dim);  // rows that no blocks fill are refused here, too
  require(!scales.defined() || scales.shape() == Shape{dim}, "turn rows: scales {} of rows {}", scales, x);
  call.run = dim & -dim;
  call.out = Tensor::empty(x.shape(), DType::f32, x.device());  // (..., d)
  if (x.numel() > 0) turn_rows_op.run(call);
  return call.out;
}

}  // namespace headroom::engine
