// What is made from the factorisations: products, truncation, inverses, roots, power iteration.
#include "engine/linalg/power_iteration.h"
#include "engine/linalg/spd.h"
#include "engine/linalg/svd.h"
#include "engine/linalg/svd_truncated.h"
#include "engine/optim/newton_schulz.h"
#include "tests/engine/linalg/matrices.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace linalg = headroom::engine::linalg;
using headroom::engine::matmul;
using namespace headroom::testing;

TEST_CASE("svd of a product without forming it") {
  for (const Shape& shape : {Shape{30, 4}, {4, 30}, {1, 1}, {3, 25, 8}}) {
    const Tensor a = random_matrix(shape, 1), b = random_matrix(shape.with(-2, 19), 2);
    const Tensor product = matmul(a, b, false, true);
    const auto [u, s, vt] = linalg::svd_of_product(a, b);
    CAPTURE(shape.str());
    CHECK(distance(matmul(scaled_columns(u, s), vt), product) < 1e-12);
    CHECK(defect(u) < 1e-13);
    CHECK(defect(vt.transpose(-1, -2)) < 1e-13);
    CHECK(distance(s, linalg::singular_values(product).slice(-1, 0, s.dim(-1))) < 1e-12);
    for (const auto method : {linalg::SvdMethod::accurate, linalg::SvdMethod::fast})
      CHECK(distance(s, linalg::singular_values_of_product(a, b, method)) < 1e-12);
  }
  CHECK_THAT(error_of([] {
               linalg::singular_values_of_product(Tensor::zeros({3, 2}), Tensor::zeros({3, 4}));
             }),
             contains("singular_values_of_product: a f32 (3, 2) and b f32 (3, 4) do not fit"));
  CHECK_THAT(error_of([] {
               linalg::svd_of_product(Tensor::zeros({3, 2}), Tensor::zeros({3, 4}));
             }),
             contains("svd_of_product: a f32 (3, 2) and b f32 (3, 4) do not fit"));
}

TEST_CASE("the truncated svd states its error") {
  const auto full = linalg::svd(random_matrix({2, 90, 60}, 3));
  std::vector<double> falling(120);
  for (size_t i = 0; i < falling.size(); ++i) falling[i] = std::pow(0.7, static_cast<double>(i % 60));
  const Tensor a = matmul(scaled_columns(full.u, Tensor::from<double>({2, 60}, falling)), full.vt);
  for (const int64_t rank : {1, 8, 55, 60}) {
    const auto [svd, frobenius, spectral] = linalg::svd_truncated(a, rank);
    CAPTURE(rank);
    CHECK(defect(svd.u) < 1e-12);
    CHECK(defect(svd.vt.transpose(-1, -2)) < 1e-12);
    const std::vector<double> all = a.to_vector<double>(),
                              kept = matmul(scaled_columns(svd.u, svd.s), svd.vt).to_vector<double>();
    std::vector<double> missed(all.size());
    for (size_t i = 0; i < all.size(); ++i) missed[i] = all[i] - kept[i];
    const std::vector<double> truth =
        linalg::singular_values(Tensor::from<double>(a.shape(), missed)).to_vector<double>();
    for (size_t i = 0; i < 2; ++i) {
      double squares = 0;
      for (size_t j = 0; j < 60; ++j) squares += truth[60 * i + j] * truth[60 * i + j];
      CHECK(frobenius.to_vector<double>()[i] == Approx(std::sqrt(squares)).epsilon(1e-6).margin(1e-13));
      CHECK(spectral.to_vector<double>()[i] >= truth[60 * i] * (1 - 1e-9) - 1e-14);
      // Beyond the best possible, σ_{r+1}, the estimate is loose by little where the sketch has its passes.
      const double best = rank < 60 ? falling[static_cast<size_t>(rank)] : 0;
      CHECK(truth[60 * i] <= 1.05 * best + 1e-13);
      CHECK(spectral.to_vector<double>()[i] <= 5 * best + 1e-13);
    }
    CHECK(distance(svd.s, Tensor::from<double>({2, 60}, falling).slice(-1, 0, rank)) < 1e-6);
  }
  CHECK_THAT(error_of([&] { linalg::svd_truncated(a, 61); }), contains("svd_truncated: rank 61: expected 1 to 60"));
  CHECK_THAT(error_of([&] { linalg::svd_truncated(a, 0); }), contains("rank 0: expected"));
}

