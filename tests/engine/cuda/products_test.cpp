// Products on the GPU that the op suite does not reach: f64, TF32, quantised matrices against the CPU's bits.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "engine/context.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/linear/linear.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/quantized_linear/quantized_linear.h"
#include "engine/ops/rows/padded_rows.h"
#include "engine/profile.h"
#include "engine/rng.h"
#include "engine/transfer.h"
#include "tests/op_suite/quantized_data.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace {

using namespace headroom;
using engine::BlockFormat;
using engine::Device;
using engine::DType;
using engine::QuantizedMatrix;
using engine::Tensor;
using testing::error_of;

constexpr Device cuda{Device::Kind::cuda, 0};

Tensor random(const engine::Shape& shape, uint64_t seed, DType dtype = DType::f32) {
  return engine::random_uniform(shape, -1, 1, engine::RngKey{seed, 0}).to(dtype);
}

/// The largest difference, in units of the largest number.
double distance(const Tensor& got, const Tensor& want) {
  REQUIRE(got.shape() == want.shape());
  const auto a = got.to_vector<double>(), b = want.to_vector<double>();
  double worst = 0, scale = 1e-30;
  for (size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::isnan(a[i]) ? INFINITY : std::abs(a[i] - b[i]));
    scale = std::max(scale, std::abs(b[i]));
  }
  return worst / scale;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.to(engine::cpu).contiguous(), y = b.to(engine::cpu).contiguous();
  return x.shape() == y.shape() &&
         std::memcmp(x.raw(), y.raw(), static_cast<size_t>(x.numel() * engine::size_of(x.dtype()))) == 0;
}

}  // namespace

TEST_CASE("a layer in f64, whose bias the library cannot add", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const Tensor x = random({7, 13}, 1, DType::f64), w = random({5, 13}, 2, DType::f64),
               bias = random({5}, 3, DType::f64);
  const Tensor dy = random({7, 5}, 4, DType::f64);
  CHECK(distance(engine::linear(x.to(cuda), w.to(cuda), bias.to(cuda)), engine::linear(x, w, bias)) < 1e-14);
  const auto got = engine::linear_grad(dy.to(cuda), x.to(cuda), w.to(cuda), true, true, true, true);
  const auto want = engine::linear_grad(dy, x, w, true, true, true, true);
  CHECK(distance(got.dx, want.dx) < 1e-14);
  CHECK(distance(got.dweight, want.dweight) < 1e-14);
  CHECK(distance(got.dbias, want.dbias) < 1e-14);
}

TEST_CASE("a layer's gradients are the same bits whichever are asked for", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const Tensor x = random({33, 20}, 1).to(cuda), w = random({9, 20}, 2).to(cuda), dy = random({33, 9}, 3).to(cuda);
  const auto all = engine::linear_grad(dy, x, w, true, true, true, true);
  CHECK(same_bits(engine::linear_grad(dy, x, w, false, true, false, true).dweight, all.dweight));
  CHECK(same_bits(engine::linear_grad(dy, x, w, false, false, true, true).dbias, all.dbias));
}

TEST_CASE("a layer's gradients are written to their places, those of bf16 unrounded", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  for (const DType dtype : {DType::f32, DType::bf16}) {
    INFO(engine::name_of(dtype));
    const Tensor x = random({33, 20}, 1, dtype).to(cuda), w = random({9, 20}, 2, dtype).to(cuda),
                 dy = random({33, 9}, 3, dtype).to(cuda);
    const engine::LinearPlaces places{Tensor::empty({9, 20}, DType::f32, cuda), Tensor::empty({9}, DType::f32, cuda)};
    const auto got = engine::linear_grad(dy, x, w, false, true, true, true, places);
    CHECK(got.dweight.raw() == places.dweight.raw());
    CHECK(got.dbias.raw() == places.dbias.raw());
    const auto want = engine::linear_grad(dy, x, w, false, true, true, true);
    CHECK(want.dweight.dtype() == dtype);
    CHECK(same_bits(got.dweight.to(dtype), want.dweight));
    CHECK(same_bits(got.dbias.to(dtype), want.dbias));
    const auto exact =
        engine::linear_grad(dy.to(DType::f64), x.to(DType::f64), w.to(DType::f64), false, true, true, true);
    CHECK(distance(got.dweight, exact.dweight) < 1e-6);
    CHECK(distance(got.dbias, exact.dbias) < 1e-6);
    // One place for two gradients that are one product: neither is written there.
    const auto apart = engine::linear_grad(dy, x, w, false, true, true, true, {places.dweight, {}});
    CHECK(apart.dweight.raw() != places.dweight.raw());
    CHECK(same_bits(apart.dweight, want.dweight));
  }
}

