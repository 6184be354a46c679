#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/linalg/bidiagonal.h"
#include "engine/linalg/householder.h"
#include "engine/linalg/secular.h"
#include "engine/linalg/vectors_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {
namespace {

constexpr int64_t leaf_rows = 24;
/// Stands for a zero weight or pole: its square is still a normal number, and far below a matrix's rounding.
constexpr double tiny = 1e-150;

/// Rows [first, first + n) of a bidiagonal matrix, `extra` columns more, and the blocks of u and v that belong to it.
struct Part {
  int64_t first, n;
  int extra;
};

/// Joins two parts and the row between them: the singular values of an arrow, its vectors, and their product with the
/// vectors of the parts. Column 0 stands for the row between, the others for the parts' singular pairs.
class Merge {
 public:
  /// `least`: a part whose numbers are all below it counts as one of that size.
  Merge(const Part& part, int64_t n_left, std::vector<double>& d, const std::vector<double>& e, double least,
        const View& u, const View& v)
      : part_(part), n_left_(n_left), n_right_(part.n - n_left - 1), least_(least), d_(d), u_(u), v_(v) {
    const int64_t middle = part.first + n_left;
    alpha_ = d[static_cast<size_t>(middle)];
    beta_ = e[static_cast<size_t>(middle)];
  }

  void run() {
    make_arrow();
    deflate();
    const SecularRoots roots = solve_secular(poles_, weights_);
    multiply_back(roots);
  }

 private:
  enum Kind : uint8_t { left, right, both };

  int64_t middle() const { return n_left_; }
  /// The columns of u and v that pair j lives in: the left part's keep their place, the right part's come one later.
  int64_t column(int64_t j) const { return j <= n_left_ ? j - 1 : j; }

  /// z and d of the arrow; v's two null vectors are turned so that only one meets the row between.
  void make_arrow() {
    const int64_t n = part_.n;
    z_.resize(static_cast<size_t>(n));
    value_.resize(static_cast<size_t>(n));
    kind_.assign(static_cast<size_t>(n), both);
    for (int64_t j = 1; j < n; ++j) {
      const bool is_left = j <= n_left_;
      const auto i = static_cast<size_t>(j);
      z_[i] = is_left ? alpha_ * v_(n_left_, column(j)) : beta_ * v_(n_left_ + 1, column(j));
      value_[i] = d_[static_cast<size_t>(part_.first + column(j))];
      kind_[i] = is_left ? left : right;
    }
    const double from_left = alpha_ * v_(n_left_, n_left_), from_right = part_.extra ? beta_ * v_(n_left_ + 1, n) : 0;
    const double length = std::hypot(from_left, from_right);
    z_[0] = length;
    const double c = length > 0 ? from_left / length : 1, s = length > 0 ? from_right / length : 0;
    if (part_.extra) kernel::rotate(n + 1, c, -s, v_.column(n_left_), v_.column(n));
    else if (c < 0)
      for (int64_t i = 0; i < n; ++i) v_(i, n_left_) = -v_(i, n_left_);
  }

