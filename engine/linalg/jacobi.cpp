#include "engine/linalg/jacobi.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/error.h"
#include "engine/linalg/bidiagonal.h"
#include "engine/linalg/cholesky.h"
#include "engine/linalg/householder.h"
#include "engine/linalg/last_rotations.h"
#include "engine/linalg/vectors_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {
namespace {

/// Below this part of the largest, a diagonal element of R counts as zero: squares of columns must not underflow.
constexpr double smallest_ratio = 1e-100;

/// Pairs of columns count as orthogonal when |xᵀy| is at most this part of ‖x‖·‖y‖.
double tolerance_of(int64_t rows) {
  return std::sqrt(static_cast<double>(rows)) * std::numeric_limits<double>::epsilon();
}

std::vector<double> squares_of(const View& x) {
  std::vector<double> out(static_cast<size_t>(x.columns));
  for (int64_t j = 0; j < x.columns; ++j) out[static_cast<size_t>(j)] = kernel::dot(x.rows, x.column(j), x.column(j));
  return out;
}

/// One cyclic sweep over all pairs of columns of x; v takes the same rotations. The longer column of a pair ends up
/// first. Returns the number of rotations.
int64_t sweep(const View& x, const View& v, double tolerance) {
  std::vector<double> squares = squares_of(x);
  int64_t rotations = 0;
  for (int64_t p = 0; p < x.columns; ++p) {
    for (int64_t q = p + 1; q < x.columns; ++q) {
      double &dp = squares[static_cast<size_t>(p)], &dq = squares[static_cast<size_t>(q)];
      const double g = kernel::dot(x.rows, x.column(p), x.column(q));
      if (std::abs(g) <= tolerance * std::sqrt(dp) * std::sqrt(dq)) continue;
      ++rotations;
      const double zeta = (dq - dp) / (2 * g);
      const double t = std::copysign(1 / (std::abs(zeta) + std::sqrt(zeta * zeta + 1)), zeta);
      const double c = 1 / std::sqrt(t * t + 1), s = c * t;
      const bool exchange = dq > dp;  // the same rotation, with the two columns exchanged
      kernel::rotate(x.rows, exchange ? s : c, exchange ? -c : s, x.column(p), x.column(q));
      kernel::rotate(v.rows, exchange ? s : c, exchange ? -c : s, v.column(p), v.column(q));
      const double smaller = std::min(dp, dq);
      dp = std::max(dp, dq) + std::abs(t * g);
      dq = smaller - std::abs(t * g);
      if (dq < 0.1 * smaller) dq = kernel::dot(x.rows, x.column(q), x.column(q));  // too many digits were lost
    }
  }
  return rotations;
}

/// The columns [i, i + m) and [j, j + n) of x side by side.
Dense gathered(const View& x, int64_t i, int64_t m, int64_t j, int64_t n) {
  Dense out = Dense::empty(x.rows, m + n);
  copy(x.block(0, i, x.rows, m), out.block(0, 0, x.rows, m));
  copy(x.block(0, j, x.rows, n), out.block(0, m, x.rows, n));
  return out;
}

/// Orthogonalises two blocks of columns. Their Gram matrix, with columns scaled to length one, gets a Cholesky factor,
/// and one sweep over the small R gives the rotation that x and v are multiplied with. Returns whether any pair needed
/// one.
bool rotate_blocks(const View& x, const View& v, int64_t i, int64_t m, int64_t j, int64_t n, double tolerance) {
  const Dense both = gathered(x, i, m, j, n);
  const Dense gram = product_of({both.view(), both.view(), true, false});  // (m + n, m + n)
  std::vector<double> length(static_cast<size_t>(m + n));
  for (int64_t p = 0; p < m + n; ++p) length[static_cast<size_t>(p)] = std::sqrt(gram(p, p));
  const Dense small = Dense::empty(m + n, m + n);
  bool is_orthogonal = true;
  for (int64_t q = 0; q < m + n; ++q) {
    for (int64_t p = 0; p < m + n; ++p) {
      small.view()(p, q) = gram(p, q) / length[static_cast<size_t>(p)] / length[static_cast<size_t>(q)];
      if (p != q && !(std::abs(small(p, q)) <= tolerance)) is_orthogonal = false;
    }
  }
  if (is_orthogonal) return false;
  const Dense turn = Dense::identity(m + n, m + n);
  double pivot = 0;
  if (factor_cholesky(small.view(), &pivot) >= 0) {
    // Nearly parallel columns: the Gram matrix says too little about them.
    const Dense turned = gathered(v, i, m, j, n);
    if (sweep(both.view(), turned.view(), tolerance) == 0) return false;
    for (const auto& [from, to] : {std::pair(&both, &x), std::pair(&turned, &v)}) {
      copy(from->block(0, 0, to->rows, m), to->block(0, i, to->rows, m));
      copy(from->block(0, m, to->rows, n), to->block(0, j, to->rows, n));
    }
    return true;
  }
  // gram = D·L·Lᵀ·D: the columns of R = Lᵀ·D have the inner products of x's.
  const Dense r = Dense::copy_of(small.view(), true);
  for (int64_t q = 0; q < m + n; ++q)
    for (int64_t p = 0; p <= q; ++p) r.view()(p, q) *= length[static_cast<size_t>(q)];
  sweep(r.view(), turn.view(), tolerance);
  const Dense before = gathered(v, i, m, j, n);
  for (const auto& [from, to] : {std::pair(&both, &x), std::pair(&before, &v)}) {
    multiply({from->view(), turn.block(0, 0, m + n, m)}, to->block(0, i, to->rows, m));
    multiply({from->view(), turn.block(0, m, m + n, n)}, to->block(0, j, to->rows, n));
  }
  return true;
}

/// All pairs of blocks once, in the rounds of a tournament: the pairs of a round share no block and run in parallel.
/// With `wanted` (blocks, blocks) only those where it is not zero.
bool sweep_blocks(const View& x, const View& v, double tolerance, const Dense& wanted = {}) {
  const int64_t blocks = (x.columns + rotated_columns - 1) / rotated_columns, players = blocks + blocks % 2;
  std::vector<uint8_t> turned(static_cast<size_t>(players / 2));
  bool any = false;
  for (int64_t round = 0; round + 1 < players; ++round) {
    parallel_for(players / 2, [&](int64_t pair) {
      // The last player stays, the others go round.
      const int64_t around = players - 1, one = pair == 0 ? around : (round + pair) % around,
                    other = (round + around - pair) % around;
      const int64_t first = std::min(one, other), last = std::max(one, other);
      const int64_t i = first * rotated_columns, j = last * rotated_columns;
      turned[static_cast<size_t>(pair)] =
          j < x.columns && (wanted.rows() == 0 || wanted(first, last) != 0) &&
          rotate_blocks(x, v, i, rotated_columns, j, std::min(rotated_columns, x.columns - j), tolerance);
    });
    any = any || std::any_of(turned.begin(), turned.end(), [](uint8_t each) { return each != 0; });
  }
  return any;
}

/// x = t·v for a triangular t.
void multiply_triangular(const View& t, bool is_upper, const View& v, const View& x) {
  constexpr int64_t rows = 128;
  for (int64_t i = 0; i < t.rows; i += rows) {
    const int64_t m = std::min(rows, t.rows - i), from = is_upper ? i : 0, k = (is_upper ? t.columns : i + m) - from;
    multiply({t.block(i, from, m, k), v.block(from, 0, k, v.columns)}, x.block(i, 0, m, x.columns));
  }
}

/// Up to here results that were published keep their bits; the first are of whole decompositions, the second of values.
constexpr int64_t most_swept_columns = 128, most_swept_values = 576;
bool is_large_problem(int64_t columns, bool has_vectors) {
  return columns > (has_vectors ? most_swept_columns : most_swept_values);
}

/// Columns of the triangular x become orthogonal; v (n, n), where given, becomes the product of the rotations. Where
/// the columns' lengths are within 1e14, the first rotation is the fast SVD's: multiplying with a matrix that is
/// orthogonal up to rounding changes every singular value relatively little (Ostrowski), the product's own rounding
/// adds 2⁻¹⁰⁶ of the longest column, and Jacobi is left with the last digits. Steeper ones are nearly orthogonal
/// already.
void orthogonalise(const View& x, bool is_upper, Dense* v) {
  constexpr int64_t least_columns = 16;
  constexpr double steepest = 1e14;
  const int64_t n = x.columns;
  const bool is_large = is_large_problem(n, v != nullptr);
  const std::vector<double> squares = squares_of(x);
  const auto [shortest, longest] = std::minmax_element(squares.begin(), squares.end());
  if (n >= least_columns && std::sqrt(*longest) <= steepest * std::sqrt(*shortest)) {
    Dense first = fast_right_vectors(Dense::copy_of(x).view()).v;
    const Dense before = Dense::copy_of(x);
    if (is_large) multiply_triangular(before.view(), is_upper, first.view(), x);
    else multiply({before.view(), first.view()}, x);
    if (v) *v = std::move(first);
  } else if (v) {
    *v = Dense::identity(n, n);
  }
  const View turned = v ? v->view() : View{nullptr, 0, n, 0};
  const double tolerance = tolerance_of(x.rows);
  for (int count = 0; count < 60; ++count) {
    if (is_large) {
      LastRotations last(x, tolerance);
      if (last.is_empty() || (last.is_last() && !v)) return;  // a last step changes no column's length
      if (last.is_small()) last.apply(turned);
      else sweep_blocks(x, turned, tolerance, last.large_pairs());
      if (last.is_last()) return;
    } else if (!(n >= 3 * rotated_columns ? sweep_blocks(x, turned, tolerance) : sweep(x, turned, tolerance) > 0)) {
      return;
    }
  }
  fail("svd: one-sided Jacobi did not converge in 60 sweeps over a {} by {} matrix", x.rows, x.columns);
}

/// Rows by their largest element, falling: what QR with column pivoting needs to be accurate row by row (Cox & Higham,
/// "Stability of Householder QR factorization for weighted least squares problems", 1998).
std::vector<int64_t> rows_by_size(const View& a) {
  std::vector<double> largest(static_cast<size_t>(a.rows));
  for (int64_t j = 0; j < a.columns; ++j)
    for (int64_t i = 0; i < a.rows; ++i)
      largest[static_cast<size_t>(i)] = std::max(largest[static_cast<size_t>(i)], std::abs(a(i, j)));
  return falling_order(largest);
}

/// The preparation for Jacobi: sorts rows by size, then factors sorted·P = Q·R and R = L·Q₂ᵀ; L (r, r), for the rank r,
/// already has nearly orthogonal columns. A large R that is not graded needs no second factorisation: the fast SVD also
/// leaves its columns nearly orthogonal.
class Prepared {
 public:
  Prepared(const View& a, bool is_large) : order_(rows_by_size(a)), sorted_(Dense::empty(a.rows, a.columns)) {
    const int64_t m = a.rows, n = a.columns;
    exponent_ = std::ilogb(largest_of(a));
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < m; ++i) sorted_(i, j) = a(order_[static_cast<size_t>(i)], j);
    scale(sorted_.view(), -exponent_);
    first_ = factor_qr_pivoted(sorted_.view());
    const Dense full = form_r(sorted_.view());
    int64_t r = 0;
    while (r < n && std::abs(full(r, r)) > smallest_ratio * std::abs(full(0, 0))) ++r;
    is_upper_ = is_large && r == n && std::abs(full(n - 1, n - 1)) > least_graded * std::abs(full(0, 0));
    if (is_upper_) return;
    second_ = Dense::copy_of(full.block(0, 0, r, n), true);  // (n, r)
    tau_ = factor_qr(second_.view());
  }