TEST_CASE("logits of an odd width are padded rows, which products take as aligned ones", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const auto plain_products = [](const auto& run) {
    const engine::Profile profile(cuda);
    run();
    const auto ops = profile.ops();
    return std::count_if(ops.begin(), ops.end(),
                         [](const auto& op) { return op.name == std::string("plain product"); });
  };
  // Set for layers-without-alignments: unaligned rows are then refused.
  const char* const refused = std::getenv("HEADROOM_CUDA_REFUSES");
  const bool are_refused = refused && refused == std::string("alignments");
  for (const DType dtype : {DType::f32, DType::bf16}) {
    INFO(engine::name_of(dtype));
    const double bound = dtype == DType::f32 ? 1e-6 : 8e-3;
    const Tensor x = random({2, 33, 24}, 1, dtype).to(cuda), w = random({67, 24}, 2, dtype).to(cuda),
                 bias = random({67}, 3, dtype).to(cuda), added = random({2, 33, 24}, 5, dtype).to(cuda);
    Tensor y, y_packed;
    CHECK(plain_products([&] { y = engine::linear(x, w, bias, true); }) == 0);
    CHECK(plain_products([&] { y_packed = engine::linear(x, w, bias); }) == (are_refused ? 1 : 0));
    CHECK(y.row_stride() == (dtype == DType::f32 ? 68 : 72));
    CHECK(distance(y, y_packed) < bound);
    const Tensor dy = engine::padded_rows({2, 33, 67}, dtype, cuda), dy_packed = random({2, 33, 67}, 4, dtype).to(cuda);
    engine::copy_inplace(dy, dy_packed);
    engine::LinearGrad got, want;
    CHECK(plain_products([&] { got = engine::linear_grad(dy, x, w, true, true, true, true, {}, added); }) == 0);
    CHECK(plain_products([&] { want = engine::linear_grad(dy_packed, x, w, true, true, true, true, {}, added); }) ==
          (are_refused ? 2 : 0));
    CHECK(distance(got.dx, want.dx) < bound);
    CHECK(distance(got.dweight, want.dweight) < bound);
    CHECK(distance(got.dbias, want.dbias) < bound);
    CHECK(engine::linear(x.slice(1, 0, 1).slice(0, 0, 1), w, bias, true).is_contiguous());
    CHECK(engine::linear(x, w.slice(0, 0, 63), {}, true).is_contiguous());
  }
}

TEST_CASE("a product adds what it is given", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  for (const DType dtype : {DType::f32, DType::f64})
    for (const int64_t k : {7, 0}) {
      const Tensor a = random({2, 5, k}, 1, dtype), b = random({k, 6}, 2, dtype), added = random({2, 5, 6}, 3, dtype);
      const Tensor want = engine::matmul(a, b, false, false, added);
      CHECK(distance(want, engine::add(engine::matmul(a, b), added)) == 0);
      CHECK(distance(engine::matmul(a.to(cuda), b.to(cuda), false, false, added.to(cuda)), want) < 1e-6);
    }
  CHECK(error_of([&] {
          engine::matmul(random({5, 7}, 1), random({7, 6}, 2), false, false, random({6}, 3));
        }).find("matmul: added (6) does not fit y (5, 6)") != std::string::npos);
}

TEST_CASE("stacks of matrices are read where they lie", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const Tensor x = random({3, 4, 5, 6}, 1);  // as (B, T, H, d), heads to be the stack
  const auto product = [](const Tensor& of) {
    const Tensor heads = of.permute({0, 2, 1, 3});     // (B, H, T, d)
    return engine::matmul(heads, heads, false, true);  // (B, H, T, T)
  };
  CHECK(distance(product(x.to(cuda)), product(x)) < 1e-6);
  const Tensor columns = random({6, 8}, 2).slice(1, 2, 7);  // rows with a gap
  CHECK(distance(engine::matmul(x.to(cuda), columns.to(cuda)), engine::matmul(x, columns)) < 1e-6);
}

