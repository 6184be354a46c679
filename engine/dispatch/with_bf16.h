#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// A CPU table plus a bf16 row, computed by f32 kernels of these levels.
template <class Call>
std::vector<Implementation<Call>> with_bf16(std::vector<Implementation<Call>> rows, IsaSet levels, void (*run)(Call&)) {
  rows.push_back({.name = "simd", .dtypes = DType::bf16, .run = run, .levels = levels});
  return rows;
}

}  // namespace headroom::engine
