// Every elementwise op of one operand, value and derivative, in f32 against double over the whole range of f32: each
// functor's bound in units of the last place. Registered once per instruction set.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "engine/context.h"
#include "engine/ops/elementwise/activations.h"
#include "engine/ops/elementwise/math_functions.h"
#include "engine/ops/elementwise/unary.h"
#include "engine/ops/log_softmax/log_softmax.h"
#include "engine/ops/softmax/softmax.h"
#include "engine/ops/swiglu/swiglu.h"
#include "engine/rng.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::engine;

namespace {

using Exact = std::function<double(double)>;
constexpr double inf = std::numeric_limits<double>::infinity();

/// The op `name` of a UnaryList, its bounds as its functor's comment says them, and what it should be.
struct Function {
  const char* name;
  Tensor (*f)(const Tensor&);
  Tensor (*grad)(const Tensor& dy, const Tensor& x, const Tensor& y);
  Exact exact, slope;
  double ulps, slope_ulps;
  /// Near a zero of the slope its bound is in units of 1/8: there it is a difference of two rounded numbers.
  double zero = inf;
};

double normal_cdf(double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); }
double sigmoid_of(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double pi() { return std::acos(-1.0); }
/// w of gelu_tanh: x/2 · (1 + tanh(w/2)) = x · sigmoid(w).
double cubic(double x) { return 2 * std::sqrt(2 / pi()) * (x + 0.044715 * x * x * x); }
double cubic_slope(double x) { return 2 * std::sqrt(2 / pi()) * (1 + 0.134145 * x * x); }
/// x·y where an infinite x with y = 0 is 0: the limit of what falls faster than x grows.
double product(double x, double y) { return y == 0 ? std::copysign(0.0, x) : x * y; }

/// softmax's second element of (0, x), for x ≤ 0; of (0, 0) for x > 0, where e^x is taken of the other.
Tensor softmax_of_pairs(const Tensor& x) {
  const std::vector<float> in = x.to_vector<float>();
  std::vector<float> pairs;
  for (const float v : in) pairs.insert(pairs.end(), {0.0f, v > 0 ? 0.0f : v});
  const int64_t n = x.numel();
  return engine::softmax(Tensor::from<float>({n, 2}, pairs)).slice(1, 1, 2).reshape({n});  // (n)
}

const std::vector<Function>& listed() {
  static const std::vector<Function> all{
      {"neg", engine::neg, engine::neg_grad, [](double x) { return -x; }, [](double) { return -1.0; }, Neg::ulps,
       Neg::slope_ulps},
      {"exp", engine::exp, engine::exp_grad, [](double x) { return std::exp(x); }, [](double x) { return std::exp(x); },
       Exp::ulps, Exp::slope_ulps},
      {"log", engine::log, engine::log_grad, [](double x) { return std::log(x); }, [](double x) { return 1 / x; },
       Log::ulps, Log::slope_ulps},
      {"sqrt", engine::sqrt, engine::sqrt_grad, [](double x) { return std::sqrt(x); },
       [](double x) { return 0.5 / std::sqrt(x); }, Sqrt::ulps, Sqrt::slope_ulps},
      {"rsqrt", engine::rsqrt, engine::rsqrt_grad, [](double x) { return 1 / std::sqrt(x); },
       [](double x) { return -0.5 * std::pow(1 / std::sqrt(x), 3); }, Rsqrt::ulps, Rsqrt::slope_ulps},
      {"tanh", engine::tanh, engine::tanh_grad, [](double x) { return std::tanh(x); },
       [](double x) { return 1 / std::pow(std::cosh(x), 2); }, Tanh::ulps, Tanh::slope_ulps},
      {"sigmoid", engine::sigmoid, engine::sigmoid_grad, sigmoid_of,
       [](double x) { return sigmoid_of(x) * sigmoid_of(-x); }, Sigmoid::ulps, Sigmoid::slope_ulps},
      {"relu", engine::relu, engine::relu_grad, [](double x) { return x < 0 ? 0 : x; },
       [](double x) { return x <= 0 ? 0.0 : 1.0; }, Relu::ulps, Relu::slope_ulps},
      {"silu", engine::silu, engine::silu_grad, [](double x) { return product(x, sigmoid_of(x)); },
       [](double x) { return sigmoid_of(x) + product(x, sigmoid_of(x) * sigmoid_of(-x)); }, Silu::ulps,
       Silu::slope_ulps, -1.27846454},
      {"gelu", engine::gelu, engine::gelu_grad, [](double x) { return product(x, normal_cdf(x)); },
       [](double x) { return normal_cdf(x) + product(x, std::exp(-0.5 * x * x) / std::sqrt(2 * pi())); }, Gelu::ulps,
       Gelu::slope_ulps, -0.75179152},
      {"gelu_tanh", engine::gelu_tanh, engine::gelu_tanh_grad,
       [](double x) { return product(x, sigmoid_of(cubic(x))); },
       [](double x) {
         const double s = sigmoid_of(cubic(x)), slope = sigmoid_of(-cubic(x)) * s;
         return s + (slope == 0 ? 0 : x * cubic_slope(x) * slope);
       },
       GeluTanh::ulps, GeluTanh::slope_ulps, -0.75246142},
      {"swiglu, its gate", [](const Tensor& x) { return engine::swiglu(x, Tensor::full(x.shape(), 1)); },
       [](const Tensor& dy, const Tensor& x, const Tensor&) {
         return engine::swiglu_grad(dy, x, Tensor::full(x.shape(), 1), true, false).dgate;
       },
       [](double x) { return product(x, sigmoid_of(x)); },
       [](double x) { return sigmoid_of(x) + product(x, sigmoid_of(x) * sigmoid_of(-x)); }, Silu::ulps,
       Silu::slope_ulps, -1.27846454},
      {"swiglu, its value", [](const Tensor& x) { return engine::swiglu(x, Tensor::full(x.shape(), 1)); },
       [](const Tensor& dy, const Tensor& x, const Tensor&) {
         return engine::swiglu_grad(dy, x, Tensor::full(x.shape(), 1), false, true).dup;
       },
       [](double x) { return product(x, sigmoid_of(x)); }, [](double x) { return product(x, sigmoid_of(x)); }, 4, 5},
      {"softmax of (0, x)", softmax_of_pairs, nullptr, [](double x) { return x > 0 ? 0.5 : sigmoid_of(x); }, nullptr, 6,
       0}};
  return all;
}

/// NaN, near which every x is taken to be, if the slope has a zero.
template <class Functor>
constexpr double unknown_zero() {
  if constexpr (requires { Functor::slope_has_zero; })
    return Functor::slope_has_zero ? std::numeric_limits<double>::quiet_NaN() : inf;
  return inf;
}

/// Those, and the other ops of the list, before those without rows in the halves: their functors in f64 are the truth.
std::vector<Function> functions() {
  std::vector<Function> all = listed();
  const auto named = [&](const std::string& name) {
    return std::find_if(all.begin(), all.end(), [&](const Function& f) { return f.name == name; });
  };
#define HEADROOM_ADD(NAME, FUNCTOR)                                                                         \
  if (named(#NAME) == all.end())                                                                            \
    all.insert(named("swiglu, its gate"),                                                                   \
               {#NAME, engine::NAME, engine::NAME##_grad, [](double x) { return FUNCTOR::f(x); },           \
                [](double x) { return FUNCTOR::df(x, FUNCTOR::f(x)); }, FUNCTOR::ulps, FUNCTOR::slope_ulps, \
                unknown_zero<FUNCTOR>()});
  HEADROOM_UNARY_OPS(HEADROOM_ADD)
#undef HEADROOM_ADD
  return all;
}

/// Every `stride`th f32, so every magnitude, and all within 2^10 places of each edge.
std::vector<float> all_magnitudes(uint64_t stride) {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += stride)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (const float edge : {0.0f, 0x1p-126f, 1.0f, 0.625f, 0.75179152f, 1.27846454f, 12.0f, 13.5f, 15.0f, 30.0f, 64.0f,
                           87.3f, 88.7f, 103.9f, 150.0f, 1000.0f, std::numeric_limits<float>::infinity()})
    for (uint32_t i = 0; i < 2048; ++i)
      for (const uint32_t sign : {0u, 1u << 31})
        values.push_back(std::bit_cast<float>((std::bit_cast<uint32_t>(edge) + i - 1024u) ^ sign));
  return values;
}

/// The distance of neighbouring f32 at a value.
double ulp_at(double value) {
  const int exponent = std::max(-126, value == 0 ? -126 : std::ilogb(value));
  return std::ldexp(1.0, exponent - 23);
}

struct Worst {
  double ulps = 0, x = 0, got = 0, want = 0;
  std::string str() const {
    return fmt::format("{:.3g} ulp at x = {:.9g}: got {:.9g}, expected {:.9g}", ulps, x, got, want);
  }
};

/// Where f32 results differ most from exact ones in units of `unit(x, want)`; beyond the largest f32, infinity counts
/// as one place further. NaN must meet NaN.
Worst worst_of(const std::vector<float>& x, const std::vector<float>& got, const Exact& exact,
               const std::function<double(double x, double want)>& unit) {
  Worst worst;
  const auto clipped = [](double y) { return std::clamp(y, -0x1p128, 0x1p128); };
  for (size_t i = 0; i < x.size(); ++i) {
    const double in = static_cast<double>(x[i]), want = exact(in), y = static_cast<double>(got[i]);
    double error = std::fabs(clipped(y) - clipped(want)) / unit(in, std::clamp(want, -0x1p127, 0x1p127));
    if (std::isnan(y) != std::isnan(want)) error = inf;
    else if (std::isnan(y)) error = 0;
    if (error > worst.ulps) worst = {error, in, y, want};
  }
  return worst;
}

Tensor flat(const std::vector<float>& values) {
  return Tensor::from<float>({static_cast<int64_t>(values.size())}, values);
}

Tensor slopes(const Function& function, const Tensor& x) {
  return function.grad(Tensor::full(x.shape(), 1, x.dtype()), x, function.f(x));
}

/// The distance of neighbours, for a slope near its zero that at 1/8.
double unit_of_slope(const Function& function, double x, double want) {
  return std::max(ulp_at(want), !(std::fabs(x - function.zero) >= 0.25) ? ulp_at(0.125) : 0);
}

/// Values and slopes of every function within their bounds.
void check_bounds(uint64_t stride) {
  const std::vector<float> in = all_magnitudes(stride);
  const Tensor x = flat(in);
  for (const Function& function : functions()) {
    const Worst value = worst_of(in, function.f(x).to_vector<float>(), function.exact,
                                 [](double, double want) { return ulp_at(want); });
    INFO(function.name << ": " << value.str());
    CHECK(value.ulps <= function.ulps);
    if (!function.grad) continue;
    const Worst slope = worst_of(in, slopes(function, x).to_vector<float>(), function.slope,
                                 [&](double at, double want) { return unit_of_slope(function, at, want); });
    INFO("its derivative: " << slope.str());
    CHECK(slope.ulps <= function.slope_ulps);
  }
}

/// Values and slopes at every number of a half-precision dtype: half a unit from its own rounding, and f32's share.
/// `lowest` is the exponent of the smallest normal number, `digits` are the bits of the fraction.
void check_every_half(DType dtype, int lowest, int digits, double largest) {
  std::vector<uint16_t> bits(1 << 16);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  Tensor x = Tensor::empty({1 << 16}, dtype);
  std::memcpy(x.mutable_raw(), bits.data(), sizeof(uint16_t) * bits.size());
  const std::vector<float> in = x.to_vector<float>();
  const auto unit = [&](double want) {
    return std::ldexp(1.0, std::max(lowest, want == 0 ? lowest : std::ilogb(want)) - digits);
  };
  const auto clipped = [&](const Exact& exact) {
    return [&](double at) {
      const double y = exact(at);
      return y > largest ? inf : y < -largest ? -inf : y;
    };
  };
  for (const Function& function : functions()) {
    if (function.name == std::string("swiglu, its gate")) break;  // no rows in the halves from here on
    const auto worst_in = [&](const Tensor& got, const Exact& exact, bool is_slope) {
      return worst_of(in, got.to_vector<float>(), clipped(exact), [&](double at, double want) {
        return std::max(unit(want), is_slope && !(std::fabs(at - function.zero) >= 0.25) ? 16 * ulp_at(0.125) : 0);
      });
    };
    const Worst value = worst_in(function.f(x), function.exact, false);
    const Worst slope = worst_in(slopes(function, x), function.slope, true);
    INFO(function.name << ": " << value.str() << "; its derivative: " << slope.str());
    CHECK(value.ulps <= 0.51);
    // From y, which is rounded to the half already.
    const bool from_y = function.name == std::string("exp") || function.name == std::string("sqrt");
    CHECK(slope.ulps <= (function.name == std::string("rsqrt") ? 4 : from_y ? 2 : 0.55));
  }
}

}  // namespace

TEST_CASE("values and derivatives are within their bounds over the whole range of f32") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  check_bounds(499);
}

