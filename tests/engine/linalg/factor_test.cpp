// QR, Cholesky, triangular solves, least squares and the symmetric eigenproblem, by their properties.
#include "engine/linalg/cholesky.h"
#include "engine/linalg/eigh.h"
#include "engine/linalg/least_squares.h"
#include "engine/linalg/qr.h"
#include "engine/linalg/triangular.h"
#include "engine/ops/concat/concat.h"
#include "tests/engine/linalg/matrices.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace linalg = headroom::engine::linalg;
using headroom::engine::matmul;
using namespace headroom::testing;

TEST_CASE("qr rebuilds its matrix from orthonormal columns and a triangle") {
  for (const Shape& shape :
       {Shape{5, 3}, {3, 5}, {1, 7}, {7, 1}, {1, 1}, {70, 70}, {130, 33}, {40, 90}, {3, 2, 20, 8}}) {
    const Tensor a = random_matrix(shape, 1);
    const auto [q, r] = linalg::qr(a);
    CAPTURE(shape.str());
    CHECK(distance(matmul(q, r), a) < 1e-13 * 20);
    CHECK(defect(q) < 1e-14 * 20);
    const std::vector<double> values = r.to_vector<double>();
    for (int64_t i = 0; i < r.numel(); ++i)
      if (i / r.dim(-1) % r.dim(-2) > i % r.dim(-1)) CHECK(values[static_cast<size_t>(i)] == 0);
  }
}

TEST_CASE("pivoted qr orders the diagonal of R and shows the rank") {
  for (const Shape& shape : {Shape{9, 4}, {4, 9}, {90, 70}, {2, 30, 30}}) {
    const Tensor low = matmul(random_matrix(shape.with(-1, 3), 2), random_matrix(shape.with(-2, 3), 3));
    for (const Tensor& a : {random_matrix(shape, 4), low}) {
      const auto [q, r, permutation] = linalg::qr_pivoted(a);
      CAPTURE(shape.str());
      CHECK(defect(q) < 1e-13);
      const std::vector<int64_t> from = permutation.to_vector<int64_t>();
      std::vector<double> permuted = a.to_vector<double>();
      const std::vector<double> original = permuted, diagonal = r.to_vector<double>();
      const int64_t n = shape[-1], m = shape[-2], k = std::min(m, n);
      for (int64_t i = 0; i < a.numel(); ++i)
        permuted[static_cast<size_t>(i)] =
            original[static_cast<size_t>(i - i % n + from[static_cast<size_t>(i / (m * n) * n + i % n)])];
      CHECK(distance(matmul(q, r), Tensor::from<double>(shape, permuted)) < 1e-12);
      for (int64_t j = 1; j < k; ++j)
        CHECK(std::abs(diagonal[static_cast<size_t>(j * n + j)]) <=
              std::abs(diagonal[static_cast<size_t>((j - 1) * n + j - 1)]) * (1 + 1e-10) + 1e-13);
      if (a.to_vector<double>() == low.to_vector<double>() && k > 3)
        CHECK(std::abs(diagonal[static_cast<size_t>(3 * n + 3)]) < 1e-12);
    }
  }
}