  bool is_upper() const { return is_upper_; }
  /// L (r, r), or R.
  Dense triangle() const {
    return is_upper_ ? form_r(sorted_.view()) : Dense::copy_of(form_r(second_.view()).view(), true);
  }
  int exponent() const { return exponent_; }
  /// U = Π·Q·[X/Σ, I], V = P·Q₂·[rotations, I]: beyond the rank, the columns of Q and Q₂ complete the bases. What is
  /// given is used up.
  Dense left(const Dense& u) const {
    apply_q(sorted_.view(), first_.tau, u.view(), false);
    return with_rows_at(u, order_);
  }
  Dense right(const Dense& v) const {
    if (!is_upper_) apply_q(second_.view(), tau_, v.view(), false);
    return with_rows_at(v, first_.permutation);
  }

 private:
  /// R's last diagonal element in units of its first.
  static constexpr double least_graded = 1e-6;

  static Dense with_rows_at(const Dense& x, const std::vector<int64_t>& place) {
    Dense out = Dense::empty(x.rows(), x.columns());
    for (int64_t j = 0; j < x.columns(); ++j)
      for (int64_t i = 0; i < x.rows(); ++i) out(place[static_cast<size_t>(i)], j) = x(i, j);
    return out;
  }

  std::vector<int64_t> order_;
  Dense sorted_, second_;
  PivotedFactors first_;
  std::vector<double> tau_;
  int exponent_ = 0;
  bool is_upper_ = false;
};

