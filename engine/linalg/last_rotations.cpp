#include "engine/linalg/last_rotations.h"

#include <algorithm>
#include <cmath>

#include "engine/cpu/gemm.h"
#include "engine/linalg/vectors_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {
namespace {

int64_t rotated_blocks(int64_t n) { return (n + rotated_columns - 1) / rotated_columns; }

/// xᵀ·x on and above its diagonal.
Dense upper_gram(const View& x) {
  constexpr int64_t columns = 128;
  Dense out = Dense::empty(x.columns, x.columns);
  for (int64_t j = 0; j < x.columns; j += columns) {
    const int64_t n = std::min(columns, x.columns - j);
    multiply({x.block(0, 0, x.rows, j + n), x.block(0, j, x.rows, n), true, false}, out.block(0, j, j + n, n));
  }
  return out;
}

}  // namespace

LastRotations::LastRotations(const View& x, double tolerance)
    : x_(x),
      tolerance_(tolerance),
      gram_(upper_gram(x)),
      length_(static_cast<size_t>(x.columns)),
      size_(rotated_blocks(x.columns), rotated_blocks(x.columns)) {
  const int64_t n = x.columns, blocks = size_.columns();
  for (int64_t p = 0; p < n; ++p) length_[static_cast<size_t>(p)] = std::sqrt(gram_(p, p));
  parallel_ranges(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t q = begin * rotated_columns; q < std::min(n, end * rotated_columns); ++q) make_column(q);
  });
  for (int64_t j = 0; j < blocks; ++j)
    for (int64_t i = 0; i <= j; ++i) total_ += size_(i, j);
}

/// Column q of F above the diagonal, and its part of the blocks' sums of squares: what F_pq adds to the shorter column,
/// in units of its length.
void LastRotations::make_column(int64_t q) {
  const double own = length_[static_cast<size_t>(q)], dq = own * own;
  for (int64_t p = 0; p < q; ++p) {
    double& g = gram_(p, q);
    const double other = length_[static_cast<size_t>(p)], dp = other * other;
    if (std::abs(g) <= tolerance_ * own * other) {
      g = 0;
      continue;
    }
    const double zeta = (dq - dp) / (2 * g);
    const double t = std::copysign(1 / (std::abs(zeta) + std::sqrt(zeta * zeta + 1)), zeta);
    const double part = t * std::max(own / other, other / own);
    size_(p / rotated_columns, q / rotated_columns) += part * part;
    g = t;
  }
}

Dense LastRotations::large_pairs() const {
  const int64_t blocks = size_.columns();
  const double large = std::min(1e-12, total_ / static_cast<double>(blocks * blocks));
  Dense out(blocks, blocks);
  for (int64_t j = 0; j < blocks; ++j) {
    for (int64_t i = 0; i <= j; ++i) {
      if (size_(i, j) < large) continue;
      if (i < j) out(i, j) = 1;
      else out(i > 0 ? i - 1 : 0, i > 0 ? i : 1) = 1;
    }
  }
  return out;
}

void LastRotations::apply(const View& v) {
  const int64_t n = x_.columns;
  for (int64_t q = 0; q < n; ++q) {
    gram_(q, q) = 0;
    for (int64_t p = 0; p < q; ++p) gram_(q, p) = -gram_(p, q);
  }
  if (is_last()) {
    add_tiny(x_, length_);
    if (v.rows > 0) add_tiny(v, std::vector<double>(length_.size(), 1.0));
    return;
  }
  const Dense squares = product_of({gram_.view(), gram_.view()});
  for (int64_t q = 0; q < n; ++q) kernel::axpy(n, 0.5, squares.view().column(q), gram_.view().column(q));
  for (const View& each : {x_, v})
    if (each.rows > 0) multiply({Dense::copy_of(each).view(), gram_.view()}, each, true);
}

/// x += x·F for an F below 1e-7: what is added needs no more digits than f32 has. The columns of x are of these
/// lengths.
void LastRotations::add_tiny(const View& x, const std::vector<double>& length) const {
  const int64_t m = x.rows, n = x.columns;
  const Tensor narrow_x = Tensor::empty({n, m}, DType::f32), narrow_f = Tensor::empty({n, n}, DType::f32),
               sum = Tensor::empty({n, m}, DType::f32);
  auto *const to_x = narrow_x.mutable_data<float>(), *const to_f = narrow_f.mutable_data<float>(),
              *const added = sum.mutable_data<float>();
  for (int64_t q = 0; q < n; ++q) {
    const double scale = 1 / length[static_cast<size_t>(q)];
    const double *const column = x.column(q), *const angles = gram_.view().column(q);
    for (int64_t i = 0; i < m; ++i) to_x[q * m + i] = static_cast<float>(column[i] * scale);
    for (int64_t p = 0; p < n; ++p)
      to_f[q * n + p] = static_cast<float>(angles[p] * (length[static_cast<size_t>(p)] * scale));
  }
  gemm<float>({n, m, n, {to_f, n}, {to_x, m}, added, m});  // by rows: (x·F)ᵀ = Fᵀ·xᵀ
  for (int64_t q = 0; q < n; ++q) {
    const double size = length[static_cast<size_t>(q)];
    double* const column = x.column(q);
    for (int64_t i = 0; i < m; ++i) column[i] += size * static_cast<double>(added[q * m + i]);
  }
}

}  // namespace headroom::engine::linalg