TEST_CASE("pivoted qr takes the longest column that is left, however steep its matrix") {
  for (const Shape& shape : {Shape{60, 50}, {50, 80}, {300, 270}, {270, 290}}) {
    // Rows that fall over thirty orders of magnitude: downdated norms lose all their digits again and again.
    std::vector<double> factors(static_cast<size_t>(shape[0]));
    for (size_t i = 0; i < factors.size(); ++i)
      factors[i] = std::pow(1e-30, static_cast<double>(i) / static_cast<double>(factors.size()));
    const Tensor scales = Tensor::from<double>({shape[0]}, factors), normal = random_matrix(shape, 9);
    const Tensor steep = scaled_columns(normal.transpose(0, 1), scales).transpose(0, 1);
    for (const Tensor& a : {normal, steep, headroom::engine::concat({normal, normal.slice(1, 0, 20)}, 1)}) {
      const auto [q, r, permutation] = linalg::qr_pivoted(a);
      CAPTURE(a.str());
      CHECK(defect(q) < 1e-13);
      const int64_t n = a.dim(1), k = r.dim(0);
      const std::vector<double> values = r.to_vector<double>(), original = a.to_vector<double>();
      const std::vector<int64_t> from = permutation.to_vector<int64_t>();
      std::vector<double> permuted(original.size());
      for (size_t i = 0; i < permuted.size(); ++i) permuted[i] = original[i - i % n + static_cast<size_t>(from[i % n])];
      CHECK(distance(matmul(q, r), Tensor::from<double>(a.shape(), permuted)) < 1e-12);
      const auto at = [&](int64_t i, int64_t j) { return values[static_cast<size_t>(i * n + j)]; };
      // Columns that are given twice leave rounding; rows that fall keep their own.
      const double rounding = n > shape[1] ? 1e-13 * std::abs(at(0, 0)) : 0;
      int64_t shorter = 0;
      for (int64_t j = 0; j < n; ++j) {
        double rest = 0;  // of column j below row i
        for (int64_t i = std::min(j, k - 1); i >= 0; --i) {
          rest = std::hypot(rest, at(i, j));
          if (std::abs(at(i, i)) < rest * (1 - 1e-6) - rounding) ++shorter;
        }
      }
      CHECK(shorter == 0);
    }
  }
}

TEST_CASE("cholesky rebuilds its matrix, and says where it is not positive definite") {
  for (const Shape& shape : {Shape{1, 1}, {5, 5}, {3, 60, 60}, {130, 130}}) {
    const Tensor x = random_matrix(shape, 5);
    const Tensor a = matmul(x, x, false, true);
    const Tensor l = linalg::cholesky(a);
    CHECK(distance(matmul(l, l, false, true), a) < 1e-11);
    const Tensor b = random_matrix(shape.with(-1, 3), 6);
    CHECK(distance(matmul(a, linalg::solve_spd(a, b)), b) < 1e-5);
  }
  const auto of = [](std::vector<double> values) { return Tensor::from<double>({2, 2}, values); };
  CHECK_THAT(error_of([&] {
               linalg::cholesky(of({1, 2, 2, 1}));
             }),
             contains("cholesky: not positive definite: the pivot of leading minor 2 of 2 is -3"));
  CHECK_THAT(error_of([&] { linalg::cholesky(of({1, 1, 1, 1})); }), contains("leading minor 2 of 2 is 0"));
  CHECK_THAT(error_of([&] { linalg::cholesky(of({0, 0, 0, 1})); }), contains("leading minor 1 of 2 is 0"));
  CHECK_THAT(error_of([&] {
               linalg::cholesky(of({1, 2, 3, 9}));
             }),
             contains("not symmetric: a[1, 0] = 3, a[0, 1] = 2"));
  CHECK_THAT(error_of([&] { linalg::cholesky(of({1, NAN, 0, 9})); }), contains("a holds nan at (0, 1)"));
}

TEST_CASE("triangular solves: both triangles, transposed or not") {
  for (int64_t n : {1, 7, 64, 150}) {
    const Tensor l =
        linalg::cholesky(matmul(random_matrix({2, n, n + 5}, 7), random_matrix({2, n, n + 5}, 7), false, true));
    const Tensor b = random_matrix({2, n, 3}, 8), upper = l.transpose(-1, -2).contiguous();
    using linalg::Triangle;
    CHECK(distance(matmul(l, linalg::solve_triangular(l, b)), b) < 1e-10);
    CHECK(distance(matmul(l, linalg::solve_triangular(l, b, {Triangle::lower, true}), true, false), b) < 1e-10);
    CHECK(distance(matmul(upper, linalg::solve_triangular(upper, b, {Triangle::upper})), b) < 1e-10);
    CHECK(distance(matmul(upper, linalg::solve_triangular(upper, b, {Triangle::upper, true}), true, false), b) < 1e-10);
  }
  const Tensor singular = Tensor::from<double>({2, 2}, {1, 0, 5, 0});
  CHECK_THAT(error_of([&] { linalg::solve_triangular(singular, singular); }),
             contains("a is singular: its diagonal is 0 at 1"));
}

