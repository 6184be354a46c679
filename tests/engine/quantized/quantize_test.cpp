// Encoders of blocks against exhaustive searches, and what they refuse.
#include "engine/quantized/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/context.h"
#include "engine/parallel.h"
#include "engine/rng.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace headroom::engine {
namespace {

using testing::error_of;

constexpr BlockFormat fitted[] = {BlockFormat::q4_k, BlockFormat::q5_k, BlockFormat::q6_k, BlockFormat::q5_0,
                                  BlockFormat::q5_1};

Tensor drawn(const Shape& shape, uint64_t seed) { return random_normal(shape, 0, 1, {seed, 0, 0}); }

/// Σ w (x - unpacked)² over a matrix's columns [begin, end) of row 0; no weights: 1.
double loss_of(const Tensor& x, const Tensor& y, const std::vector<float>& weights, int64_t begin, int64_t end) {
  double sum = 0;
  for (int64_t row = 0; row < x.dim(0); ++row)
    for (int64_t i = begin; i < end; ++i) {
      const double e = double{x.data<float>()[row * x.dim(1) + i]} - double{y.data<float>()[row * x.dim(1) + i]};
      sum += e * e * (weights.empty() ? 1 : double{weights[static_cast<size_t>(i)]});
    }
  return sum;
}

/// The least Σ e² of a run over a fine grid of steps (and minima): no encoder can have much less.
double searched(const float* x, int count, int low, int high, bool has_minimum) {
  const auto [least, most] = std::minmax_element(x, x + count);
  const double range = has_minimum ? *most - *least : 2 * std::max(double{*most}, -double{*least});
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 240; ++i)
    for (int j = 0; j < (has_minimum ? 60 : 1); ++j) {
      const double step = range / (high - low) * (0.6 + 0.0025 * i);
      const double minimum = has_minimum ? *least - step * low + range * (0.006 * j - 0.1) : 0;
      for (const double own : {step, -step}) {
        double loss = 0;
        for (int k = 0; k < count; ++k) {
          const double q = std::clamp(std::round((double{x[k]} - minimum) / own), double(low), double(high));
          loss += std::pow(own * q + minimum - double{x[k]}, 2);
        }
        best = std::min(best, loss);
        if (has_minimum) break;
      }
    }
  return best;
}

}  // namespace

TEST_CASE("a fitted block is nearly as near as an exhaustive search of each run's own step") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  struct Case {
    BlockFormat format;
    int run, low, high;
    bool has_minimum;
    double most;  ///< of the searched loss: K formats share their steps among runs
  };
  const Tensor x = drawn({3, 256}, 1);
  for (const auto& [format, run, low, high, has_minimum, most] :
       {Case{BlockFormat::q5_0, 32, -16, 15, false, 1.01}, Case{BlockFormat::q5_1, 32, 0, 31, true, 1.04},
        Case{BlockFormat::q4_k, 32, 0, 15, true, 1.08}, Case{BlockFormat::q5_k, 32, 0, 31, true, 1.3},
        Case{BlockFormat::q6_k, 16, -32, 31, false, 1.15}}) {
    INFO(traits_of(format).name);
    double best = 0;
    for (int64_t i = 0; i < x.numel(); i += run) best += searched(x.data<float>() + i, run, low, high, has_minimum);
    const double loss = loss_of(x, quantize(x, format).dequantize(), {}, 0, 256);
    CHECK(loss <= most * best);
    // A step that takes the largest number to the end of the range, as absmax rounding has, loses more.
    double plain = 0;
    for (int64_t i = 0; i < x.numel(); i += run) {
      const auto [least, largest] = std::minmax_element(x.data<float>() + i, x.data<float>() + i + run);
      const float end = -*least > *largest ? *least : *largest;
      const float step = has_minimum ? (*largest - *least) / static_cast<float>(high) : end / static_cast<float>(low);
      for (int64_t k = i; k < i + run; ++k) {
        const float from = has_minimum ? *least : 0, value = x.data<float>()[k];
        const float q = std::clamp(std::round((value - from) / step), float(low), float(high));
        plain += std::pow(double{step * q + from - value}, 2);
      }
    }
    CHECK(loss < 0.97 * plain);
  }
}

