// The f32 kernels of the elementwise functions against double, over wide ranges and at the edges. Registered once per
// instruction set.
#include <cmath>
#include <functional>
#include <limits>

#include "engine/ops/elementwise/unary.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::engine;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(),
                not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Values evenly spread over [low, high].
Tensor spread(double low, double high, int64_t n = 200001) {
  std::vector<float> values(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    values[static_cast<size_t>(i)] =
        static_cast<float>(low + (high - low) * static_cast<double>(i) / static_cast<double>(n - 1));
  return Tensor::from<float>({n}, values);
}

/// Every f32 of a stride through the bit patterns between two positive values: all magnitudes alike.
Tensor spread_bits(float low, float high) {
  std::vector<float> values;
  for (uint32_t bits = std::bit_cast<uint32_t>(low); bits <= std::bit_cast<uint32_t>(high); bits += 9973)
    values.push_back(std::bit_cast<float>(bits));
  return Tensor::from<float>({static_cast<int64_t>(values.size())}, values);
}

/// Largest error in units of the last place of the f32 result; absolute errors below the smallest normal count as
/// there.
double worst_ulps(Tensor (*f)(const Tensor&), const Tensor& x, const std::function<double(double)>& exact) {
  const std::vector<float> in = x.to_vector<float>(), out = f(x).to_vector<float>();
  double worst = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    const double want = exact(static_cast<double>(in[i]));
    const double magnitude = std::max(std::fabs(want), 0x1p-126);
    const double ulp = std::ldexp(1.0, static_cast<int>(std::floor(std::log2(magnitude))) - 23);
    const double error = std::fabs(static_cast<double>(out[i]) - want) / ulp;
    worst = std::isnan(error) ? infinity : std::max(worst, error);
  }
  return worst;
}

double worst_absolute(Tensor (*f)(const Tensor&), const Tensor& x, const std::function<double(double)>& exact) {
  const std::vector<float> in = x.to_vector<float>(), out = f(x).to_vector<float>();
  double worst = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    const double error = std::fabs(static_cast<double>(out[i]) - exact(static_cast<double>(in[i])));
    worst = std::isnan(error) ? infinity : std::max(worst, error);
  }
  return worst;
}

float at(Tensor (*f)(const Tensor&), float x) { return static_cast<float>(f(Tensor::from<float>({1}, {x})).item()); }

}  // namespace

TEST_CASE("exp") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  const auto exact = [](double x) { return std::exp(x); };
  CHECK(worst_ulps(engine::exp, spread(-87, 88.7), exact) < 3);
  CHECK(worst_ulps(engine::exp, spread(-104, -87), exact) < 3);  // subnormal results
  CHECK(worst_ulps(engine::exp, spread_bits(1e-30f, 1), exact) < 3);
  CHECK(at(engine::exp, 0) == 1);
  CHECK(at(engine::exp, 89) == infinity);
  CHECK(at(engine::exp, infinity) == infinity);
  CHECK(at(engine::exp, -110) == 0);
  CHECK(at(engine::exp, -infinity) == 0);
  CHECK(std::isnan(at(engine::exp, not_a_number)));
}

TEST_CASE("log") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  const auto exact = [](double x) { return std::log(x); };
  CHECK(worst_ulps(engine::log, spread_bits(1.4e-45f, 3e38f), exact) < 3);
  CHECK(worst_ulps(engine::log, spread(0.5, 2), exact) < 3);
  CHECK(at(engine::log, 1) == 0);
  CHECK(at(engine::log, 0) == -infinity);
  CHECK(std::isnan(at(engine::log, -1)));
  CHECK(at(engine::log, infinity) == infinity);
  CHECK(std::isnan(at(engine::log, not_a_number)));
}

TEST_CASE("tanh") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  const auto exact = [](double x) { return std::tanh(x); };
  CHECK(worst_ulps(engine::tanh, spread(-10, 10), exact) < 4);
  CHECK(worst_ulps(engine::tanh, spread_bits(1e-30f, 1), exact) < 4);
  CHECK(at(engine::tanh, -infinity) == -1);
  CHECK(at(engine::tanh, 1000) == 1);
  CHECK(std::isnan(at(engine::tanh, not_a_number)));
}

TEST_CASE("sigmoid and gelu, whose erf is good to 1e-7 absolute") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  const auto gelu = [](double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); };
  CHECK(worst_absolute(engine::gelu, spread(-3, 3), gelu) < 1e-6);
  CHECK(worst_absolute(engine::gelu, spread(-20, -3), gelu) < 1e-6);
  CHECK(std::isnan(at(engine::gelu, not_a_number)));
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  CHECK(worst_absolute(engine::sigmoid, spread(-90, 90), sigmoid) < 2e-7);
  CHECK(at(engine::sigmoid, -infinity) == 0);
  CHECK(at(engine::sigmoid, infinity) == 1);
}

TEST_CASE("sqrt and rsqrt are exact to the last place or two") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  CHECK(worst_ulps(engine::sqrt, spread_bits(1e-38f, 3e38f), [](double x) { return std::sqrt(x); }) <= 0.5);
  CHECK(worst_ulps(engine::rsqrt, spread_bits(1e-38f, 3e38f), [](double x) { return 1 / std::sqrt(x); }) < 2);
}
