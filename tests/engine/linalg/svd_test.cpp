// The singular value decompositions, by their properties.
#include "engine/linalg/svd.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/context.h"
#include "engine/linalg/bidiagonal.h"
#include "engine/parallel.h"
#include "tests/engine/linalg/matrices.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace linalg = headroom::engine::linalg;
using headroom::engine::matmul;
using linalg::SvdMethod;
using namespace headroom::testing;

namespace {

/// Reconstruction, orthogonality and order, relative to the largest singular value.
void check_svd(const Tensor& a, SvdMethod method) {
  const auto [u, s, vt] = linalg::svd(a, method);
  CAPTURE(a.str(), static_cast<int>(method));
  const std::vector<double> values = s.to_vector<double>();
  const int64_t k = s.dim(-1);
  double largest = 0;
  for (double value : values) largest = std::max(largest, value);
  const double unit = a.dtype() == DType::f32 ? 0x1p-24 : 0x1p-53;
  const double allowed = 60 * unit * std::sqrt(static_cast<double>(a.dim(-1) + a.dim(-2)));
  CHECK(distance(matmul(scaled_columns(u, s), vt), a) <= allowed * largest);
  CHECK(defect(u) <= allowed);
  CHECK(defect(vt.transpose(-1, -2)) <= allowed);
  for (int64_t i = 0; i < s.numel(); ++i) {
    CHECK(values[static_cast<size_t>(i)] >= 0);
    if (i % k > 0) CHECK(values[static_cast<size_t>(i)] <= values[static_cast<size_t>(i - 1)]);
  }
}

}  // namespace

TEST_CASE("svd rebuilds its matrix from orthonormal factors and falling values") {
  for (const SvdMethod method : {SvdMethod::accurate, SvdMethod::fast}) {
    for (const Shape& shape : {Shape{1, 1},
                               {1, 9},
                               {9, 1},
                               {2, 2},
                               {8, 5},
                               {5, 8},
                               {64, 64},
                               {70, 69},
                               {150, 20},
                               {20, 150},
                               {130, 110},
                               {3, 2, 17, 11}}) {
      check_svd(random_matrix(shape, 1), method);
      check_svd(Tensor::zeros(shape, DType::f64), method);
      check_svd(matmul(random_matrix(shape.with(-1, 1), 2), random_matrix(shape.with(-2, 1), 3)), method);
      check_svd(Tensor::full(shape, 1e-200, DType::f64), method);
      check_svd(Tensor::full(shape, 1e+200, DType::f64), method);
    }
    check_svd(random_matrix({30, 20}, 4, DType::f32), method);
    const Tensor none = Tensor::zeros({0, 4, 3}, DType::f64);
    CHECK(linalg::svd(none, method).s.shape() == Shape{0, 3});
  }
}

TEST_CASE("svd of matrices whose parts deflate, cancel or differ by hundreds of decades") {
  using Element = std::function<double(int64_t i, int64_t j)>;
  const int64_t m = 180, n = 150;
  const Tensor noise = random_matrix({m, n}, 1);
  const auto drawn = [x = noise.to_vector<double>()](int64_t i, int64_t j) {
    return x[static_cast<size_t>(i * n + j)];
  };
  const std::map<std::string, Element> kinds{
      {"identity", [](int64_t i, int64_t j) { return i == j ? 1.0 : 0.0; }},
      {"one element", [](int64_t i, int64_t j) { return i == 90 && j == 75 ? 3.0 : 0.0; }},
      {"one row", [&](int64_t i, int64_t j) { return i == m - 1 ? drawn(i, j) : 0; }},
      {"two columns, repeated", [&](int64_t i, int64_t j) { return drawn(i, j % 2); }},
      {"two blocks, one of them tiny",
       [&](int64_t i, int64_t j) { return (i < 90) != (j < 75) ? 0
                                          : i < 90             ? 1
                                                               : 1e-20 * drawn(i, j); }},
      {"rows of 1 to 1e-300",
       [&](int64_t i, int64_t j) { return drawn(i, j) * std::pow(10, -300.0 * static_cast<double>(i) / m); }},
      {"columns of 1 to 1e-100",
       [&](int64_t i, int64_t j) { return drawn(i, j) * std::pow(10, -100.0 * static_cast<double>(j) / n); }},
      {"Hilbert", [](int64_t i, int64_t j) { return 1.0 / static_cast<double>(i + j + 1); }},
      {"upper triangle of ones", [](int64_t i, int64_t j) { return i <= j ? 1.0 : 0.0; }},
      {"signs", [&](int64_t i, int64_t j) { return std::copysign(1.0, drawn(i, j)); }},
      {"one in twenty", [&](int64_t i, int64_t j) { return (7 * i + 11 * j) % 20 == 0 ? drawn(i, j) : 0; }},
      {"subnormal", [&](int64_t i, int64_t j) { return 1e-310 * drawn(i, j); }}};
  for (const auto& [name, element] : kinds) {
    CAPTURE(name);
    std::vector<double> values;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) values.push_back(element(i, j));
    for (const SvdMethod method : {SvdMethod::accurate, SvdMethod::fast})
      check_svd(Tensor::from<double>({m, n}, values), method);
  }
}

