#include "tasks/compression/cache_budget.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/error.h"
#include "engine/ops/packed_rows/packed_rows.h"
#include "models/costs.h"
#include "models/weights/sources.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"
#include "tests/tasks/compression/texts.h"

namespace headroom::tasks {
namespace {

using engine::BlockFormat;
using testing::contains;
using testing::error_of;
using testing::texts_of;

models::TransformerConfig random_config() {
  models::TransformerConfig config;
  config.groups = {{.heads = 4, .qk_dim = 32, .v_dim = 32, .kv_heads = 1}};
  config.width = 64, config.layers = 2, config.vocab = config.output_dim = 23;
  config.ffn_width = 32, config.max_length = 64;
  config.positions = models::Positions::rope;
  config.causal = true;
  config.init = {.scheme = models::InitScheme::normal, .std = 0.3};
  return config;
}

/// A random model, taken apart and probed: four places.
struct CacheSearch {
  engine::Rng rng{5};
  models::Transformer model{random_config(), rng};
  Calibration calibration = calibrate(model, texts_of(12, 0, 40, 23), {.needs = {.after_turn = true, .outputs = true}});
  models::NamedWeights weights{model.weights()};
  std::shared_ptr<HeadDecompositions> heads = std::make_shared<HeadDecompositions>(
      model.config(), weights, QkMethod::whitened_rotated_grouped, VoMethod::whitened, calibration);
  std::shared_ptr<LayerProbe> probe = std::make_shared<LayerProbe>(model, texts_of(2, 12, 40, 23), 0.5);
  CacheBudget budget{heads, probe};
};

/// Every way to hold a row of 32 numbers: {rank, format}.
std::vector<CacheChoice> every_choice() {
  std::vector<CacheChoice> all{{0, BlockFormat::f16},
                               {0, BlockFormat::q8_0},
                               {0, BlockFormat::q4_0},
                               {32, BlockFormat::q8_0},
                               {32, BlockFormat::q4_0}};
  for (int64_t rank = 4; rank <= 32; rank += 4) all.push_back({rank, BlockFormat::f16});
  return all;
}

/// The least expected loss of all plans of at most so many bytes.
double exhaustive(const CacheBudget& budget, int64_t bytes) {
  const std::vector<CacheChoice> all = every_choice();
  CompressionPlan plan = *budget.plain(BlockFormat::f16);
  double best = std::numeric_limits<double>::infinity();
  for (const CacheChoice& key0 : all)
    for (const CacheChoice& value0 : all)
      for (const CacheChoice& key1 : all)
        for (const CacheChoice& value1 : all) {
          plan.qk_ranks = {{key0.rank}, {key1.rank}}, plan.vo_ranks = {{value0.rank}, {value1.rank}};
          plan.cache = {{{key0.format, value0.format}}, {{key1.format, value1.format}}};
          if (budget.bytes(plan) <= bytes) best = std::min(best, budget.expected_kl(plan));
        }
  return best;
}

}  // namespace

TEST_CASE("a mix is within one choice of the best of all plans, and keeps its bytes", "[cache budget]") {
  const CacheSearch search;
  const CacheBudget& budget = search.budget;
  CHECK(budget.full() == 2 * 2 * 64);
  CHECK(budget.least() == 4 * 8);  // four directions in f16
  constexpr int64_t largest_step = 64;
  for (const int64_t bytes : {256, 190, 136, 100, 72, 60, 40, 32}) {
    INFO(bytes << " bytes");
    const CompressionPlan plan = budget.mixed(bytes);
    CHECK(budget.bytes(plan) <= bytes);
    CHECK(budget.expected_kl(plan) >= exhaustive(budget, bytes) - 1e-12);
    if (bytes - largest_step >= budget.least())
      CHECK(budget.expected_kl(plan) <= exhaustive(budget, bytes - largest_step) + 1e-12);
    // What the plan says is what its model takes and computes.
    const models::ModelEdit edit = search.heads->edit(plan);
    CHECK(models::cache_bytes(edit.config, models::named_cache_types()) == budget.bytes(plan));
    CHECK(search.probe->kl(edit, 0) == budget.measured(plan).kl);
  }
}

TEST_CASE("neighbours share a key and a value where that loses less", "[cache budget]") {
  models::TransformerConfig config = random_config();
  config.groups = {{.heads = 6, .qk_dim = 32, .v_dim = 32, .kv_heads = 3}};
  engine::Rng rng(5);
  const models::Transformer model(config, rng);
  constexpr QkMethod qk = QkMethod::whitened_rotated_grouped;
  constexpr VoMethod vo = VoMethod::whitened;
  models::NamedWeights weights{model.weights()};
  const TokenBatch texts = texts_of(12, 0, 40, 23);
  const Calibration calibration = calibrate(model, texts, {.needs = cache_budget_needs(qk, vo, config)});
  const auto heads = std::make_shared<HeadDecompositions>(config, weights, qk, vo, calibration);
  const auto probe = std::make_shared<LayerProbe>(model, texts_of(2, 12, 40, 23), 0.5);
  const CacheBudget budget(heads, probe);
  CHECK(budget.full() == 2 * 3 * 2 * 64);
  // 8 of 64 directions in f16 would be 16 bytes, twice 4 of 32 likewise; the third head has 8.
  CHECK(budget.least() == 2 * 2 * (16 + 8));
  int64_t with_joined = 0;
  for (const int64_t bytes : {768, 400, 300, 216, 180, 150, 120, 96}) {
    INFO(bytes << " bytes");
    const CompressionPlan plan = budget.mixed(bytes), alone = budget.mixed(bytes, false);
    CHECK(budget.bytes(plan) <= bytes);
    CHECK(budget.expected_kl(plan) <= budget.expected_kl(alone) * (1 + 1e-9) + 1e-12);
    const models::ModelEdit edit = heads->edit(plan);
    CHECK(models::cache_bytes(edit.config, models::named_cache_types()) == budget.bytes(plan));
    CHECK(probe->kl(edit, 0) == budget.measured(plan).kl);
    const MeasuredPlan bought = budget.spend(bytes);
    CHECK(budget.bytes(bought.plan) <= bytes);
    CHECK(bought.kl <= budget.measured(alone).kl);
    for (size_t layer = 0; layer < 2; ++layer)
      for (size_t head = 0; head < 3; ++head) with_joined += plan.is_joined(layer, head);
  }
  CHECK(with_joined > 0);
  models::NamedWeights again{model.weights()};
  const auto apart = std::make_shared<HeadDecompositions>(
      config, again, qk, vo, calibrate(model, texts, {.needs = {.after_turn = true, .outputs = true}}));
  CHECK_THAT(error_of([&] { CacheBudget(apart, probe); }),
             contains("the calibration did not look at neighbouring heads together"));
}

TEST_CASE("a budget buys no worse than the plain format that fits, and the same each time", "[cache budget]") {
  const CacheSearch search, again;
  const CacheBudget& budget = search.budget;
  for (const BlockFormat format : {BlockFormat::f16, BlockFormat::q8_0, BlockFormat::q4_0}) {
    const CompressionPlan plain = budget.plain(format).value();
    const int64_t bytes = budget.bytes(plain);
    CHECK(bytes == 4 * engine::packed_bytes(format, 32));
    const MeasuredPlan bought = budget.spend(bytes);
    CHECK(budget.bytes(bought.plan) <= bytes);
    CHECK(bought.kl <= budget.measured(plain).kl);
    CHECK(bought.kl == budget.measured(bought.plan).kl);
    CHECK(again.budget.spend(bytes).kl == bought.kl);
  }
  CHECK(budget.measured(budget.plain(BlockFormat::q4_0).value()).kl >
        10 * budget.measured(budget.plain(BlockFormat::q8_0).value()).kl);
}

TEST_CASE("a divergence is kept, with fewer bytes than all has; what cannot be met says what can", "[cache budget]") {
  const CacheSearch search;
  const CacheBudget& budget = search.budget;
  const double allowed = budget.measured(budget.mixed(100)).kl;
  const MeasuredPlan kept = budget.within(allowed);
  CHECK(budget.measured(kept.plan).kl <= allowed);
  CHECK(budget.bytes(kept.plan) < budget.full());
  CHECK_THAT(error_of([&] { (void)budget.within(1e-15); }), contains("the cache in f16 has"));
  CHECK_THAT(error_of([&] { (void)budget.within(0); }), contains("cannot be kept within"));
  CHECK(error_of([&] { (void)budget.spend(31); }) ==
        "cache budget: 31 bytes a token are below the least possible, 32: a share of 0.125 of f16");
  models::NamedWeights again{search.model.weights()};
  const auto plain =
      std::make_shared<HeadDecompositions>(search.model.config(), again, QkMethod::plain, VoMethod::none);
  CHECK_THAT(error_of([&] { CacheBudget(plain, search.probe); }),
             contains("plain does not make the keys in a cache narrower"));
}

TEST_CASE("kept losses are measured once, to the same plans, and a line that was cut off again", "[cache budget]") {
  const testing::TemporaryFolder folder;
  const auto file = folder / "out.losses";
  CacheSearch search;
  int runs = 0;
  const auto count = [&](int64_t, int64_t, double share) {
    CHECK(share < 1);
    ++runs;
  };
  const auto plan_of = [&](KeptLosses& kept) {
    return CacheBudget(search.heads, search.probe, count, &kept).spend(100).kl;
  };
  {
    KeptLosses kept(file, "one");
    CHECK(kept.found() == 0);
    CHECK(plan_of(kept) == search.budget.spend(100).kl);
  }
  const int all = std::exchange(runs, 0);
  CHECK(all == 12);
  std::string text = testing::read_bytes(file);
  testing::write_bytes(file, text.substr(0, text.size() / 2));
  {
    KeptLosses kept(file, "one");
    CHECK(plan_of(kept) == search.budget.spend(100).kl);
    CHECK(runs > 0);
    CHECK(runs < all);
  }
  CHECK(testing::read_bytes(file) == text);
  CHECK(KeptLosses(file, "two").found() == 0);
  testing::write_bytes(file, "x");
  CHECK_THAT(error_of([&] { KeptLosses(file, "one"); }), contains("is no file of measured losses"));
}

}  // namespace headroom::tasks
