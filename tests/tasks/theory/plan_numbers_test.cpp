// What headroom plan's numbers rest on besides the allocations: decay from text, heads under rounding, costs of a
// model.
#include <algorithm>
#include <cmath>
#include <string>

#include "engine/allocator.h"
#include "engine/rng.h"
#include "models/transformer.h"
#include "tasks/theory/decay_estimate.h"
#include "tasks/theory/exponential_fit.h"
#include "tasks/theory/exponential_sum.h"
#include "tasks/theory/float_error.h"
#include "tasks/theory/model_costs.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::tasks;

namespace {

/// Bytes, each the one `lag + 1` positions before it, except for a share that is drawn at random.
std::string echoing_text(int64_t length, int64_t lag, uint64_t seed) {
  std::string text;
  uint64_t state = seed;
  const auto draw = [&] { return (state = state * 6364136223846793005ull + 1442695040888963407ull) >> 33; };
  for (int64_t t = 0; t < length; ++t) {
    const bool is_copy = t > lag && draw() % 4 != 0;
    text += is_copy ? text[static_cast<size_t>(t - lag - 1)] : static_cast<char>('a' + draw() % 5);
  }
  return text;
}

models::TransformerConfig decoder() {
  models::TransformerConfig c;
  c.layers = 2;
  c.width = 32;
  c.groups = {{4, 8, 8, 2}};
  c.max_length = 16;
  c.vocab = c.output_dim = 50;
  c.tied = true;
  c.ffn_width = 64;
  c.activation = models::Activation::swiglu;
  c.norm = models::Norm::rms_norm;
  c.positions = models::Positions::rope;
  c.attention_bias = c.ffn_bias = false;
  c.causal = true;
  return c;
}

}  // namespace

TEST_CASE("a text's decay has its weight at the lag that it repeats") {
  const DecayEstimate found = estimate_decay(echoing_text(60000, 3, 1), 6);
  REQUIRE(found.norms.size() == 6);
  CHECK(found.symbols == 5);
  // Three of four bytes are copies: rho_3 = 0.75, and x has variance 1 - 1/5 in all.
  CHECK(found.norms[2] == Approx(0.75 * std::sqrt(0.8)).epsilon(0.02));
  CHECK(found.explained == Approx(0.75 * 0.75).epsilon(0.03));
  for (const size_t other : {0, 1, 3, 4, 5}) CHECK(found.norms[other] < 0.03);
  CHECK(found.noise == Approx(std::sqrt(4.0 / 60000 * 0.8 * (1 - 0.5625))).epsilon(0.05));
}

TEST_CASE("rare bytes count as one, and texts without a decay are refused") {
  std::string text;
  for (int i = 0; i < 30000; ++i) text += static_cast<char>(i % 251);
  CHECK(estimate_decay(text, 2, 10).symbols == 10);
  CHECK_THROWS_WITH(estimate_decay(std::string(5000, 'a'), 4), Catch::Contains("repeats one symbol"));
  CHECK_THROWS_WITH(estimate_decay("abc", 4), "decay estimate: the text has 3 bytes: 4 lags need more than 400");
  CHECK_THROWS_WITH(estimate_decay("", 1), Catch::Contains("has 0 bytes"));
  CHECK_THROWS_WITH(estimate_decay(text, 0), Catch::Contains("0 lags"));
}

TEST_CASE("rounding limits what heads fetch: nothing with too few, and far lags never") {
  const FloatErrors of_f32(40, f32_roundoff), of_bf16(40, bf16_roundoff);
  const GroupError f32 = float_error(8, of_f32), bf16 = float_error(8, of_bf16);
  for (const int64_t lag : {1, 2, 3, 20, 40}) {
    for (int64_t heads = 1; heads <= lag; ++heads) CHECK(f32({lag, heads, 8}) == 1);
    double before = 1;
    for (int64_t heads = 1; heads <= 70; ++heads) {
      const double error = f32({lag, heads, 8});
      CHECK(error <= before);
      CHECK(error <= bf16({lag, heads, 8}));
      CHECK(error <= Approx(best_float_fit(lag, heads, f32_roundoff).estimate));
      before = error;
    }
  }
  CHECK(f32({1, 70, 8}) < 1e-3);
  CHECK(f32({12, 70, 8}) == 1);
  CHECK(bf16({4, 70, 8}) == 1);
  CHECK(f32({1, 70, 4}) == Approx(std::sqrt(0.5) + f32({1, 70, 8})));
  CHECK(of_f32.reach() == 5);
  CHECK(of_bf16.reach() == 2);
  for (const FloatErrors* errors : {&of_f32, &of_bf16})
    for (int64_t lag = 1; lag <= 40; ++lag) {
      const double best = errors->estimate(lag, 1000);
      CHECK(errors->least(lag) <= best);
      CHECK(errors->least(lag) >= 0.98 * best);  // few heads more or other rates would gain next to nothing
    }
}

