// Products with matrices in blocks: 8-bit activations and the kernels for few rows, against the plain loops.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "autograd/ops.h"
#include "engine/context.h"
#include "engine/ops/quantized_linear/quantized_linear.h"
#include "engine/quantized/activations.h"
#include "engine/quantized/activations_kernel.h"
#include "engine/rng.h"
#include "tests/op_suite/quantized_data.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"

namespace headroom::engine {
namespace {

using autograd::op_suite::random_blocks;

constexpr std::array both{Activations::exact, Activations::int8};

Tensor random(const Shape& shape, uint64_t seed) { return random_normal(shape, 0, 1, {seed, 0, 0}); }

/// Columns: one block, and a number of blocks that is not a multiple of eight.
std::vector<int64_t> widths_of(BlockFormat format) {
  const int64_t elements = traits_of(format).elements;
  return elements == 256 ? std::vector<int64_t>{256, 1536} : std::vector<int64_t>{32, 96, 576, 1120};
}

/// The product, and for each of its elements Σ |x|·|w|, which its rounding errors are relative to.
struct Truth {
  std::vector<double> y, size;
};
Truth truth_of(const Tensor& x, const QuantizedMatrix& w, const Tensor& bias) {
  const ReferenceScope reference;
  const bool rounds = context().activations == Activations::int8 && traits_of(w.format()).has_integer_products;
  const Tensor used = rounds ? dequantize(quantize_activations(x)) : x, values = w.dequantize();
  Truth out;
  for (int64_t r = 0; r < x.dim(0); ++r)
    for (int64_t o = 0; o < w.rows(); ++o) {
      double y = bias.defined() ? bias.data<float>()[o] : 0, size = std::fabs(y);
      for (int64_t i = 0; i < w.cols(); ++i) {
        const double term =
            static_cast<double>(used.data<float>()[r * w.cols() + i]) * values.data<float>()[o * w.cols() + i];
        y += term;
        size += std::fabs(term);
      }
      out.y.push_back(y);
      out.size.push_back(size);
    }
  return out;
}

/// What a sum of d·q·a and m·a may lose more than Σ |w·a| says: q and m of a format without signs cancel.
double cancellation_of(BlockFormat format) {
  return format == BlockFormat::f16 || format == BlockFormat::bf16 ? 1 : 20;
}

void check(const Tensor& y, const Truth& want, double bound) {
  const std::vector<float> got = y.to_vector<float>();
  REQUIRE(got.size() == want.y.size());
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, testing::apart(got[i], want.y[i]) / (want.size[i] + 1e-30));
  CHECK(worst < bound);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.numel()) * 4) == 0;
}

}  // namespace

TEST_CASE("8-bit activations: the same bits at every level, no number moved by more than half a step") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  Tensor x = random({3, 320}, 1).clone();  // (rows, C)
  float* v = x.mutable_data<float>();
  std::fill(v + 32, v + 64, 0.0f);                                              // zeros
  for (int i = 64; i < 96; ++i) v[i] *= 1e-36f;                                 // count as zeros
  for (int i = 96; i < 128; ++i) v[i] *= 1e36f;                                 // large
  for (int i = 128; i < 160; ++i) v[i] = 0.5f * static_cast<float>(i % 3 - 1);  // ties and both ends
  v[160] = inf, v[200] = nan, v[230] = -inf;
  const QuantizedActivations fast = quantize_activations(x);
  const ReferenceScope reference;
  const QuantizedActivations plain = quantize_activations(x);
  CHECK(fast.blocks == 16);
  CHECK(fast.values.to_vector<int8_t>() == plain.values.to_vector<int8_t>());
  for (const auto& [a, b] : {std::pair{fast.scales, plain.scales}, {fast.sums, plain.sums}})
    for (int64_t i = 0; i < a.numel(); ++i) {
      const float one = a.data<float>()[i], other = b.data<float>()[i];
      CHECK((std::bit_cast<uint32_t>(one) == std::bit_cast<uint32_t>(other) || (std::isnan(one) && std::isnan(other))));
    }
  const Tensor back = dequantize(fast);  // (rows, C)
  const float* d = fast.scales.data<float>();
  CHECK((d[1] == 0 && d[2] == 0 && std::isnan(d[5]) && std::isnan(d[6]) && std::isnan(d[7])));
  for (int64_t i = 0; i < x.numel(); ++i) {
    const int64_t block = i / 320 * fast.blocks + i % 320 / 32;
    if (i >= 160 && i < 256) CHECK(std::isnan(back.data<float>()[i]));
    else if (i < 64 || i >= 96) CHECK(std::fabs(back.data<float>()[i] - v[i]) <= 0.5001f * d[block]);
    else CHECK(back.data<float>()[i] == 0);
  }
}