TEST_CASE("the pseudo-inverse meets Penrose's four conditions") {
  const Tensor low = matmul(random_matrix({12, 4}, 4), random_matrix({4, 9}, 5));
  for (const Tensor& a :
       {random_matrix({12, 5}, 6), random_matrix({2, 5, 12}, 7), low, Tensor::zeros({3, 4}, DType::f64)}) {
    const Tensor p = linalg::pinv(a);
    const Tensor left = matmul(a, p), right = matmul(p, a);
    CHECK(distance(matmul(left, a), a) < 1e-12);
    CHECK(distance(matmul(right, p), p) < 1e-12);
    CHECK(distance(left, left.transpose(-1, -2)) < 1e-12);
    CHECK(distance(right, right.transpose(-1, -2)) < 1e-12);
  }
}

TEST_CASE("square roots of symmetric matrices and their inverses") {
  const Tensor x = random_matrix({2, 20, 30}, 8);
  const Tensor a = matmul(x, x, false, true);
  const Tensor root = linalg::sqrt_spd(a), inverse = linalg::inverse_sqrt_spd(a);
  CHECK(distance(matmul(root, root), a) < 1e-11);
  CHECK(distance(matmul(root, inverse), Tensor::from<double>({2, 20, 20}, [] {
                   std::vector<double> eye(800);
                   for (size_t i = 0; i < 40; ++i) eye[i / 20 * 400 + i % 20 * 21] = 1;
                   return eye;
                 }())) < 1e-11);
  const Tensor low = matmul(x.slice(-1, 0, 3), x.slice(-1, 0, 3), false, true);
  CHECK(distance(matmul(linalg::sqrt_spd(low), linalg::sqrt_spd(low)), low) < 1e-11);
  CHECK_THAT(error_of([&] { linalg::inverse_sqrt_spd(low); }), contains("not positive definite: an eigenvalue is"));
  const Tensor indefinite = Tensor::from<double>({2, 2}, {1, 2, 2, 1});
  CHECK_THAT(error_of([&] { linalg::sqrt_spd(indefinite); }),
             contains("sqrt_spd: not positive semidefinite: an eigenvalue is -1, the largest 3"));
}

TEST_CASE("power iteration finds the largest singular value and says how well") {
  const Tensor a = random_matrix({3, 15, 10}, 9);
  const auto found = linalg::power_iteration(a, {.most_iterations = 5000});
  CHECK(distance(found.sigma, linalg::singular_values(a).slice(-1, 0, 1).reshape({3})) < 1e-9);
  for (const double residual : found.residual.to_vector<double>()) CHECK(residual <= 1e-10);
  const auto early = linalg::power_iteration(a, {.most_iterations = 1});
  for (const double residual : early.residual.to_vector<double>()) CHECK(residual > 1e-3);
  CHECK(linalg::power_iteration(Tensor::zeros({2, 3}, DType::f64)).sigma.item() == 0);
  CHECK_THAT(error_of([&] { linalg::power_iteration(a, {.tolerance = 0}); }), contains("tolerance is 0"));
  CHECK_THAT(error_of([] { linalg::power_iteration(Tensor::zeros({0, 3})); }), contains("is empty"));
}

TEST_CASE("Newton and Schulz: nearly the orthogonal factor, by products") {
  for (const Shape& shape : {Shape{24, 24}, {6, 40}, {40, 6}, {1, 7}}) {
    CAPTURE(shape.str());
    const Tensor x = random_matrix(shape, 11);
    const Tensor y = linalg::newton_schulz(x);
    const linalg::SVD of_x = linalg::svd(x);
    // The same singular vectors: UᵀYV is diagonal, and its entries have left the spread of x's behind.
    const Tensor core = matmul(matmul(of_x.u, y, true, false), of_x.vt, false, true);
    const std::vector<double> c = core.to_vector<double>(), s = of_x.s.to_vector<double>();
    const int64_t k = core.dim(0);
    double frobenius = 0;
    for (const double value : s) frobenius += value * value;
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < k; ++j) {
        const double value = c[static_cast<size_t>(i * k + j)];
        if (i != j) CHECK(std::abs(value) < 1e-10);
        else if (s[static_cast<size_t>(i)] > 0.005 * std::sqrt(frobenius)) CHECK((value > 0.68 && value < 1.16));
      }
    CHECK(distance(linalg::newton_schulz(x.to(DType::f32)).to(DType::f64), y) < 2e-5);
  }
  CHECK(distance(linalg::newton_schulz(Tensor::zeros({3, 2}, DType::f64)), Tensor::zeros({3, 2}, DType::f64)) == 0);
  CHECK_THAT(error_of([] { linalg::newton_schulz(Tensor::zeros({3})); }), contains("expected a matrix, got f32 (3)"));
}
