#include "tasks/compression/head_budget.h"

#include <numeric>

#include "engine/error.h"
#include "models/costs.h"
#include "tests/models/pretrained/checkpoints.h"
#include "tests/support/error_of.h"
#include "tests/tasks/compression/texts.h"

namespace headroom::tasks {
namespace {

using testing::contains;
using testing::error_of;
using testing::texts_of;

/// A small model, taken apart and probed.
struct HeadSearch {
  std::unique_ptr<models::ModelFiles> files = models::ModelFiles::open(testing::checkpoints() / "llama2-gqa");
  std::unique_ptr<models::Transformer> model = files->load({.keep = models::Keep::computed});
  Calibration calibration =
      calibrate(*model, texts_of(12, 0), {.needs = {.before_turn = true, .after_turn = true, .outputs = true}});
  std::shared_ptr<HeadDecompositions> heads;
  std::shared_ptr<LayerProbe> probe = std::make_shared<LayerProbe>(*model, texts_of(2, 12));
  std::set<int64_t> layers = testing::all_layers(model->config());
  std::unique_ptr<HeadBudget> budget;
  HeadSearch(QkMethod qk, VoMethod vo) : heads(std::make_shared<HeadDecompositions>(*files, qk, vo, calibration)) {
    budget = std::make_unique<HeadBudget>(heads, probe, layers);
  }
};

}  // namespace

TEST_CASE("a budget of parameters is kept, and what a plan costs is what its model counts", "[head budget]") {
  const HeadSearch search(QkMethod::whitened_grouped, VoMethod::whitened);
  const models::TransformerConfig& config = search.model->config();
  const HeadBudget& budget = *search.budget;
  const models::HeadGroup& group = config.groups[0];
  const int64_t heads = group.heads + group.key_value_heads();
  CHECK(budget.costs().saved() == BudgetOf::parameters);
  CHECK(budget.costs().full(BudgetOf::parameters) ==
        static_cast<double>(config.layers * 2 * heads * group.qk_dim * config.width));
  CHECK(budget.measured().size() == static_cast<size_t>(2 * config.layers * group.key_value_heads()));
  CHECK(std::accumulate(budget.measured().begin(), budget.measured().end(), 0.0) > 0);
  double last = 1e9;
  for (const double share : {0.3, 0.5, 0.7, 1.0}) {
    const double allowed = share * budget.costs().full(BudgetOf::parameters);
    const CompressionPlan plan = budget.spend(BudgetOf::parameters, allowed);
    const double cost = budget.costs().cost(BudgetOf::parameters, plan);
    INFO("share " << share);
    CHECK(cost <= allowed);
    CHECK(cost > 0.8 * allowed);
    const auto compressed = models::load(*search.model, search.heads->edit(plan));
    CHECK(static_cast<double>(search.model->parameter_count() - compressed->parameter_count()) ==
          Approx(budget.costs().full(BudgetOf::parameters) - cost));
    const double kl = budget.measured_kl(plan);
    CHECK(kl < last);
    last = kl;
  }
  CHECK(last == 0);  // all heads stay
}

TEST_CASE("a budget of the cache is spent on values, and on keys where a method narrows them", "[head budget]") {
  const HeadSearch both(QkMethod::whitened_rotated_grouped, VoMethod::whitened);
  const models::HeadGroup& group = both.model->config().groups[0];
  const double full = both.budget->costs().full(BudgetOf::cache);
  CHECK(full ==
        static_cast<double>(both.model->config().layers * group.key_value_heads() * (group.qk_dim + group.v_dim)));
  const CompressionPlan plan = both.budget->spend(BudgetOf::cache, 0.5 * full);
  CHECK(both.budget->costs().cost(BudgetOf::cache, plan) <= 0.5 * full);
  CHECK(HeadSearch(QkMethod::whitened_rotated_grouped, VoMethod::none).budget->costs().saved() == BudgetOf::cache);
  CHECK(both.budget->costs().cost(BudgetOf::cache, plan) > 0.4 * full);

  // Factors at full width do not make the cache smaller: with values alone half of it is the least.
  const HeadSearch values(QkMethod::none, VoMethod::whitened);
  CHECK_THAT(error_of([&] { (void)values.budget->spend(BudgetOf::cache, 0.4 * full); }),
             contains("budget: a share of 0.4 of the key-value cache is below the least possible, 0.625"));
  const HeadSearch factors(QkMethod::plain, VoMethod::none);
  CHECK(error_of([&] { (void)factors.budget->spend(BudgetOf::cache, 0.5 * full); }) ==
        "budget: plain does not make the key-value cache smaller");
}

TEST_CASE("the cheapest plan within a divergence keeps it, and half its budget does not", "[head budget]") {
  const HeadSearch search(QkMethod::whitened_grouped, VoMethod::none);
  const HeadBudget& budget = *search.budget;
  const double least = budget.costs().least(BudgetOf::parameters), full = budget.costs().full(BudgetOf::parameters);
  const double worst = budget.measured_kl(budget.spend(BudgetOf::parameters, least));
  const CompressionPlan plan = budget.within(BudgetOf::parameters, 0.3 * worst);
  CHECK(budget.measured_kl(plan) <= 0.3 * worst);
  const double cost = budget.costs().cost(BudgetOf::parameters, plan);
  CHECK(cost > least);
  CHECK(cost < full);
  CHECK(budget.measured_kl(budget.spend(BudgetOf::parameters, least + 0.5 * (cost - least))) > 0.3 * worst);
  CHECK(budget.costs().cost(BudgetOf::parameters, budget.within(BudgetOf::parameters, 2 * worst)) == Approx(least));
  CHECK_THAT(error_of([&] { (void)budget.within(BudgetOf::parameters, 0); }), contains("cannot be kept within"));
  const auto none = std::make_shared<HeadDecompositions>(*search.files, QkMethod::none, VoMethod::none);
  CHECK_THAT(error_of([&] { HeadBudget(none, search.probe, {0}); }), contains("no method to spend it on"));
}

TEST_CASE("where maps behind the turn add parameters, the cache is what is saved", "[head budget]") {
  const HeadSearch search(QkMethod::whitened_rotated_grouped, VoMethod::whitened);
  const HeadCosts& costs = search.budget->costs();
  const models::TransformerConfig& config = search.model->config();
  const int64_t dim = config.groups[0].qk_dim;
  const CompressionPlan equal =
      uniform_plan(config, QkMethod::whitened_rotated_grouped, VoMethod::whitened, dim - 1, dim - 1, search.layers);
  REQUIRE(costs.least(BudgetOf::parameters) < costs.full(BudgetOf::parameters));  // of narrow enough values
  CHECK(costs.saved() == BudgetOf::cache);
  CHECK(costs.cost(BudgetOf::cache, equal) < costs.full(BudgetOf::cache));
}

}  // namespace headroom::tasks
