// SvdMethod::fast: the steps before and after the bidiagonal matrix.
#include "engine/linalg/bidiagonal.h"
#include "engine/linalg/householder.h"

namespace headroom::engine::linalg {
namespace {

/// a = Q·B·Pᵀ · 2^exponent, m ≥ n. A tall matrix is reduced to its R first: the reduction to B costs twice as much a
/// column as QR.
class Reduction {
 public:
  explicit Reduction(const View& a) : a_(a), exponent_(exponent_of(largest_of(a))) {
    scale(a, -exponent_);
    is_tall_ = 3 * a.rows > 5 * a.columns;
    if (is_tall_) {
      tau_ = factor_qr(a);
      triangle_ = form_r(a);
    }
    b_ = bidiagonalise(reduced());
  }

  const Bidiagonal& b() const { return b_; }
  /// B's left vectors (n, n) become a's (m, n).
  Dense left(const Dense& of_b) const {
    const int64_t n = a_.columns;
    Dense u(a_.rows, n);
    copy(of_b.view(), u.block(0, 0, n, n));
    apply_q(reduced(), b_.tau_q, u.block(0, 0, reduced().rows, n), false);
    if (is_tall_) apply_q(a_, tau_, u.view(), false);
    return u;
  }
  /// B's right vectors become a's, in place.
  void right(const View& v) const {
    const int64_t n = a_.columns;
    if (n > 1) apply_q(b_.p.block(1, 0, n - 1, n - 1), b_.tau_p, v.block(1, 0, n - 1, n), false);
  }
  void values(std::vector<double>& s) const { scale({s.data(), a_.columns, 1, a_.columns}, exponent_); }

 private:
  View reduced() const { return is_tall_ ? triangle_.view() : a_; }

  View a_;
  int exponent_;
  bool is_tall_;
  std::vector<double> tau_;
  Dense triangle_;
  Bidiagonal b_;
};

}  // namespace

Factors fast_svd(const View& a) {
  if (largest_of(a) == 0) {
    const auto n = static_cast<size_t>(a.columns);
    return {Dense::identity(a.rows, a.columns), std::vector<double>(n), Dense::identity(a.columns, a.columns)};
  }
  const Reduction reduction(a);
  Factors core = bidiagonal_svd(reduction.b().d, reduction.b().e);
  core.u = reduction.left(core.u);
  reduction.right(core.v.view());
  reduction.values(core.s);
  return core;
}

std::vector<double> fast_values(const View& a) {
  const Reduction reduction(a);
  std::vector<double> s = bidiagonal_values(reduction.b().d, reduction.b().e);
  reduction.values(s);
  return s;
}

Factors fast_right_vectors(const View& a) {
  const Reduction reduction(a);
  Factors core = bidiagonal_svd(reduction.b().d, reduction.b().e, false);
  reduction.right(core.v.view());
  reduction.values(core.s);
  return core;
}

}  // namespace headroom::engine::linalg