std::vector<double> lengths_of(const View& x) {
  std::vector<double> out(static_cast<size_t>(x.columns));
  for (int64_t j = 0; j < x.columns; ++j) out[static_cast<size_t>(j)] = norm(x.rows, x.column(j));
  return out;
}

/// a·V with orthogonal columns, and V.
struct Rotated {
  Dense x, v;
};
/// The usual case of a large matrix, without any QR: the fast SVD's V, its product with a, and one last rotation.
/// Rounding a·V is relative to a's rows, so scaled rows cost no digits; a's columns are of about one length, so that no
/// scaling of them would make a much better conditioned (van der Sluis, "Condition numbers and equilibration of
/// matrices", 1969). None where they are not, or where more rotations are needed.
std::optional<Rotated> rotate_at_once(const View& a, bool has_vectors) {
  constexpr double most_uneven = 16, least_value = 1e-7;
  if (!is_large_problem(a.columns, has_vectors) || exponent_of(largest_of(a)) != 0) return {};
  const std::vector<double> lengths = lengths_of(a);
  const auto [shortest, longest] = std::minmax_element(lengths.begin(), lengths.end());
  if (*longest > most_uneven * *shortest) return {};
  Factors first = fast_right_vectors(Dense::copy_of(a).view());
  if (first.s.back() < least_value * first.s[0]) return {};
  Rotated out{product_of({a, first.v.view()}), std::move(first.v)};
  LastRotations last(out.x.view(), tolerance_of(a.rows));
  if (!last.is_last()) return {};
  if (has_vectors && !last.is_empty()) last.apply(out.v.view());
  return out;
}