  /// Sets aside pairs that the row between does not touch, within rounding, and one of every two with equal values.
  void deflate() {
    const int64_t n = part_.n;
    double size = std::max({std::abs(alpha_), std::abs(beta_), least_});
    for (double each : value_) size = std::max(size, each);
    const double small = 8 * std::numeric_limits<double>::epsilon() * size;
    if (z_[0] <= small) z_[0] = std::max(small, tiny);
    std::vector<int64_t> order(static_cast<size_t>(n - 1));
    std::iota(order.begin(), order.end(), int64_t{1});
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      return value_[static_cast<size_t>(i)] < value_[static_cast<size_t>(j)];
    });
    kept_ = {0};
    for (int64_t j : order) {
      const auto i = static_cast<size_t>(j);
      if (std::abs(z_[i]) <= small) {
        dropped_.push_back(j);
        continue;
      }
      if (kept_.size() > 1 && value_[i] - value_[static_cast<size_t>(kept_.back())] <= small) {
        merge_equal(kept_.back(), j);
        dropped_.push_back(kept_.back());
        kept_.back() = j;
      } else {
        kept_.push_back(j);
      }
    }
    for (int64_t j : kept_) {
      poles_.push_back(value_[static_cast<size_t>(j)]);
      weights_.push_back(z_[static_cast<size_t>(j)]);
    }
    poles_[0] = 0;
    if (poles_.size() > 1) poles_[1] = std::max(poles_[1], std::max(small / 2, tiny));
  }

  /// Turns two pairs of one value so that `out` no longer meets the row between.
  void merge_equal(int64_t out, int64_t in) {
    double &z_out = z_[static_cast<size_t>(out)], &z_in = z_[static_cast<size_t>(in)];
    const double length = std::hypot(z_out, z_in), c = z_in / length, s = z_out / length;
    kernel::rotate(u_.rows, c, s, u_.column(column(out)), u_.column(column(in)));
    kernel::rotate(v_.rows, c, s, v_.column(column(out)), v_.column(column(in)));
    z_in = length;
    z_out = 0;
    Kind &kind_out = kind_[static_cast<size_t>(out)], &kind_in = kind_[static_cast<size_t>(in)];
    if (kind_out != kind_in) kind_out = kind_in = both;
  }

  /// The z for which the computed roots are exact (Gu & Eisenstat, 1995, eq. 3.3): vectors made with it are orthogonal.
  std::vector<double> exact_weights(const SecularRoots& roots) const {
    const auto k = static_cast<int64_t>(poles_.size());
    std::vector<double> out(poles_.size());
    parallel_for(k, 32, [&](int64_t i) {
      const double at = poles_[static_cast<size_t>(i)];
      // (ω_r² - d_i²), and what divides it: the poles in turn, d_i² itself left out.
      const auto above = [&](int64_t r) { return roots.gap(poles_, r, i) * (roots.value(poles_, r) + at); };
      const auto between = [&](int64_t j) {
        return (poles_[static_cast<size_t>(j)] - at) * (poles_[static_cast<size_t>(j)] + at);
      };
      double product = above(k - 1);
      for (int64_t r = 0; r < i; ++r) product *= above(r) / between(r);
      for (int64_t r = i; r + 1 < k; ++r) product *= above(r) / between(r + 1);
      out[static_cast<size_t>(i)] = std::copysign(std::sqrt(std::abs(product)), weights_[static_cast<size_t>(i)]);
    });
    return out;
  }

  /// The arrow's left (if they have rows) and right vectors; row j of the arrow is row place[j].
  void arrow_vectors(const SecularRoots& roots, const std::vector<int64_t>& place, const View& left_vectors,
                     const View& right_vectors) const {
    const auto k = static_cast<int64_t>(poles_.size());
    const std::vector<double> z = exact_weights(roots);
    parallel_ranges(k, 32, [&](int64_t begin, int64_t end) {
      std::vector<double> x(static_cast<size_t>(k)), y(static_cast<size_t>(k));
      for (int64_t r = begin; r < end; ++r) {
        const double omega = roots.value(poles_, r);
        for (int64_t j = 0; j < k; ++j) {
          const auto i = static_cast<size_t>(j);
          y[i] = -z[i] / (roots.gap(poles_, r, j) * (omega + poles_[i]));
        }
        const double y_length = norm(k, y.data());
        for (int64_t j = 0; j < k; ++j)
          right_vectors(place[static_cast<size_t>(j)], r) = y[static_cast<size_t>(j)] / y_length;
        if (left_vectors.rows == 0) continue;
        for (size_t i = 0; i < x.size(); ++i) x[i] = poles_[i] * y[i];
        x[0] = -1;
        const double x_length = norm(k, x.data());
        for (int64_t j = 0; j < k; ++j)
          left_vectors(place[static_cast<size_t>(j)], r) = x[static_cast<size_t>(j)] / x_length;
      }
    });
  }

  void multiply_back(const SecularRoots& roots) {
    const auto k = static_cast<int64_t>(kept_.size());
    const int64_t n = part_.n;
    // Row 0, then the left part's pairs, those of both, the right part's: each half of the rows of u and v meets one
    // run of them.
    std::vector<int64_t> place(static_cast<size_t>(k));
    int64_t counts[3] = {0, 0, 0};
    for (int64_t j = 1; j < k; ++j) ++counts[kind_[static_cast<size_t>(kept_[static_cast<size_t>(j)])]];
    int64_t next[3] = {1, 1 + counts[left] + counts[both], 1 + counts[left]};
    for (int64_t j = 1; j < k; ++j)
      place[static_cast<size_t>(j)] = next[kind_[static_cast<size_t>(kept_[static_cast<size_t>(j)])]]++;
    const bool has_left = u_.rows > 0;
    const Dense x = has_left ? Dense::empty(k, k) : Dense(), y = Dense::empty(k, k);
    arrow_vectors(roots, place, x.view(), y.view());

    const int64_t left_count = counts[left] + counts[both], right_first = 1 + counts[left],
                  right_count = k - right_first;
    const Dense new_u = has_left ? Dense::empty(n, n) : Dense(), new_v = Dense::empty(n + part_.extra, n);
    const Dense old = Dense::empty(std::max(n_left_ + 1, n_right_ + part_.extra), k);
    const auto gather = [&](const View& from, int64_t row, int64_t rows, Kind other) {
      for (int64_t j = 1; j < k; ++j) {
        const int64_t pair = kept_[static_cast<size_t>(j)];
        if (kind_[static_cast<size_t>(pair)] == other) continue;
        std::copy_n(from.column(column(pair)) + row, rows, old.view().column(place[static_cast<size_t>(j)]));
      }
    };
    if (has_left) {
      for (int64_t r = 0; r < k; ++r) new_u.view()(middle(), r) = x(0, r);
      gather(u_, 0, n_left_, right);
      multiply({old.block(0, 1, n_left_, left_count), x.block(1, 0, left_count, k)}, new_u.block(0, 0, n_left_, k));
      gather(u_, n_left_ + 1, n_right_, left);
      multiply({old.block(0, right_first, n_right_, right_count), x.block(right_first, 0, right_count, k)},
               new_u.block(n_left_ + 1, 0, n_right_, k));
    }
    // v's null vector of the left part (turned above) is pair 0's: it meets both halves.
    gather(v_, 0, n_left_ + 1, right);
    std::copy_n(v_.column(n_left_), n_left_ + 1, old.view().column(0));
    multiply({old.block(0, 0, n_left_ + 1, left_count + 1), y.block(0, 0, left_count + 1, k)},
             new_v.block(0, 0, n_left_ + 1, k));
    const int64_t below = n_right_ + part_.extra;
    gather(v_, n_left_ + 1, below, left);
    const View lower = new_v.block(n_left_ + 1, 0, below, k);
    multiply({old.block(0, right_first, below, right_count), y.block(right_first, 0, right_count, k)}, lower);
    kernel::add_outer(below, k, v_.column(n_left_) + n_left_ + 1, row_of(y, 0).data(), lower.data, lower.step);

    for (size_t j = 0; j < dropped_.size(); ++j) {
      const int64_t from = column(dropped_[j]), to = k + static_cast<int64_t>(j);
      if (has_left) std::copy_n(u_.column(from), n, new_u.view().column(to));
      std::copy_n(v_.column(from), n + part_.extra, new_v.view().column(to));
      d_[static_cast<size_t>(part_.first + to)] = value_[static_cast<size_t>(dropped_[j])];
    }
    for (int64_t r = 0; r < k; ++r) d_[static_cast<size_t>(part_.first + r)] = roots.value(poles_, r);
    copy(new_u.view(), u_);
    copy(new_v.view(), v_.block(0, 0, n + part_.extra, n));
  }

  static std::vector<double> row_of(const Dense& x, int64_t i) {
    std::vector<double> out(static_cast<size_t>(x.columns()));
    for (int64_t j = 0; j < x.columns(); ++j) out[static_cast<size_t>(j)] = x(i, j);
    return out;
  }

  Part part_;
  int64_t n_left_, n_right_;
  double least_;
  std::vector<double>& d_;
  View u_, v_;
  double alpha_ = 0, beta_ = 0;
  std::vector<double> z_, value_;
  std::vector<Kind> kind_;
  std::vector<int64_t> kept_, dropped_;
  std::vector<double> poles_, weights_;
};

