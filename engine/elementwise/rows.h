#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// The reference loops of an elementwise op, by dtype.
template <class Call>
typename Op<Call>::Rows elementwise_loops(void (*loop_f32)(Call&), void (*loop_f64)(Call&), void (*loop_bf16)(Call&),
                                          void (*loop_f16)(Call&)) {
  return {{.name = "loops", .dtypes = DType::f32, .run = loop_f32, .is_reference = true},
          {.name = "loops", .dtypes = DType::f64, .run = loop_f64, .is_reference = true},
          {.name = "loops", .dtypes = DType::bf16, .run = loop_bf16, .is_reference = true},
          {.name = "loops", .dtypes = DType::f16, .run = loop_f16, .is_reference = true}};
}

/// The usual CPU table of an elementwise op: f32 kernels of some levels, unless it is null a function that computes
/// bf16 by the same kernels, and the reference loops.
template <class Call>
typename Op<Call>::Rows elementwise_rows(IsaSet levels, void (*simd)(Call&), void (*widened)(Call&),
                                         const typename Op<Call>::Rows& loops) {
  typename Op<Call>::Rows rows{{.name = "simd", .dtypes = DType::f32, .run = simd, .levels = levels}};
  if (widened) rows.push_back({.name = "simd", .dtypes = DType::bf16, .run = widened, .levels = levels});
  rows.insert(rows.end(), loops.begin(), loops.end());
  return rows;
}

}  // namespace headroom::engine
