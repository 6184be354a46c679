// The lemmas as tasks: what a trial of their studies measures.
#include <cmath>

#include "engine/error.h"
#include "tasks/measure/head_measurements.h"
#include "tasks/theory/exponential_sum_measurement.h"
#include "tasks/theory/random_projection.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::tasks;
using namespace headroom::testing;
using engine::Tensor;

namespace {

using Rates = ExponentialSumConfig::Rates;

}  // namespace

TEST_CASE("Lemma E.1 as a task: the counterexample, the law, the amplitudes' size") {
  const Metrics counter = ExponentialSumMeasurement({.lag = 2, .terms = 2}).compute(0);
  CHECK(counter.at("l1") == 1);
  CHECK(counter.at("paper_bound") == Approx(0.6765270032250523));
  CHECK(counter.at("proof_slack") < 1e-14);
  CHECK(counter.at("log10_ratio") > 0);
  CHECK(counter.at("f32_error") == 1);
  const Metrics next = ExponentialSumMeasurement({.lag = 2, .terms = 3}).compute(0);
  CHECK(next.at("l1") < 1e-5);
  CHECK(next.at("log10_gain") > 10);
  CHECK(next.at("f32_error") == Approx(0.0215).epsilon(0.05));
  CHECK(ExponentialSumMeasurement({.lag = 50, .terms = 50}).compute(0).at("true_bound") == 1);
  CHECK(ExponentialSumMeasurement({.lag = 300, .terms = 301}).compute(0).at("l1") < 1e-3);
  CHECK(ExponentialSumMeasurement({.lag = 1, .terms = 4, .rates = Rates::geometric}).compute(0).at("l1") ==
        Approx(0.4157727076));
  CHECK(ExponentialSumMeasurement({.lag = 2, .terms = 4, .rates = Rates::linear, .step = 1}).compute(0).at("l1") ==
        Approx(0.1591948521));
  CHECK(ExponentialSumMeasurement({.lag = 1, .terms = 8, .rates = Rates::cited}).compute(0).at("l1") ==
        Approx(0.2454795727));
  CHECK_THROWS_WITH(ExponentialSumMeasurement({.lag = 0}), "lag: expected 1..1000, got 0");
  CHECK_THROWS_WITH(ExponentialSumMeasurement({.lag = 1, .terms = 1, .rates = Rates::geometric}),
                    "terms: geometric rates need >= 2, got 1");
}

TEST_CASE("random projections as a task") {
  const RandomProjectionMeasurement study({.dim = 8, .rank = 4, .samples = 1000, .epsilon = 0.2});
  const Metrics metrics = study.compute(3);
  CHECK(std::abs(metrics.at("z_score")) < 4);
  CHECK(metrics.at("tail") == Approx(metrics.at("exact_tail")).margin(0.03));
  CHECK(metrics.at("tail_bound") > 1);
  CHECK(metrics.at("tightness") == metrics.at("union_bound") / metrics.at("union_residual"));
  CHECK(study.compute(3) == study.compute(3));
  CHECK(study.compute(3) != study.compute(4));
  CHECK_THROWS_WITH(RandomProjectionMeasurement({.dim = 8, .rank = 8}), "rank: expected 1..dim - 1 = 7, got 8");
}

TEST_CASE("random heads break no inequality, and say how loose the bounds are") {
  for (const double gain : {1.0, 6.0}) {
    const HeadSource head{.width = 24, .head_dim = 8, .gain = gain};
    const Metrics softmax = SoftmaxBound({.head = head, .length = 40, .alibi_slope = 0.1}).compute(1);
    CHECK(softmax.at("violations") == 0);
    CHECK(softmax.at("log10_tightest") > 0);
    CHECK(softmax.at("log10_paper") >= softmax.at("log10_tightest"));
    CHECK(softmax.at("scaled_norm") == Approx(40 * softmax.at("jacobian_norm")));
    const Metrics svd = SvdBound({.head = head, .length = 40, .rank = 3}).compute(1);
    CHECK(svd.at("violations") == 0);
    CHECK(svd.at("log10_sharp") < svd.at("log10_paper"));
    CHECK(svd.at("late_frobenius") > svd.at("late_rms"));
    const Metrics rope = RopeBound({.head = head, .length = 10, .rank = 4}).compute(1);
    CHECK(rope.at("tightness") > 1);
    CHECK(rope.at("rank_excess") == 0);
    CHECK(rope.at("pairs_error") >= rope.at("least_error"));
  }
  CHECK_THROWS_WITH(SvdBound({.rank = 16}), "rank: expected less than the head's width 16, got 16");
  CHECK_THROWS_WITH(SoftmaxBound({.token_norm = 0}), "token_norm: expected > 0, got 0");
  CHECK_THROWS_WITH(SoftmaxBound({.head = {.gain = -1}}), "gain: expected > 0, got -1");
}

TEST_CASE("rank-deficient maps, maps and tokens too large, logits of 1e4") {
  // Logits of some 1e4 either way: the bounds are e^{1e5}, and their logarithms are right.
  const HeadSource sharp{.width = 24, .head_dim = 8, .gain = 200};
  const Metrics softmax = SoftmaxBound({.head = sharp, .length = 40}).compute(1);
  CHECK(softmax.at("largest_logit") > 1e4);
  CHECK(softmax.at("violations") == 0);
  CHECK(softmax.at("log10_paper") > 1e4);
  for (const auto& [name, value] : softmax) CHECK(std::isfinite(value));
  const Metrics svd = SvdBound({.head = sharp, .length = 40, .rank = 3}).compute(1);
  CHECK(svd.at("violations") == 0);
  for (const auto& [name, value] : svd) CHECK(std::isfinite(value));
  const HeadSource huge{.gain = 1e160};
  CHECK_THROWS_WITH(SoftmaxBound({.head = huge}).compute(0), contains("Delta is inf; maps and tokens are too large"));
  CHECK_THROWS_WITH(SvdBound({.head = huge}).compute(0), contains("Delta is inf"));
  // d_H = 8 in a model of width 8, and one token: what is left of the statements.
  CHECK(RopeBound({.head = {.width = 8, .head_dim = 8}, .length = 1, .rank = 4}).compute(0).at("tightness") >= 1);
  CHECK_THROWS_WITH(SoftmaxBound({.length = 1}), "length: expected >= 2, got 1");
  CHECK_THROWS_WITH(SvdBound({.length = 1}), "length: expected >= 2, got 1");
  CHECK_THROWS_WITH(SvdBound({.head = {.width = 4, .head_dim = 8}}).compute(0), contains("d_H <= D"));
}
