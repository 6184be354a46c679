#include "engine/linalg/secular.h"

#include <cmath>
#include <limits>

#include "engine/linalg/vectors_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {
namespace {

/// f at one point: the parts of the poles up to and beyond the root, and their slopes in ω².
struct Value {
  double psi = 0, phi = 0, psi_slope = 0, phi_slope = 0;
  double f() const { return 1 + psi + phi; }
  double noise() const { return 8 * std::numeric_limits<double>::epsilon() * (1 + std::abs(psi) + std::abs(phi)); }
};

class Equation {
 public:
  Equation(const std::vector<double>& d, const std::vector<double>& z) : d_(d), z_(z) {}

  /// `split` poles belong to psi.
  Value at(size_t base, double offset, size_t split) const {
    double below[2], above[2];
    kernel::secular_sums(static_cast<int64_t>(split), d_.data(), z_.data(), d_[base], offset, below);
    kernel::secular_sums(static_cast<int64_t>(d_.size() - split), d_.data() + split, z_.data() + split, d_[base],
                         offset, above);
    return {below[0], above[0], below[1], above[1]};
  }

  /// d_j² - ω².
  double pole(size_t j, size_t base, double offset) const {
    return ((d_[j] - d_[base]) - offset) * (d_[j] + d_[base] + offset);
  }

  /// The offset from d_base of the root in (low, high), starting at `offset`; psi has `split` poles, and the two next
  /// to the split model the rest. `is_last`: the root lies beyond both.
  double root(size_t base, double low, double high, double offset, size_t split, bool is_last) const {
    for (int count = 0; count < 200; ++count) {
      const Value v = at(base, offset, split);
      const double f = v.f();
      if (std::abs(f) <= v.noise()) break;
      (f < 0 ? low : high) = offset;
      const double a_pole = pole(split - 1, base, offset), b_pole = pole(split, base, offset);
      double c = f - a_pole * v.psi_slope - b_pole * v.phi_slope;
      const double a = (a_pole + b_pole) * f - a_pole * b_pole * (v.psi_slope + v.phi_slope), b = a_pole * b_pole * f;
      if (is_last) c = std::abs(c);
      const double root = std::sqrt(std::abs(a * a - 4 * b * c));
      double eta = 0;
      if (is_last) eta = a >= 0 ? (a + root) / (2 * c) : 2 * b / (a - root);
      else eta = a <= 0 ? (a - root) / (2 * c) : 2 * b / (a + root);
      const double omega = d_[base] + offset;
      double next = offset + eta / (omega + std::sqrt(std::abs(omega * omega + eta)));
      if (!(next > low && next < high)) next = middle(low, high);
      if (next == offset || !(next > low && next < high)) break;
      offset = next;
    }
    return offset;
  }

 private:
  /// Between two offsets of one sign; geometric where they are far apart.
  static double middle(double low, double high) {
    if (low > 0 && high > 4 * low) return std::sqrt(low) * std::sqrt(high);
    if (high < 0 && low < 4 * high) return -std::sqrt(-low) * std::sqrt(-high);
    return low + (high - low) / 2;
  }

  const std::vector<double>&d_, &z_;
};

}  // namespace

SecularRoots solve_secular(const std::vector<double>& d, const std::vector<double>& z) {
  const size_t n = d.size();
  const Equation equation(d, z);
  SecularRoots out{std::vector<int64_t>(n), std::vector<double>(n)};
  if (n == 1) {
    out.offset[0] = std::abs(z[0]);
    return out;
  }
  double squares = 0;
  for (double each : z) squares += each * each;
  parallel_ranges(static_cast<int64_t>(n), 32, [&](int64_t begin, int64_t end) {
    for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end); ++k) {
      if (k + 1 == n) {
        const double most = squares / (d[k] + std::sqrt(d[k] * d[k] + squares)) * (1 + 1e-15);
        out.base[k] = static_cast<int64_t>(k);
        out.offset[k] = equation.root(k, 0, most, most / 2, k, true);
        continue;
      }
      const double half = (d[k + 1] - d[k]) / 2;
      const bool is_left = equation.at(k, half, k + 1).f() >= 0;
      out.base[k] = static_cast<int64_t>(is_left ? k : k + 1);
      out.offset[k] =
          is_left ? equation.root(k, 0, half, half, k + 1, false) : equation.root(k + 1, -half, 0, -half, k + 1, false);
    }
  });
  return out;
}

}  // namespace headroom::engine::linalg