TEST_CASE("values alone are those of the whole decomposition") {
  for (const SvdMethod method : {SvdMethod::accurate, SvdMethod::fast}) {
    for (const Shape& shape : {Shape{1, 1},
                               {1, 9},
                               {9, 1},
                               {8, 5},
                               {5, 8},
                               {64, 64},
                               {130, 110},
                               {150, 20},
                               {3, 2, 17, 11},
                               {4, 0},
                               {0, 4}}) {
      const Tensor low = matmul(random_matrix(shape.with(-1, 1), 2), random_matrix(shape.with(-2, 1), 3));
      for (const Tensor& a : {random_matrix(shape, 1), low, Tensor::zeros(shape, DType::f64),
                              Tensor::full(shape, 1e-200, DType::f64), Tensor::full(shape, 1e+200, DType::f64)}) {
        const Tensor whole = linalg::svd(a, method).s, alone = linalg::singular_values(a, method);
        const std::vector<double> values = whole.to_vector<double>();
        CAPTURE(a.str(), static_cast<int>(method));
        CHECK(alone.shape() == whole.shape());
        CHECK(distance(alone, whole) <= 1e-13 * (values.empty() ? 1 : values[0]));
      }
    }
    CHECK(linalg::singular_values(random_matrix({30, 20}, 4, DType::f32), method).dtype() == DType::f32);
  }
}

TEST_CASE("the values of known matrices") {
  for (const SvdMethod method : {SvdMethod::accurate, SvdMethod::fast}) {
    const std::vector<double> s =
        linalg::singular_values(Tensor::from<double>({2, 2}, {3, 0, 4, 5}), method).to_vector<double>();
    CHECK(s[0] == Approx(std::sqrt(45.0)).epsilon(1e-14));
    CHECK(s[1] == Approx(std::sqrt(5.0)).epsilon(1e-14));
  }
}

TEST_CASE("accurate keeps the small singular values of graded matrices") {
  const auto graded = [](int64_t n, double last) {
    std::vector<double> out(static_cast<size_t>(n));
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = std::pow(last, static_cast<double>(i) / static_cast<double>(n - 1));
    return Tensor::from<double>({n}, out);
  };
  for (const double last : {1e-12, 1e-30, 1e+12}) {
    for (const Shape& shape : {Shape{12, 12}, {40, 12}, {30, 30}}) {
      const int64_t n = shape[1];
      const Tensor columns = scaled_columns(random_matrix(shape, 31), graded(n, last));
      const Tensor rows = scaled_columns(random_matrix({n, shape[0]}, 32), graded(shape[0], last)).transpose(0, 1);
      CAPTURE(shape.str(), last);
      for (const Tensor& a : {columns, rows}) {
        const std::vector<double> wanted = reference_values(a);
        CHECK(worst_relative(linalg::singular_values(a).to_vector<double>(), wanted) < 1e-11);
        CHECK(worst_relative(linalg::svd(a).s.to_vector<double>(), wanted) < 1e-11);
        check_svd(a, SvdMethod::accurate);
      }
    }
  }
  const Tensor steep = scaled_columns(random_matrix({110, 110}, 33), graded(110, 1e-12));
  const std::vector<double> wanted = reference_values(steep);
  CHECK(worst_relative(linalg::singular_values(steep).to_vector<double>(), wanted) < 1e-11);
  CHECK(worst_relative(linalg::svd(steep).s.to_vector<double>(), wanted) < 1e-11);
  const Tensor random = random_matrix({30, 30}, 34);
  CHECK(worst_relative(linalg::singular_values(random, SvdMethod::fast).to_vector<double>(), reference_values(random)) <
        1e-12);
}