TEST_CASE("so are the f32 reference loops") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  const ReferenceScope scope;
  check_bounds(9973);
}

TEST_CASE("the f64 reference loops do not cancel either") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  const std::vector<float> in = all_magnitudes(99991);
  const Tensor x = flat(in).to(DType::f64);
  const std::vector<double> gelu = engine::gelu(x).to_vector<double>(),
                            tanh_form = engine::gelu_tanh(x).to_vector<double>();
  const std::vector<double> tanh_slope =
      engine::gelu_tanh_grad(Tensor::full(x.shape(), 1, DType::f64), x, Tensor()).to_vector<double>();
  for (size_t i = 0; i < in.size(); ++i) {
    const auto t = static_cast<long double>(in[i]);
    if (!(std::fabs(in[i]) < 20) || in[i] == 0) continue;
    // The argument's own rounding is multiplied by the function's condition, about x² or 0.2 x³.
    const long double want = 0.5L * t * std::erfc(-t * std::sqrt(0.5L));
    INFO(in[i]);
    CHECK(std::fabs(static_cast<long double>(gelu[i]) / want - 1) < 4e-16L * (1 + t * t));
    const long double w = 2 * std::sqrt(2 / std::acos(-1.0L)) * (t + 0.044715L * t * t * t);
    CHECK(std::fabs(static_cast<long double>(tanh_form[i]) * (1 + std::exp(-w)) / t - 1) < 2e-16L * (8 + std::fabs(w)));
    const long double s = 1 / (1 + std::exp(-w)), dw = 2 * std::sqrt(2 / std::acos(-1.0L)) * (1 + 0.134145L * t * t);
    const long double inner = 1 + t * dw / (1 + std::exp(w));
    CHECK(std::fabs(static_cast<long double>(tanh_slope[i]) - s * inner) <
          2e-16L * (8 + std::fabs(w)) * s * (1 + std::fabs(inner)));
  }
}

TEST_CASE("every bf16 and every f16") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  check_every_half(DType::bf16, -126, 7, 3.3961e38);
  check_every_half(DType::f16, -14, 10, 65519.99);
}

TEST_CASE("the logarithm of a sum of exponentials, as f64 has it") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  for (const int64_t n : {1, 5, 16, 255, 1000, 49152})
    for (const double spread : {0.1, 3.0, 30.0}) {
      const Tensor x = random_normal({n}, -7, spread, {static_cast<uint64_t>(n), 0, 0});
      const double found = log_sum_exp(x.data<float>(), n);
      const ReferenceScope reference;
      INFO(n << ", " << spread);
      CHECK(std::fabs(found - log_sum_exp(x.data<float>(), n)) < 2e-7);
    }
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& odd : std::vector<std::vector<float>>{{0, nan, 1}, {inf, 0, 1}, {-inf, -inf}})
    CHECK(std::isnan(log_sum_exp(odd.data(), static_cast<int64_t>(odd.size()))));
  CHECK_THROWS_WITH(log_sum_exp(nullptr, 0), testing::contains("of 0 numbers"));
}
