// Products of f32 as six of bf16 on tensor cores, called directly: whether ops take them is up to the GPU and a switch.
#include "engine/cuda/split_product.h"

#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

#include "engine/ops/concat/concat.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/elementwise/unary.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/sum/sum.h"
#include "engine/rng.h"
#include "engine/transfer.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"

namespace {

using namespace headroom;
using engine::Device;
using engine::DType;
using engine::Shape;
using engine::Tensor;
using engine::cuda::blas_product;
using engine::cuda::BlasEpilogue;
using engine::cuda::BlasOperands;
using engine::cuda::BlasProduct;

constexpr Device cuda{Device::Kind::cuda, 0};

Tensor random(const Shape& shape, uint64_t seed) {
  return engine::random_uniform(shape, -1, 1, engine::RngKey{seed, 0});
}
Tensor normal(const Shape& shape, uint64_t seed) { return engine::random_normal(shape, 0, 1, engine::RngKey{seed, 0}); }

using Multiply = void (*)(const BlasProduct&, const BlasOperands&);

/// op(a) (m, k) · op(b) (k, n) on the GPU.
Tensor product(Multiply multiply, const Tensor& a, const Tensor& b, bool transpose_a = false,
               bool transpose_b = false) {
  const int64_t m = a.dim(transpose_a ? 1 : 0), k = a.dim(transpose_a ? 0 : 1), n = b.dim(transpose_b ? 0 : 1);
  const Tensor there_a = a.to(cuda), there_b = b.to(cuda), y = Tensor::empty({m, n}, DType::f32, cuda);
  multiply(blas_product(DType::f32, m, n, k, transpose_a, transpose_b),
           {there_a.raw(), there_b.raw(), y.mutable_raw()});
  return y.to(engine::cpu);
}

/// Root of the mean square of y's errors, each in units of its Σ|a||b|.
double error_of_sums(const Tensor& y, const Tensor& a, const Tensor& b) {
  const auto exact = engine::matmul(a.to(DType::f64), b.to(DType::f64)).to_vector<double>();
  const auto sizes = engine::matmul(engine::abs(a.to(DType::f64)), engine::abs(b.to(DType::f64))).to_vector<double>();
  const auto got = y.to_vector<float>();
  double squares = 0;
  for (size_t i = 0; i < got.size(); ++i) squares += std::pow((got[i] - exact[i]) / sizes[i], 2);
  return std::sqrt(squares / static_cast<double>(got.size()));
}

}  // namespace

TEST_CASE("a split product of f32 takes any layout, stack, epilogue and place", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  constexpr int64_t m = 131, n = 37;
  for (const int64_t k : {45, 520})  // 520: in two parts
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true}) {
        CAPTURE(k, transpose_a, transpose_b);
        const int64_t row_a = (transpose_a ? m : k) + 3, row_b = (transpose_b ? k : n) + (k == 45 ? 1 : 0),
                      row_y = n + 2;
        const Tensor a = random({k == 45 ? 2 : 1, transpose_a ? k : m, row_a}, 1),
                     b = random({transpose_b ? n : k, row_b}, 2), bias = random({n}, 3),
                     old = random({a.dim(0), m, row_y}, 4);
        BlasProduct p = blas_product(DType::f32, m, n, k, transpose_a, transpose_b);
        p.batch = a.dim(0), p.row_a = row_a, p.row_b = row_b, p.row_y = row_y;
        p.step_a = a.dim(1) * row_a, p.step_b = 0, p.step_y = m * row_y;
        p.adds = true;
        p.epilogue = BlasEpilogue::bias;
        const Tensor there_a = a.to(cuda), there_b = b.to(cuda), there_bias = bias.to(cuda), y = old.to(cuda);
        engine::cuda::split_product(
            p, {there_a.raw(), there_b.raw(), y.mutable_raw(), there_bias.raw(), nullptr, y.raw()});
        const Tensor stored_a = a.slice(2, 0, row_a - 3), stored_b = b.slice(1, 0, transpose_b ? k : n);
        const Tensor want =
            engine::add(engine::matmul(stored_a, stored_b, transpose_a, transpose_b, old.slice(2, 0, n)), bias);
        CHECK(testing::relative_distance(y.slice(2, 0, n), want) < 1e-6);
        CHECK(testing::relative_distance(y.slice(2, n, row_y), old.slice(2, n, row_y)) == 0);  // the gaps between rows
        if (!transpose_a) continue;
        // As a layer's gradient: Σ over the rows of a beside the product.
        p = blas_product(DType::f32, m, n, k, true, transpose_b, BlasEpilogue::bias_grad);
        p.row_a = row_a, p.row_b = row_b;
        const Tensor sums = Tensor::empty({m}, DType::f32, cuda), dw = Tensor::empty({m, n}, DType::f32, cuda);
        engine::cuda::split_product(p, {there_a.raw(), there_b.raw(), dw.mutable_raw(), nullptr, sums.mutable_raw()});
        CHECK(testing::relative_distance(sums, engine::sum(stored_a.slice(0, 0, 1).reshape({k, m}), {0}, false)) <
              1e-6);
        CHECK(testing::relative_distance(
                  dw, engine::matmul(stored_a.slice(0, 0, 1).reshape({k, m}), stored_b, true, transpose_b)) < 1e-6);
      }
}