void solve(const Part& part, std::vector<double>& d, std::vector<double>& e, double least, const View& u,
           const View& v) {
  const View own_u = u.rows > 0 ? u.block(part.first, part.first, part.n, part.n) : View{nullptr, 0, part.n, 0};
  const View own_v = v.block(part.first, part.first, part.n + part.extra, part.n + part.extra);
  if (part.n <= leaf_rows)
    return bidiagonal_qr(d.data() + part.first, e.data() + part.first, part.n, part.extra, own_u, own_v);
  const int64_t n_left = part.n / 2, n_right = part.n - n_left - 1;
  solve({part.first, n_left, 1}, d, e, least, u, v);
  solve({part.first + n_left + 1, n_right, part.extra}, d, e, least, u, v);
  Merge(part, n_left, d, e, least, own_u, own_v).run();
}

}  // namespace

Factors bidiagonal_svd(std::vector<double> d, std::vector<double> e, bool has_left) {
  const auto n = static_cast<int64_t>(d.size());
  const int64_t rows = has_left ? n : 0;  // of u
  const Dense u = Dense::identity(rows, n), v = Dense::identity(n, n);
  e.resize(d.size());
  // What is left of a matrix of low rank is rounding, then rounding of that, until squares are no numbers any more.
  double largest = 0;
  for (size_t i = 0; i < d.size(); ++i) largest = std::max({largest, std::abs(d[i]), std::abs(e[i])});
  solve({0, n, 0}, d, e, std::numeric_limits<double>::epsilon() * largest, u.view(), v.view());
  const std::vector<int64_t> order = falling_order(d);
  Factors out{Dense::empty(rows, n), std::vector<double>(d.size()), Dense::empty(n, n)};
  for (int64_t j = 0; j < n; ++j) {
    const int64_t from = order[static_cast<size_t>(j)];
    out.s[static_cast<size_t>(j)] = d[static_cast<size_t>(from)];
    std::copy_n(u.view().column(from), rows, out.u.view().column(j));
    std::copy_n(v.view().column(from), n, out.v.view().column(j));
  }
  return out;
}

std::vector<double> bidiagonal_values(std::vector<double> d, std::vector<double> e) {
  const auto n = static_cast<int64_t>(d.size());
  const View none{nullptr, 0, n, 0};
  bidiagonal_qr(d.data(), e.data(), n, 0, none, none);
  std::sort(d.rbegin(), d.rend());
  return d;
}

}  // namespace headroom::engine::linalg