TEST_CASE("products of every format are those of the plain loops, exact and with 8-bit activations") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  for (const BlockFormat format : block_formats)
    for (const int64_t cols : widths_of(format))
      for (const int64_t out : {1, 7, 66}) {
        const QuantizedMatrix w = random_blocks("products", format, out, cols);
        const Tensor bias = random({out}, 2);
        for (const int64_t rows : {1, 2, 3, 5, 8, 9, 21})
          for (const Activations activations : both) {
            INFO(w.str() << ", " << rows << " rows, " << (activations == Activations::int8 ? "8-bit" : "exact"));
            const ActivationsScope scope(activations);
            const Tensor x = random({rows, cols}, 3);
            const bool has_bias = rows % 2 == 1;
            const double terms = std::sqrt(static_cast<double>(cols));
            check(quantized_linear(x, w, has_bias ? bias : Tensor()), truth_of(x, w, has_bias ? bias : Tensor()),
                  6e-8 * cancellation_of(format) * terms);
          }
      }
}

TEST_CASE("the reference loops round activations as the kernels do, f64 and what joins the tape never") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  const QuantizedMatrix w = random_blocks("scopes", BlockFormat::q4_1, 5, 64),
                        halves = random_blocks("scopes", BlockFormat::f16, 5, 64);
  const Tensor x = random({2, 64}, 4), rounded = dequantize(quantize_activations(x));
  const ReferenceScope reference;
  const Tensor exact = quantized_linear(x, w, {}), exact_halves = quantized_linear(x, halves, {});
  const Tensor exact_f64 = quantized_linear(x.to(DType::f64), w, {});
  const Tensor of_rounded = quantized_linear(rounded, w, {});
  const ActivationsScope scope(Activations::int8);
  CHECK(same_bits(quantized_linear(x, w, {}), of_rounded));
  CHECK_FALSE(same_bits(exact, of_rounded));
  CHECK(same_bits(quantized_linear(x, halves, {}), exact_halves));
  CHECK(quantized_linear(x.to(DType::f64), w, {}).to_vector<double>() == exact_f64.to_vector<double>());
  CHECK(same_bits(autograd::quantized_linear(autograd::Var(x, true), w).value(), exact));
  const autograd::NoGrad no_grad;
  CHECK(same_bits(autograd::quantized_linear(autograd::Var(x, true), w).value(), of_rounded));
}

TEST_CASE("the same bits on any number of threads, and a row's whatever the rows beside it") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  for (const BlockFormat format : block_formats)
    for (const Activations activations : both) {
      const ActivationsScope scope(activations);
      const QuantizedMatrix w = random_blocks("threads", format, 331, 512);
      INFO(w.str() << (activations == Activations::int8 ? ", 8-bit" : ", exact"));
      for (const int64_t rows : {1, 7, 40}) {
        const Tensor x = random({rows, 512}, 5);
        const auto on_threads = [&](int threads) {
          const ThreadScope thread_scope(threads);
          return quantized_linear(x, w, {});
        };
        const Tensor want = on_threads(1);
        for (const int threads : {2, 3, 5}) CHECK(same_bits(on_threads(threads), want));
        if (rows == 7)
          for (int64_t r = 0; r < rows; ++r)
            CHECK(same_bits(quantized_linear(x.slice(0, r, r + 1), w, {}), want.slice(0, r, r + 1)));
        if (rows == 40) CHECK(same_bits(quantized_linear(x.slice(0, 11, 24), w, {}), want.slice(0, 11, 24)));
      }
    }
}

TEST_CASE("scales of zero and scales and activations that are not finite") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  for (const BlockFormat format : block_formats) {
    const BlockTraits& traits = traits_of(format);
    if (traits.scale_places[0] < 0) continue;
    const int64_t cols = 2 * std::max<int64_t>(64, traits.elements);
    const QuantizedMatrix random_w = random_blocks("special", format, 6, cols);
    std::vector<uint8_t> bytes = random_w.blocks().to_vector<uint8_t>();
    const auto row = static_cast<size_t>(random_w.row_bytes());
    const auto put = [&](size_t r, uint16_t bits) {  // the first block's scales, d and m
      for (const int place : traits.scale_places)
        if (place >= 0) std::memcpy(bytes.data() + r * row + place, &bits, 2);
    };
    put(1, 0), put(2, 0x8000), put(3, 0x7c00), put(4, 0x7e00);  // 0, -0, infinity, NaN
    const QuantizedMatrix w(format, 6, cols, Tensor::from({static_cast<int64_t>(bytes.size())}, bytes));
    INFO(w.str());
    for (const int64_t rows : {1, 3, 12}) {
      const ActivationsScope scope(Activations::int8);
      const Tensor x = random({rows, cols}, 6).clone();  // (rows, C)
      if (rows == 12) x.mutable_data<float>()[5 * cols + 40] = std::numeric_limits<float>::quiet_NaN();
      const std::vector<float> y = quantized_linear(x, w, {}).to_vector<float>();
      const Truth want = truth_of(x, w, {});
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t o = 0; o < 6; ++o) {
          const auto i = static_cast<size_t>(r * 6 + o);
          INFO(r << ", " << o);
          const bool is_finite = o != 3 && o != 4 && !(rows == 12 && r == 5);
          CHECK(std::isfinite(y[i]) == is_finite);
          if (is_finite) CHECK(std::fabs(y[i] - want.y[i]) < 2e-5 * (want.size[i] + 1e-30));
        }
    }
  }
}

}  // namespace headroom::engine
