#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// Cosines and sines of the angles by which tokens turn, made once for many calls.
struct RopeTable {
  /// (T, 3, D) or (B, T, 3, D): for each element of a row its cosine, its partner's sine in the turn, and the same for
  /// the turn back.
  Tensor angles;
  bool interleaved = false;  ///< pairs (2i, 2i + 1), else (i, i + D/2)

  /// Positions [begin, end) of a table (T, 3, D): a view.
  RopeTable rows(int64_t begin, int64_t end) const { return {angles.slice(0, begin, end), interleaved}; }
};

/// base^(-2i/dim), i = 0 … dim/2 - 1: f64 (dim/2). Throws Error if dim is odd or base is not positive.
Tensor rope_frequencies(int64_t dim, double base);

/// The table for positions i64 (T) or (B, T), with pair i turning by position · frequencies[i]: frequencies f64 (D/2).
/// Computes angles in f64 on the positions' device and rounds to `dtype` (f32 or f64) last: a GPU's f64 sines may
/// differ from the CPU's in the last bit. Throws Error if a dtype or shape does not fit.
RopeTable rope_table(const Tensor& positions, const Tensor& frequencies, bool interleaved, DType dtype);

/// Rotary position embedding (Su et al., "RoFormer", 2021): turns each pair (a, c) of the last axis by an angle that
/// grows with its token's position t:
///
///   θ_i = t · f_i,   a' = a cos θ_i - c sin θ_i,   c' = c cos θ_i + a sin θ_i,   i = 0 … D/2 - 1
///
/// x (B, T, H, D); the table's D and T are x's, its dtype statistic_dtype(x's). Throws Error if D is odd or the table
/// does not fit.
Tensor rope(const Tensor& x, const RopeTable& table);

/// dx: dy rotated by -θ. Written to `place` (of dy's shape, not overlapping it) if given in dy's dtype, else to a new
/// tensor.
Tensor rope_grad(const Tensor& dy, const RopeTable& table, const Tensor& place = {});

/// The table for x (B, T, H, D) with f_i = base^(-2i/D), and x turned by it; positions i64 (T) or (B, T).
RopeTable rope_table(const Tensor& x, const Tensor& positions, double base, bool interleaved);
Tensor rope(const Tensor& x, const Tensor& positions, double base, bool interleaved);

struct RopeCall {
  Tensor x, angles;  ///< (B, T, H, D), (T, 3, D) or (B, T, 3, D)
  bool interleaved;
  int64_t sine;  ///< its row in the table: 1, or 2 for the turn back
  Tensor y{};
  auto operands() { return std::array{real("x", x), statistic("table", angles)}; }
};
struct RopeTableCall {
  Tensor positions;    ///< i64, any shape
  Tensor frequencies;  ///< f64 (D/2), contiguous; undefined: from the base
  double base;
  bool interleaved;
  Tensor table{};  ///< (…, 3, D), f32 or f64
  auto operands() { return std::array{index("positions", positions)}; }
};
extern Op<RopeCall> rope_op, rope_grad_op;
extern Op<RopeTableCall> rope_table_op;

}  // namespace headroom::engine
