// What attention can represent: cases with known answers, the gradient through the maps, and the proven bounds.
#include "tasks/theory/representability.h"

#include <cmath>

#include "autograd/gradcheck.h"
#include "engine/error.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::tasks;
using namespace headroom::testing;
using engine::DType, engine::Tensor, models::Positions;

namespace {

/// n equal lags, positions from n on, with few starts.
RepresentabilityConfig small(int64_t n, int64_t heads, int64_t head_dim, Positions positions) {
  RepresentabilityConfig config;
  config.kernel.n = n;
  config.token_dim = 4;
  config.length = 8;
  config.first_position = n;
  config.width = 16;
  config.heads = heads;
  config.head_dim = head_dim;
  config.positions = positions;
  config.starts = 4;
  config.steps = 50;
  config.refine = 300;
  return config;
}

double found(const RepresentabilityConfig& config) { return Representability(config).compute(1).at("relative_mse"); }

}  // namespace

TEST_CASE("one lag, or two of equal weight, is one map of full rank: the error goes to 0") {
  for (const Positions positions : {Positions::learned, Positions::sinusoidal})
    for (const int64_t n : {1, 2}) {
      RepresentabilityConfig config = small(n, 1, 16, positions);
      CAPTURE(n);
      CHECK(found(config) < 1e-8);
      config.refine = 0;
      CHECK(found(config) > 1e-8);
    }
}

TEST_CASE("without positions attention is uniform, and the error a closed form") {
  RepresentabilityConfig config = small(2, 1, 16, Positions::none);
  config.length = 4;  // rows 2 and 3: K = (1 1 0 .), (0 1 1 0); A = 1/3 and 1/4 throughout
  // Off the diagonal, which the residual fits on average: minimise over m and m_0.
  const double aa = 3.0 / 9 + 4.0 / 16, ai = 1.0 / 3 + 1.0 / 4, ii = 2, ak = 2.0 / 3 + 2.0 / 4, kk = 4;
  const double m = ak / (aa - ai * ai / ii);
  CHECK(found(config) == Approx((kk - m * ak) / kk).epsilon(1e-12));
  config.heads = 4;  // the same map four times
  config.head_dim = 4;
  CHECK(found(config) == Approx((kk - m * ak) / kk).epsilon(1e-9));
}

TEST_CASE("the gradient through the maps is that of the error with the best values") {
  const Var scores(engine::random_normal({2, 2, 5, 5}, 0, 1, engine::Rng(3).take("scores", 100), DType::f64), true);
  std::vector<double> k(25);
  for (int64_t t = 1; t < 5; ++t) k[static_cast<size_t>(t * 5 + t - 1)] = 1, k[static_cast<size_t>(t * 5)] += 0.5;
  const Tensor target = Tensor::from({5, 5}, k);
  const auto result = autograd::gradcheck([&](const std::vector<Var>& in) { return share_left(in[0], target, 1); },
                                          {scores}, engine::Rng(4).take("u", 4));
  INFO(result.message);
  CHECK(result.ok);
}

TEST_CASE("no error is below the bound, which says something where the width or the row sums do") {
  for (const Positions positions : {Positions::sinusoidal, Positions::learned, Positions::alibi, Positions::rope})
    for (const auto& [heads, head_dim] : {std::pair<int64_t, int64_t>{1, 2}, {2, 2}, {1, 16}, {4, 4}})
      for (const int64_t first : {0, 2}) {
        RepresentabilityConfig config = small(2, heads, head_dim, positions);
        config.first_position = first;
        const Metrics metrics = Representability(config).compute(1);
        const double gain = metrics.at("gain");
        CAPTURE(heads, head_dim, first, gain);
        // Maps that nearly cancel multiply the rounding of softmax's rows, which no longer sum to 1, by their gain.
        CHECK(lower_bound(config) <= metrics.at("relative_mse") * (1 + 1e-12) + 1e-16 * gain);
      }
  CHECK(lower_bound(small(2, 1, 16, Positions::learned)) == 0);
  CHECK(lower_bound(small(2, 1, 1, Positions::learned)) == 0.75);
  RepresentabilityConfig early = small(1, 1, 16, Positions::learned);
  early.first_position = 0;
  early.length = 2;  // r = 0, 1 with weights 1, 1/2: (1 - c)²/2 + c² at c = 1/3 is 1/3, and K has one 1
  CHECK(lower_bound(early) == Approx(1.0 / 3));
  CHECK(found(early) == Approx(1.0 / 3).epsilon(1e-3));
}

TEST_CASE("heads narrower than the token share out its coordinates") {
  CHECK(found(small(1, 1, 2, Positions::learned)) == Approx(0.5 + found(small(1, 2, 2, Positions::learned)) / 2));
  CHECK_THROWS_WITH(Representability(small(1, 1, 3, Positions::learned)),
                    "head_dim: 3 is below token_dim = 4 and does not divide it");
  CHECK_THROWS_WITH(Representability(small(1, 2, 2, Positions::rope_alibi)),
                    "positions: one of RoPE and ALiBi at a time");
  CHECK_THROWS_WITH(Representability(small(1, 3, 2, Positions::learned)),
                    "heads: 3 heads of width 2 do not share out 4 coordinates evenly");
}
