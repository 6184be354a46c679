// The lemmas as tasks: what a trial of their studies measures.
#include <cmath>

#include "engine/error.h"
#include "models/safetensors/safetensors.h"
#include "tasks/theory/exponential_sum_study.h"
#include "tasks/theory/head_studies.h"
#include "tasks/theory/random_projection_study.h"
#include "tests/support/catch.h"
#include "tests/support/folder.h"

using namespace headroom;
using namespace headroom::tasks;
using namespace headroom::testing;
using engine::Tensor;

namespace {

using Rates = ExponentialSumConfig::Rates;

/// One layer of two groups: two heads of width 2, which share a key, and one head of width 4; D = 4, counted through.
void write_model(const std::filesystem::path& run) {
  std::filesystem::create_directories(run / "weights");
  const auto counted = [](int64_t rows, float from) {
    std::vector<float> values;
    for (int64_t i = 0; i < rows * 4; ++i) values.push_back(from + static_cast<float>(i));
    return Tensor::from<float>({rows, 4}, values);
  };
  models::write_safetensors(run / "weights" / "a.safetensors",
                            {{"blocks.0.attention.0.q_proj.weight", counted(4, 0)},
                             {"blocks.0.attention.0.k_proj.weight", counted(2, 100)},
                             {"blocks.0.attention.1.q_proj.weight", counted(4, 200)},
                             {"blocks.0.attention.1.k_proj.weight", counted(4, 300)}},
                            {{"config", R"({"model": {"groups": [{"heads": 2}, {"heads": 1}]}})"}});
}

}  // namespace

TEST_CASE("Lemma E.1 as a task: the counterexample, the law, the amplitudes' size") {
  const Metrics counter = ExponentialSumStudy({.lag = 2, .terms = 2}).closed_form(0).value();
  CHECK(counter.at("l1") == 1);
  CHECK(counter.at("paper_bound") == Approx(0.6765270032250523));
  CHECK(counter.at("proof_slack") < 1e-14);
  CHECK(counter.at("log10_ratio") > 0);
  CHECK(counter.at("f32_error") == 1);
  const Metrics next = ExponentialSumStudy({.lag = 2, .terms = 3}).closed_form(0).value();
  CHECK(next.at("l1") < 1e-5);
  CHECK(next.at("log10_gain") > 10);
  CHECK(next.at("f32_error") == Approx(0.0215).epsilon(0.05));
  CHECK(ExponentialSumStudy({.lag = 50, .terms = 50}).closed_form(0)->at("true_bound") == 1);
  CHECK(ExponentialSumStudy({.lag = 300, .terms = 301}).closed_form(0)->at("l1") < 1e-3);
  CHECK(ExponentialSumStudy({.lag = 1, .terms = 4, .rates = Rates::geometric}).closed_form(0)->at("l1") ==
        Approx(0.4157727076));
  CHECK(ExponentialSumStudy({.lag = 2, .terms = 4, .rates = Rates::linear, .step = 1}).closed_form(0)->at("l1") ==
        Approx(0.1591948521));
  CHECK(ExponentialSumStudy({.lag = 1, .terms = 8, .rates = Rates::cited}).closed_form(0)->at("l1") ==
        Approx(0.2454795727));
  CHECK_THROWS_WITH(ExponentialSumStudy({.lag = 0}), "lag: wants 1..1000, got 0");
  CHECK_THROWS_WITH(ExponentialSumStudy({.lag = 1, .terms = 1, .rates = Rates::geometric}),
                    "terms: geometric rates want >= 2, got 1");
}

TEST_CASE("random projections as a task") {
  const RandomProjectionStudy study({.dim = 8, .rank = 4, .samples = 1000, .epsilon = 0.2});
  const Metrics metrics = study.closed_form(3).value();
  CHECK(std::abs(metrics.at("z_score")) < 4);
  CHECK(metrics.at("tail") == Approx(metrics.at("exact_tail")).margin(0.03));
  CHECK(metrics.at("tail_bound") > 1);
  CHECK(metrics.at("tightness") == metrics.at("union_bound") / metrics.at("union_residual"));
  CHECK(study.closed_form(3) == study.closed_form(3));
  CHECK(study.closed_form(3) != study.closed_form(4));
  CHECK_THROWS_WITH(RandomProjectionStudy({.dim = 8, .rank = 8}), "rank: wants 1..dim - 1 = 7, got 8");
}

TEST_CASE("random heads break no inequality, and say how loose the bounds are") {
  for (const double gain : {1.0, 6.0}) {
    const HeadSource head{.width = 24, .head_dim = 8, .gain = gain};
    const Metrics softmax = SoftmaxBound({.head = head, .length = 40, .alibi_slope = 0.1}).closed_form(1).value();
    CHECK(softmax.at("violations") == 0);
    CHECK(softmax.at("log10_tightest") > 0);
    CHECK(softmax.at("log10_paper") >= softmax.at("log10_tightest"));
    CHECK(softmax.at("scaled_norm") == Approx(40 * softmax.at("jacobian_norm")));
    const Metrics svd = SvdBound({.head = head, .length = 40, .rank = 3}).closed_form(1).value();
    CHECK(svd.at("violations") == 0);
    CHECK(svd.at("log10_sharp") < svd.at("log10_paper"));
    CHECK(svd.at("late_frobenius") > svd.at("late_rms"));
    const Metrics rope = RopeBound({.head = head, .length = 10, .rank = 4}).closed_form(1).value();
    CHECK(rope.at("tightness") > 1);
    CHECK(rope.at("rank_excess") == 0);
    CHECK(rope.at("pairs_error") >= rope.at("least_error"));
  }
  CHECK_THROWS_WITH(SvdBound({.rank = 16}), "rank: wants less than the head's width 16, got 16");
  CHECK_THROWS_WITH(SoftmaxBound({.token_norm = 0}), "token_norm: wants > 0, got 0");
  CHECK_THROWS_WITH(SoftmaxBound({.head = {.gain = -1}}), "gain: wants > 0, got -1");
}

TEST_CASE("heads that a study trained") {
  const TemporaryFolder run;
  CHECK_THROWS_WITH(RopeBound({.head = {.run = run.path()}}).closed_form(0),
                    contains("has no weights of trained models; run its study with --set train.keep_weights=true"));
  write_model(run.path());
  const HeadMaps second = load_head({.run = run.path(), .head = 1}, 0);
  CHECK(second.wq.to_vector<double>() == std::vector<double>{8, 9, 10, 11, 12, 13, 14, 15});
  CHECK(second.wk.to_vector<double>() == std::vector<double>{100, 101, 102, 103, 104, 105, 106, 107});
  CHECK(second.scale == Approx(1 / std::sqrt(2.0)));
  const HeadMaps wide = load_head({.run = run.path(), .head = 2}, 0);
  CHECK(wide.wq.dim(0) == 4);
  CHECK(wide.wk.to_vector<double>().front() == 300);
  CHECK_THROWS_WITH(load_head({.run = run.path(), .head = 3}, 0), contains("layer 0 has 3 heads, there is no head 3"));
  CHECK_THROWS_WITH(load_head({.run = run.path(), .layer = 1}, 0), contains("there is no layer 1"));
}