TEST_CASE("bidiagonal matrices whose squares underflow have values too") {
  // The reduction of a matrix of low rank leaves rows of noise, then of noise of noise, down to such numbers.
  const std::vector<double> normal = random_matrix({25}, 5).to_vector<double>();
  const std::vector<double> d(normal.begin(), normal.begin() + 13), e(normal.begin() + 13, normal.end());
  const std::vector<double> wanted = linalg::bidiagonal_values(d, e);
  for (const int exponent : {-1000, -700, 700, 1000}) {
    const auto scaled = [exponent](std::vector<double> x) {
      for (double& each : x) each = std::scalbn(each, exponent);
      return x;
    };
    const std::vector<double> values = linalg::bidiagonal_values(scaled(d), scaled(e));
    CHECK(worst_relative(values, scaled(wanted)) < 1e-14);
    CHECK(worst_relative(linalg::bidiagonal_svd(scaled(d), scaled(e)).s, scaled(wanted)) < 1e-13);
  }
}

TEST_CASE("accurate finds graded values that are known exactly") {
  // H·D and D·H with Sylvester's H (entries ±1, HᵀH = 16·I) and powers of two: the values are 4·D.
  const std::vector<int> exponents = {-17, -3, -40, 0, -31, -8, -22, -39, -12, -1, -35, -26, -5, -15, -29, -38};
  std::vector<double> columns(256), wanted(16);
  for (size_t i = 0; i < 256; ++i) {
    const int sign = __builtin_parity(static_cast<unsigned>(i / 16 & i % 16)) != 0 ? -1 : 1;
    columns[i] = std::scalbn(sign, exponents[i % 16]);
  }
  for (size_t i = 0; i < 16; ++i) wanted[i] = std::scalbn(4, exponents[i]);
  std::sort(wanted.rbegin(), wanted.rend());
  const Tensor a = Tensor::from<double>({16, 16}, columns);
  for (const Tensor& x : {a, a.transpose(0, 1)}) {
    CHECK(worst_relative(linalg::singular_values(x).to_vector<double>(), wanted) < 1e-14);
    CHECK(worst_relative(linalg::svd(x).s.to_vector<double>(), wanted) < 1e-14);
  }
}

TEST_CASE("large, clustered and known spectra: both methods agree with what was put in") {
  const Tensor u = linalg::svd(random_matrix({260, 130}, 35)).u, v = linalg::svd(random_matrix({130, 130}, 36)).u;
  std::vector<double> values(130);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i < 50 ? 3 : i < 90 ? 1 + 1e-13 * static_cast<double>(i) : 0;
  std::sort(values.rbegin(), values.rend());
  const Tensor s = Tensor::from<double>({130}, values);
  const Tensor a = matmul(scaled_columns(u, s), v, false, true);
  for (const SvdMethod method : {SvdMethod::accurate, SvdMethod::fast}) {
    CHECK(distance(linalg::singular_values(a, method), s) < 1e-13);
    check_svd(a, method);
  }
}

TEST_CASE("any number of threads gives the same bits") {
  for (const SvdMethod method : {SvdMethod::accurate, SvdMethod::fast}) {
    for (const Shape& shape : {Shape{150, 150}, {6, 20, 20}}) {
      const Tensor a = random_matrix(shape, 37);
      const auto bits = [&](int threads) {
        const headroom::engine::ThreadScope scope(threads);
        const auto [u, s, vt] = linalg::svd(a, method);
        std::vector<double> out = u.to_vector<double>();
        for (const Tensor& each : {s, vt, linalg::singular_values(a, method)})
          for (double x : each.to_vector<double>()) out.push_back(x);
        return out;
      };
      CHECK(bits(1) == bits(3));
    }
  }
}

TEST_CASE("what cannot be factored is refused by name") {
  Tensor a = Tensor::from<double>({2, 2}, {1, 2, NAN, 3});
  CHECK_THAT(error_of([&] { linalg::svd(a); }), contains("svd: a holds nan at (1, 0)"));
  CHECK_THAT(error_of([&] { linalg::svd(Tensor::full({2, 2}, INFINITY)); }), contains("svd: a holds inf at (0, 0)"));
  CHECK_THAT(error_of([&] { linalg::svd(Tensor::zeros({3})); }), contains("expected >= 2 axes"));
  CHECK_THAT(error_of([&] { linalg::svd(Tensor()); }), contains("svd: a is undefined"));
  CHECK_THAT(error_of([&] { linalg::svd(Tensor::zeros({2, 2}, DType::i64)); }), contains("not f32 or f64"));
  CHECK_THAT(error_of([&] { linalg::singular_values(a); }), contains("singular_values: a holds nan at (1, 0)"));
}