TEST_CASE("least squares: normal equations hold, and of many solutions the shortest is given") {
  for (const Shape& shape : {Shape{20, 5}, {5, 20}, {2, 40, 40}}) {
    const Tensor a = random_matrix(shape, 9), b = random_matrix(shape.with(-1, 2), 10);
    const Tensor x = linalg::least_squares(a, b);
    const Tensor left = matmul(a, matmul(a, x), true, false), right = matmul(a, b, true, false);
    CHECK(distance(left, right) < 1e-10);
  }
  // Rank one: x must lie along (1, 2).
  const Tensor a = Tensor::from<double>({3, 2}, {1, 2, 2, 4, 3, 6}), b = Tensor::from<double>({3, 1}, {1, 2, 4});
  const std::vector<double> x = linalg::least_squares(a, b).to_vector<double>();
  CHECK(x[1] == Approx(2 * x[0]).epsilon(1e-12));
  CHECK(x[0] == Approx(17.0 / 14 / 5).epsilon(1e-12));
  CHECK_THAT(error_of([&] { linalg::least_squares(a, a.transpose(0, 1)); }),
             contains("least_squares: a f64 (3, 2) and b f64 (2, 3) do not fit"));
}

TEST_CASE("non-negative least squares meets the conditions of Karush, Kuhn and Tucker") {
  const Tensor a = random_matrix({4, 12, 8}, 11), b = random_matrix({4, 12, 3}, 12);
  const Tensor x = linalg::nnls(a, b);
  const std::vector<double> values = x.to_vector<double>();
  const std::vector<double> product = matmul(a, x).to_vector<double>(), wanted = b.to_vector<double>();
  std::vector<double> residual(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) residual[i] = wanted[i] - product[i];
  const std::vector<double> slope =
      matmul(a, Tensor::from<double>(b.shape(), residual), true, false).to_vector<double>();
  int zeros = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    CHECK(values[i] >= 0);
    CHECK(slope[i] <= 1e-10);
    CHECK(std::abs(slope[i] * values[i]) <= 1e-10);
    zeros += values[i] == 0;
  }
  CHECK(zeros > 0);
  CHECK(zeros < static_cast<int>(values.size()));
}

TEST_CASE("eigh rebuilds its matrix from ascending eigenvalues and orthonormal vectors") {
  for (const Shape& shape : {Shape{1, 1}, {2, 2}, {6, 6}, {2, 50, 50}, {120, 120}, {290, 290}}) {
    const Tensor x = random_matrix(shape, 13);
    const Tensor low = matmul(x.slice(-1, 0, std::max<int64_t>(1, shape[-1] / 3)),
                              x.slice(-1, 0, std::max<int64_t>(1, shape[-1] / 3)), false, true);
    for (const Tensor& a : {matmul(x, x, false, true), low, Tensor::zeros(shape, DType::f64)}) {
      const auto [values, vectors] = linalg::eigh(a);
      CAPTURE(shape.str());
      CHECK(defect(vectors) < 1e-12);
      CHECK(distance(matmul(scaled_columns(vectors, values), vectors, false, true), a) <
            1e-11 * static_cast<double>(shape[-1]));
      const std::vector<double> d = values.to_vector<double>();
      for (int64_t i = 0; i < values.numel(); ++i)
        if (i % shape[-1] > 0) CHECK(d[static_cast<size_t>(i)] >= d[static_cast<size_t>(i - 1)]);
    }
  }
  const std::vector<double> d =
      linalg::eigh(Tensor::from<double>({3, 3}, {2, -1, 0, -1, 2, -1, 0, -1, 2})).values.to_vector<double>();
  CHECK(d[0] == Approx(2 - std::sqrt(2)).epsilon(1e-14));
  CHECK(d[1] == Approx(2).epsilon(1e-14));
  CHECK(d[2] == Approx(2 + std::sqrt(2)).epsilon(1e-14));
}