TEST_CASE("TF32 is off unless it is asked for", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const Tensor a = random({16, 64}, 1), b = random({64, 16}, 2), want = engine::matmul(a, b);
  CHECK(distance(engine::matmul(a.to(cuda), b.to(cuda)), want) < 1e-6);
  const engine::Tf32Scope scope;
  const double error = distance(engine::matmul(a.to(cuda), b.to(cuda)), want);
  CHECK(error < 2e-3);
  // cuBLASLt may, and need not, round the operands of so small a product.
  if (engine::cuda_status().starts_with("Emulated")) CHECK(error > 1e-5);
  CHECK(distance(engine::matmul(a, b), want) == 0);
}

TEST_CASE("quantised rows have the CPU's bits on the GPU", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const Tensor indices = Tensor::from<int64_t>({4}, {2, 0, 2, 1});
  for (const BlockFormat format : engine::block_formats) {
    INFO(engine::traits_of(format).name);
    const QuantizedMatrix w = autograd::op_suite::random_blocks("rows on CUDA", format, 3, 512);
    const Tensor got = engine::quantized_rows(w.to(cuda), indices.to(cuda), DType::f32);
    CHECK(same_bits(got, engine::quantized_rows(w, indices, DType::f32)));
    CHECK(same_bits(w.to(cuda).dequantize(), w.dequantize()));
  }
}

TEST_CASE("quantised products of few and of many rows agree with the CPU's", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  for (const BlockFormat format : engine::block_formats)
    for (const int64_t rows : {1, 3, 8, 9})
      for (const bool is_int8 : {false, true}) {
        INFO(engine::traits_of(format).name << ", " << rows << " rows, int8 " << is_int8);
        const engine::ActivationsScope scope(is_int8 ? engine::Activations::int8 : engine::Activations::exact);
        const QuantizedMatrix w = autograd::op_suite::random_blocks("products on CUDA", format, 71, 768);
        const Tensor x = random({rows, 768}, 1), bias = random({71}, 2);
        const Tensor want = engine::quantized_linear(x, w, bias);
        const QuantizedMatrix there = w.to(cuda);
        CHECK(distance(engine::quantized_linear(x.to(cuda), there, bias.to(cuda)), want) < 2e-6);
        // What begins where no word does: all rows but the first, and x one number further on.
        const Tensor shifted = random({rows * 768 + 1}, 3).slice(0, 1, rows * 768 + 1).reshape({rows, 768});
        const Tensor rest = engine::quantized_linear(shifted.contiguous(), w.rows_between(1, 71), {});
        const Tensor got = engine::quantized_linear(shifted.to(cuda), there.rows_between(1, 71), {});
        CHECK(distance(got, rest) < 2e-6);
      }
}

TEST_CASE("a product with 8-bit activations is NaN where a block of them is not finite", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const engine::ActivationsScope scope(engine::Activations::int8);
  std::vector<float> numbers(512, 0.5f);
  numbers[40] = -INFINITY;
  for (size_t i = 256; i < 288; ++i) numbers[i] = 1e-35f;  // a block that counts as zeros
  const Tensor x = Tensor::from<float>({2, 256}, numbers);
  for (const BlockFormat format : {BlockFormat::q8_0, BlockFormat::q4_0, BlockFormat::q4_k, BlockFormat::q6_k}) {
    const QuantizedMatrix w = autograd::op_suite::random_blocks("not finite", format, 3, 256);
    const auto y = engine::quantized_linear(x.to(cuda), w.to(cuda), {}).to_vector<float>();
    const auto want = engine::quantized_linear(x, w, {}).to_vector<float>();
    for (size_t o = 0; o < 3; ++o) {
      CHECK(std::isnan(y[o]));
      CHECK(std::abs(y[3 + o] - want[3 + o]) <= 1e-5f * std::abs(want[3 + o]) + 1e-4f);
    }
  }
}

TEST_CASE("a row that is not there is NaN on the GPU, and a matrix elsewhere is refused", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const QuantizedMatrix w = autograd::op_suite::random_blocks("bad rows", BlockFormat::q4_1, 2, 32);
  const Tensor indices = Tensor::from<int64_t>({3}, {1, 2, -1}).to(cuda);
  const auto rows = engine::quantized_rows(w.to(cuda), indices, DType::f32).to_vector<float>();
  CHECK(std::isfinite(rows[0]));
  CHECK(std::isnan(rows[32]));
  CHECK(std::isnan(rows[64]));
  const std::string error = error_of([&] { engine::quantized_linear(random({1, 32}, 1).to(cuda), w, {}); });
  CHECK(error.find("different devices") != std::string::npos);
  CHECK(error.find("q4_1 (2, 32) on cpu") != std::string::npos);
  CHECK_FALSE(error_of([&] { engine::quantized_rows(w, indices, DType::f32); }).empty());
}