TEST_CASE("a split product of f32 is no further from f64 than the library's", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  constexpr int64_t m = 24, n = 40, k = 512;
  const Tensor a = normal({m, k}, 1), b = normal({k, n}, 2);
  const auto power = [](const Shape& shape, uint64_t seed) {  // of two, from 2^-40 to 2^40
    return engine::exp(engine::mul(random(shape, seed), Tensor::full({1}, 40 * std::log(2.0))));
  };
  // Pairs of terms that all but cancel.
  const Tensor half = a.slice(1, 0, k / 2),
               near = engine::mul(half, engine::add(random({m, k / 2}, 5), Tensor::full({1}, 1e4)));
  const Tensor cancelling = engine::concat({half, engine::mul(near, Tensor::full({1}, -1e-4))}, 1);
  const Tensor twice = engine::concat({b.slice(0, 0, k / 2), b.slice(0, 0, k / 2)}, 0);
  const std::vector<std::tuple<const char*, Tensor, Tensor>> cases{
      {"normal", a, b},
      {"of one sign", engine::abs(a), engine::abs(b)},
      {"cancelling", cancelling, twice},
      {"of many sizes", engine::mul(a, power({m, k}, 3)), engine::mul(b, power({k, n}, 4))},
      {"denormal", engine::mul(a, Tensor::full({1}, 1e-41)), engine::mul(b, Tensor::full({1}, 1e6))}};
  for (const auto& [name, left, right] : cases) {
    INFO(name);
    const double split = error_of_sums(product(engine::cuda::split_product, left, right), left, right);
    CHECK(split <= error_of_sums(product(engine::cuda::blas_matmul, left, right), left, right));
    CHECK(split < 1.5 / (1 << 24));
  }
}

TEST_CASE("a split product of f32 has the infinities and NaN of a plain one", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  constexpr int64_t m = 6, n = 5, k = 40;
  std::vector<float> a(m * k, 1), b(k * n, 0.5f);
  a[0 * k + 3] = INFINITY;
  a[1 * k + 17] = -INFINITY;
  a[2 * k + 30] = NAN;
  for (size_t i = 0; i < 40; ++i) a[3 * k + i] = 3e38f;  // finite terms, an infinite sum
  a[4 * k + 5] = 3.4e38f;                                // rounded to bf16 it would be infinite
  b[3 * n + 4] = 0;                                      // inf · 0
  const Tensor left = Tensor::from<float>({m, k}, a), right = Tensor::from<float>({k, n}, b);
  const auto got = product(engine::cuda::split_product, left, right).to_vector<float>(),
             want = engine::matmul(left, right).to_vector<float>();
  for (size_t i = 0; i < got.size(); ++i) {
    INFO(i);
    CHECK((std::isnan(want[i]) ? std::isnan(got[i]) : got[i] == want[i]));
  }
}