TEST_CASE("the numerically best coefficients: stationary nodes, what they reach, what nothing reaches") {
  // Two heads at lag 1: nodes 0 and x, amplitudes -1/x and 1/x: l1 x/(1 - x), gain about 2/x, so x = sqrt(2 eps).
  const HeadFitter fitter(6, f32_roundoff);
  const std::vector<HeadFit> fits = fitter.fits(1);
  REQUIRE(fits.size() == 6);
  CHECK(fits[0].estimate == 1);
  REQUIRE(fits[1].nodes.size() == 2);
  CHECK(std::max(fits[1].nodes[0], fits[1].nodes[1]) == Approx(std::sqrt(2 * f32_roundoff)).epsilon(0.01));
  CHECK(fits[1].estimate == Approx(2 * std::sqrt(2 * f32_roundoff)).epsilon(0.001));
  for (const HeadFit& fit : fits) {
    double l1 = 0, gain = 0;
    for (int t = 0; t < 2000; ++t) {
      double f = 0;
      for (size_t k = 0; k < fit.nodes.size(); ++k) f += fit.amplitudes[k] * std::pow(fit.nodes[k], t);
      l1 += std::abs((t == 1 ? 1 : 0) - f);
    }
    for (size_t k = 0; k < fit.nodes.size(); ++k) gain += std::abs(fit.amplitudes[k]) / (1 - fit.nodes[k]);
    CHECK(fit.estimate == Approx(l1 + f32_roundoff * gain).epsilon(1e-6));
    CHECK(fit.estimate >= fitter.least(1));
    for (const double moved : {0.9, 1.1}) {  // no other amplitudes or nodes near by do better
      std::vector<double> nodes = fit.nodes;
      for (double& x : nodes) x *= moved;
      if (!nodes.empty()) CHECK(head_fit_on(nodes, 1, f32_roundoff).estimate >= fit.estimate);
    }
  }
  // The linear program over 240 fixed nodes, any number of heads.
  const HeadFitter more(16, bf16_roundoff);
  for (const int64_t lag : {1, 2}) {
    CHECK(more.least(lag) <= float_limit(lag, bf16_roundoff).estimate * 1.002);
    CHECK(more.fits(lag).back().estimate == Approx(float_limit(lag, bf16_roundoff).estimate).epsilon(0.01));
  }
  CHECK(fitter.least(7) > 0.98);
  CHECK_THROWS_WITH(HeadFitter(2, 1e-12), Catch::Contains("unit roundoff"));
  CHECK_THROWS_WITH(HeadFitter(0, f32_roundoff), "head fit: 0 heads: expected >= 1");
  CHECK_THROWS_WITH(fitter.fits(0), "head fit: lag 0 must be >= 1");
  CHECK_THROWS_WITH(head_fit_on({0.95}, 1, 0.01), Catch::Contains("a node is 0.95"));
  CHECK_THROWS_WITH(head_fit_on({}, 1, 0.01), "head fit: there are no nodes");
}

TEST_CASE("a model's costs by hand") {
  const ModelCosts costs = model_costs(decoder(), 3, 16, widths_of(2));
  // Per layer: Q 32·32, K and V 2·32·16, O 32·32, three FFN matrices, two norms; embedding; final norm.
  CHECK(costs.parameters == 2 * (1024 + 1024 + 1024 + 3 * 32 * 64 + 64) + 50 * 32 + 32);
  CHECK(costs.kv_bytes == 2 * 2 * 16 * 2);
  CHECK(costs.forward_flops == 2.0 * (2 * (3072 + 16 * 4 * 16 + 6144) + 32 * 50));
  // Per token and layer: input, two norms out, the middle, Q, K, V, output, three FFN rows; a sum per head.
  const double block = 2.0 * (4 * 32 + 32 + 16 + 16 + 32 + 3 * 64) + 4 * 4;
  const double head = 2.0 * 64 + 4 * 50;
  CHECK(costs.activation_bytes == 48 * (2 * block + head));
  CHECK(costs.recompute_bytes == 48 * (2 * 64.0 + block + head));
  CHECK(costs.score_bytes == 48 * 2 * 4 * 16 * 2.0);
  CHECK(costs.optimizer_bytes == 12.0 * static_cast<double>(costs.parameters));
  CHECK(model_costs(decoder(), 1, 16, widths_of(4)).optimizer_bytes == 8.0 * static_cast<double>(costs.parameters));
  CHECK_THROWS_WITH(model_costs(decoder(), 0, 16, widths_of(4)), "batch: expected >= 1, got 0");
  CHECK_THROWS_WITH(widths_of(3), Catch::Contains("expected 2 or 4"));
}

TEST_CASE("what this engine holds after a forward pass is near the count of activations") {
  engine::Rng rng(1);
  models::TransformerConfig config = decoder();
  config.groups = {{4, 8, 8}};
  config.max_length = 64;
  const models::Transformer model(config, rng);
  const engine::Tensor tokens = engine::Tensor::zeros({8, 64}, engine::DType::i64);  // (B, T)
  const int64_t before = engine::allocator_stats().active;
  const auto output = model.forward(tokens);  // (B, T, vocab)
  const auto held = static_cast<double>(engine::allocator_stats().active - before);
  const double counted = model_costs(config, 8, 64, widths_of(4)).activation_bytes;
  CHECK(held > 0.7 * counted);
  CHECK(held < 1.6 * counted);
}

TEST_CASE("a roofline takes the larger of two ceilings") {
  const ModelCosts costs = model_costs(decoder(), 2, 16, widths_of(4));
  const double cache = 32 * costs.kv_bytes;
  const RooflineTimes slow = roofline(costs, 2, 16, {1e6, 1e12}), narrow = roofline(costs, 2, 16, {1e15, 1e6});
  CHECK(slow.prefill == Approx(32 * costs.forward_flops / 1e6));
  CHECK(slow.decode == Approx(2 * costs.forward_flops / 1e6));
  CHECK(slow.train_step_recompute == Approx(4.0 / 3 * slow.train_step));
  CHECK(narrow.decode == Approx((costs.weight_bytes + cache) / 1e6));
  CHECK_THROWS_WITH(roofline(costs, 2, 16, {0, 1}), Catch::Contains("roofline"));
}