/// u = X/Σ (m, n), s times a power of two and v (n, n) from x = a·V; where x and v are smaller, the rest is the
/// identity's.
Factors normalised(const Rotated& rotated, int64_t m, int64_t n, int exponent = 0) {
  const std::vector<double> lengths = lengths_of(rotated.x.view());
  const std::vector<int64_t> order = falling_order(lengths);
  Factors out{Dense::identity(m, n), std::vector<double>(static_cast<size_t>(n)), Dense::identity(n, n)};
  for (int64_t j = 0; j < rotated.x.columns(); ++j) {
    const int64_t from = order[static_cast<size_t>(j)];
    const double length = lengths[static_cast<size_t>(from)];
    out.s[static_cast<size_t>(j)] = std::scalbn(length, exponent);
    const double* const x = rotated.x.view().column(from);
    for (int64_t i = 0; i < rotated.x.rows(); ++i) out.u(i, j) = x[i] / length;
    std::copy_n(rotated.v.view().column(from), rotated.v.rows(), out.v.view().column(j));
  }
  return out;
}

}  // namespace

Factors jacobi_svd(const View& a) {
  const int64_t m = a.rows, n = a.columns;
  if (largest_of(a) == 0)
    return {Dense::identity(m, n), std::vector<double>(static_cast<size_t>(n)), Dense::identity(n, n)};
  if (const std::optional<Rotated> rotated = rotate_at_once(a, true)) return normalised(*rotated, m, n);
  const Prepared prepared(a, is_large_problem(n, true));
  Rotated rotated{prepared.triangle(), {}};
  orthogonalise(rotated.x.view(), prepared.is_upper(), &rotated.v);
  Factors out = normalised(rotated, m, n, prepared.exponent());
  return {prepared.left(out.u), std::move(out.s), prepared.right(out.v)};
}

std::vector<double> jacobi_values(const View& a) {
  std::vector<double> s(static_cast<size_t>(a.columns));
  if (largest_of(a) == 0) return s;
  if (const std::optional<Rotated> rotated = rotate_at_once(a, false)) {
    s = lengths_of(rotated->x.view());
    std::sort(s.rbegin(), s.rend());
    return s;
  }
  const Prepared prepared(a, is_large_problem(a.columns, false));
  const Dense x = prepared.triangle();
  orthogonalise(x.view(), prepared.is_upper(), nullptr);
  const std::vector<double> lengths = lengths_of(x.view());
  for (size_t j = 0; j < lengths.size(); ++j) s[j] = std::scalbn(lengths[j], prepared.exponent());
  std::sort(s.rbegin(), s.rend());
  return s;
}

}  // namespace headroom::engine::linalg
