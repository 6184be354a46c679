// Norms of numbers whose squares leave the range of their dtype.
#include <cmath>
#include <optional>

#include "engine/context.h"
#include "engine/ops/layer_norm/layer_norm.h"
#include "engine/ops/rms_norm/rms_norm.h"
#include "engine/ops/scale/scale.h"
#include "engine/optim/step_state.h"
#include "engine/optim/update.h"
#include "engine/rng.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"

using namespace headroom;
using namespace headroom::engine;

namespace {

Tensor drawn(const Shape& shape, DType dtype, uint64_t seed = 5) {
  return random_normal(shape, 0, 1, {seed, 0, 0}, DType::f32).to(dtype);
}

}  // namespace

TEST_CASE("a norm is right wherever it is a number") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = drawn({40000}, dtype);
    const double want = norm(x);
    double sum = 0;
    for (const double value : x.to_vector<double>()) sum += value * value;
    CHECK(want == Approx(std::sqrt(sum)).epsilon(1e-6));
    for (const int exponent : dtype == DType::f32 ? std::vector<int>{-130, -90, -60, 60, 64, 100, 124}
                                                  : std::vector<int>{-1030, -600, -500, 500, 512, 1000}) {
      INFO(name_of(dtype) << " · 2^" << exponent);
      const Tensor scaled = scale(scale(x, std::ldexp(1.0, exponent / 2)), std::ldexp(1.0, exponent - exponent / 2));
      const bool is_subnormal = exponent == -130 || exponent == -1030;
      CHECK(norm(scaled) == Approx(std::ldexp(want, exponent)).epsilon(is_subnormal ? 1e-3 : 1e-6));
    }
  }
  CHECK(norm(Tensor::from<float>({2}, {3e38f, 0})) == Approx(3e38));
  CHECK(norm(Tensor::from<float>({3}, {2e19f, 0, 0})) == Approx(2e19));
  CHECK(norm(Tensor::from<double>({2}, {3e-320, 4e-320})) == Approx(5e-320).epsilon(1e-3));
  CHECK(norm(Tensor::zeros({7})) == 0);
  CHECK(norm(Tensor::zeros({0})) == 0);
  CHECK(norm(Tensor::from<float>({2}, {1, -INFINITY})) == INFINITY);
  CHECK(std::isnan(norm(Tensor::from<float>({3}, {1, NAN, INFINITY}))));
}

TEST_CASE("gradients near 2e19 are clipped") {
  const Tensor state = make_step_state();
  step_begin_inplace(state, Tensor::from<double>({1}, {0.5}));
  step_norm_inplace(state, Tensor::from<float>({2}, {1.2e20f, 1.6e20f}), 2);
  const StepState s = read_step_state(state);
  CHECK(s.is_finite == 1);
  CHECK(s.gradient_norm == Approx(2e20));
  CHECK(s.gradient_factor == Approx(1e-20));
}

TEST_CASE("rms_norm and layer_norm do not depend on their input's magnitude") {
  for (const bool is_reference : {false, true}) {
    std::optional<ReferenceScope> scope;
    if (is_reference) scope.emplace();
    for (const int64_t width : {5, 64, 301}) {
      const Tensor x = drawn({6, width}, DType::f32), dy = drawn({6, width}, DType::f32, 6),
                   w = drawn({width}, DType::f32, 7);
      const RmsNorm rms = rms_norm(x, w, 0);
      const LayerNorm layer = layer_norm(x, w, w, 0);
      const RmsNormGrad rms_back = rms_norm_grad(dy, x, w, rms.inv_rms, true, true);
      const LayerNormGrad layer_back = layer_norm_grad(dy, x, w, layer.mean, layer.inv_std, true, true);
      for (const int exponent : {-100, -70, 66, 100, 118}) {
        INFO("width " << width << ", 2^" << exponent << (is_reference ? ", reference" : ""));
        const double factor = std::ldexp(1.0, exponent);
        const Tensor far = scale(x, factor);
        const RmsNorm r = rms_norm(far, w, 0);
        const LayerNorm l = layer_norm(far, w, w, 0);
        CHECK(testing::relative_distance(r.y, rms.y) < 2e-6);
        CHECK(testing::relative_distance(l.y, layer.y) < 2e-6);
        const RmsNormGrad rg = rms_norm_grad(dy, far, w, r.inv_rms, true, true);
        const LayerNormGrad lg = layer_norm_grad(dy, far, w, l.mean, l.inv_std, true, true);
        CHECK(testing::relative_distance(scale(rg.dx, factor), rms_back.dx) < 4e-6);
        CHECK(testing::relative_distance(scale(lg.dx, factor), layer_back.dx) < 4e-6);
        CHECK(testing::relative_distance(rg.dweight, rms_back.dweight) < 4e-6);
        CHECK(testing::relative_distance(lg.dweight, layer_back.dweight) < 4e-6);
      }
    }
  }
}