TEST_CASE("blocks that a format can say are written back exactly") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  Rng rng(5);
  for (const BlockFormat format : fitted) {
    INFO(traits_of(format).name);
    const BlockTraits& traits = traits_of(format);
    const int64_t blocks = 256 / traits.elements;
    const std::vector<int64_t> bits =
        random_integers({blocks * traits.bytes}, 0, 256, rng.take("x", blocks * traits.bytes)).to_vector<int64_t>();
    std::vector<uint8_t> raw(bits.begin(), bits.end());
    for (int64_t b = 0; b < blocks; ++b)
      for (const int place : traits.scale_places)
        if (const f16 scale(place == 0 ? 0.0123F : 0.0456F); place >= 0)
          std::memcpy(raw.data() + b * traits.bytes + place, &scale.bits, 2);
    Tensor x = QuantizedMatrix(format, 1, 256, Tensor::from({blocks * traits.bytes}, raw)).dequantize();
    const Tensor once = quantize(x, format).dequantize();
    CHECK(loss_of(x, once, {}, 0, 256) <= 1e-5 * loss_of(x, Tensor::zeros({1, 256}), {}, 0, 256));
    // What is written is a fixed point.
    const Tensor again = quantize(once, format).dequantize();
    CHECK(loss_of(once, again, {}, 0, 256) <= 1e-9 * loss_of(x, Tensor::zeros({1, 256}), {}, 0, 256));
  }
}

TEST_CASE("importance lowers the error that it weighs") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  const Tensor x = drawn({8, 512}, 2), importance = Tensor::zeros({512});
  std::vector<float> weights(512);
  for (size_t i = 0; i < 512; ++i) weights[i] = i % 7 == 0 ? 20.0F : 0.1F * static_cast<float>(i % 3);
  const Tensor given = Tensor::from({512}, weights);
  for (const BlockFormat format : fitted) {
    INFO(traits_of(format).name);
    const double plain = loss_of(x, quantize(x, format).dequantize(), weights, 0, 512);
    CHECK(loss_of(x, quantize(x, format, given).dequantize(), weights, 0, 512) < 0.9 * plain);
    // That of nothing, or the same of all, is none.
    CHECK(quantize(x, format, importance).blocks().to_vector<uint8_t>() ==
          quantize(x, format).blocks().to_vector<uint8_t>());
    CHECK(quantize(x, format, Tensor::full({512}, 1e30)).blocks().to_vector<uint8_t>() ==
          quantize(x, format).blocks().to_vector<uint8_t>());
  }
}

TEST_CASE("blocks of zeros, tiny, huge and equal numbers are fitted; what no scale holds is refused by its place") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  for (const BlockFormat format : fitted) {
    INFO(traits_of(format).name);
    const auto all = [&](double value) { return quantize(Tensor::full({2, 256}, value), format).dequantize(); };
    CHECK(all(0).to_vector<float>() == std::vector<float>(512, 0.0F));
    for (const double tiny : {1e-45, 1e-40, -1e-38, 1e-12})
      CHECK(all(tiny).to_vector<float>()[7] == Approx(0).margin(1e-8));
    for (const double value : {1e-4, -3.0, 2.5, 1000.0, -60000.0})
      CHECK(all(value).to_vector<float>()[300] == Approx(value).epsilon(0.02));
    for (const double huge : {1e9, -1e9, 1e38, 3.4e38})
      CHECK(error_of([&] { all(huge); }) ==
            "quantize: row 0 of f32 (2, 256) holds a number too large for a scale of 16 bits");
    for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL})
      CHECK(error_of([&] { all(bad); }).starts_with("quantize: element (0, 0) of f32 (2, 256) is "));
    Tensor mixed = drawn({1, 256}, 3).clone();
    mixed.mutable_data<float>()[9] = 1e-44F, mixed.mutable_data<float>()[200] = 50000;
    const Tensor read = quantize(mixed, format).dequantize();
    CHECK(read.data<float>()[200] == Approx(50000).epsilon(0.01));
    for (int64_t i = 0; i < 256; ++i) CHECK(std::isfinite(read.data<float>()[i]));
  }
}

TEST_CASE("a matrix is quantised to the same bytes on any number of threads") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  const Tensor x = drawn({70, 512}, 4);
  for (const BlockFormat format : fitted) {
    const auto bytes_on = [&](int threads) {
      const ThreadScope scope(threads);
      return quantize(x, format).blocks().to_vector<uint8_t>();
    };
    CHECK(bytes_on(1) == bytes_on(2));
  }
}

TEST_CASE("quantize() refuses rows, formats and importances that do not fit") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  const Tensor x = drawn({2, 256}, 5);
  const auto refusal = [&](const Tensor& importance) {
    return error_of([&] { quantize(x, BlockFormat::q4_k, importance); });
  };
  CHECK(refusal(Tensor::zeros({255})).starts_with("quantize: importance is f32 (255)"));
  CHECK(refusal(Tensor::full({256}, -1)) == "quantize: importance 0 is -1, expected a number not below 0");
  CHECK(refusal(Tensor::full({256}, std::nan(""))).starts_with("quantize: importance 0 is nan"));
  CHECK(error_of([&] {
          quantize(drawn({2, 224}, 6), BlockFormat::q6_k);
        }) == "quantize: expected a matrix of real numbers with rows of whole blocks of 256, got f32 (2, 224)");
  CHECK(error_of([&] { quantize(x, BlockFormat::iq4_xs); }) == "encode: iq4_xs is not written");
}

}  // namespace headroom::engine
