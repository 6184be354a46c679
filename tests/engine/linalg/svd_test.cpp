// The singular value decompositions, by their properties.
#include "engine/linalg/svd.h"

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

TEST_CASE("the values of known matrices") {
  for (const SvdMethod method : {SvdMethod::accurate, SvdMethod::fast}) {
    const std::vector<double> s =
        linalg::singular_values(Tensor::from<double>({2, 2}, {3, 0, 4, 5}), method).to_vector<double>();
    CHECK(s[0] == Approx(std::sqrt(45.0)).epsilon(1e-14));
    CHECK(s[1] == Approx(std::sqrt(5.0)).epsilon(1e-14));
  }
}

TEST_CASE("what cannot be factored is refused by name") {
  Tensor a = Tensor::from<double>({2, 2}, {1, 2, NAN, 3});
  CHECK_THAT(error_of([&] { linalg::svd(a); }), contains("svd: a holds nan at (1, 0)"));
  CHECK_THAT(error_of([&] { linalg::svd(Tensor::full({2, 2}, INFINITY)); }), contains("svd: a holds inf at (0, 0)"));
  CHECK_THAT(error_of([&] { linalg::svd(Tensor::zeros({3})); }), contains("two axes or more wanted"));
  CHECK_THAT(error_of([&] { linalg::svd(Tensor()); }), contains("svd: a is undefined"));
  CHECK_THAT(error_of([&] { linalg::svd(Tensor::zeros({2, 2}, DType::i64)); }), contains("f32 or f64 wanted"));
}
