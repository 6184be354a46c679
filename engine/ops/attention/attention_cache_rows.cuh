#pragma once
#include "engine/cuda/numbers.cuh"
#include "engine/ops/attention/attention_device.cuh"
#include "engine/ops/packed_rows/packed_rows.h"
#include "engine/ops/quantized_linear/quantized_linear_parts.cuh"

// Keys or values as the kernel for few queries reads them: Heads, and
//
//   visit(f)                   calls f(rows) for rows whose format the compiler knows, which have
//   rows.at(row, c)            number c of the row at rows.row(b, t, h)
//   rows.products(q, row, s)   s[r] = q_r · row, q (R, width) in shared memory, added from the first column on
namespace headroom::engine::cuda {

/// Numbers of a dtype.
template <class T>
struct NumberRows : Heads<const T> {
  using C = Compute<T>;
  template <class F>
  __device__ void visit(const F& f) const {
    f(*this);
  }
  __device__ static C at(const T* row, int c) { return load(row[c]); }
  template <int R>
  __device__ void products(const C* q, const T* row, C (&out)[R]) const {
#pragma unroll
    for (int r = 0; r < R; ++r) out[r] = 0;
    const auto add = [&](int d, C x) {
#pragma unroll
      for (int r = 0; r < R; ++r) out[r] += q[r * this->width + d] * x;
    };
    if (this->packed) {
      constexpr int pack = widest_pack<T>;
      for (int d = 0; d < this->width; d += pack) {
        const Numbers<T, pack> x = load_numbers<pack>(row + d, true);
#pragma unroll
        for (int e = 0; e < pack; ++e) add(d + e, x.at[e]);
      }
    } else {
      for (int d = 0; d < this->width; ++d) add(d, at(row, d));
    }
  }
};

/// Blocks of the format's struct F. `width` counts numbers, `packed` is of bytes.
template <class F>
struct BlockRows : Heads<const uint8_t> {
  __device__ static float at(const uint8_t* row, int c) { return block_value<F>(row, c); }
  template <int R>
  __device__ void products(const float* q, const uint8_t* row, float (&out)[R]) const {
    using Part = RowPart<F>;
    constexpr int part_width = Part::runs * part_run;
#pragma unroll
    for (int r = 0; r < R; ++r) out[r] = 0;
    const auto add = [&](int d, float x) {
#pragma unroll
      for (int r = 0; r < R; ++r) out[r] += q[r * width + d] * x;
    };
    int d = 0;
    for (; d + part_width <= width && (packed || Part::alignment <= 2); d += part_width) {
      const Part part = Part::of(row, d / part_width);
#pragma unroll
      for (int h = 0; h < Part::runs; ++h) {
        float x[part_run];
        part.values(h, x);
#pragma unroll
        for (int i = 0; i < part_run; ++i) add(d + h * part_run + i, x[i]);
      }
    }
    for (; d < width; ++d) add(d, at(row, d));
  }
};

/// Rows that a cache holds packed. The format is asked for within the kernel: one kernel serves every pair of formats.
struct FormatRows : Heads<const uint8_t> {
  BlockFormat format;
  explicit FormatRows(const PackedRows& rows) : Heads(heads_of<uint8_t>(rows.bytes)), format(rows.format) {
    width = static_cast<int>(rows.dim);
  }
  template <class Function>
  __device__ void visit(const Function& f) const {
    switch (format) {
      case BlockFormat::f16:
        return f(BlockRows<blocks::F16>{*this});
      case BlockFormat::bf16:
        return f(BlockRows<blocks::BF16>{*this});
      case BlockFormat::q8_0:
        return f(BlockRows<blocks::Q8_0>{*this});
      default:
        return f(BlockRows<blocks::Q4_0>{*this});
    }
  }
};

}  // namespace headroom::engine::cuda
