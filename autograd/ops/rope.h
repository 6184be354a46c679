#pragma once
#include "autograd/var.h"
#include "engine/ops/rope/rope.h"

namespace headroom::autograd {

/// Turns pairs of the last axis of x (B, T, H, D) by the angles of a table.
Var rope(const Var& x, const engine::RopeTable& table);
/// Rotates pairs of the last axis of x (B, T, H, D) by position · base^(-2i/D). positions i64 (T) or (B, T).
/// `interleaved`: pairs (2i, 2i+1); else halves (i, i + D/2). D even.
Var rope(const Var& x, const Tensor& positions, double base = 10000.0, bool interleaved = false);

}  // namespace headroom::autograd
