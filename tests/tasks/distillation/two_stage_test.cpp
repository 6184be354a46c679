// Heads as factors, refined on a text, distilled from a classifier; stopped at any step it comes to the same.
#include "tasks/distillation/two_stage.h"

#include <cmath>
#include <fstream>

#include "engine/ops/matmul/matmul.h"
#include "engine/parallel.h"
#include "tasks/finetune/sentence_classification.h"
#include "tests/models/pretrained/checkpoints.h"
#include "tests/support/distance.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

namespace headroom::tasks {
namespace {

using engine::Tensor;
using namespace testing;

TwoStageConfig small_config() {
  const std::string tests = testing::source_root() + "/tests/";
  TwoStageConfig config;
  config.source.model = (checkpoints() / "smollm2").string();
  config.source.text = config.source.validation = tests + "models/pretrained/text.txt";
  config.source.sentences = tests + "tasks/distillation/train.tsv";
  config.source.dev = tests + "tasks/distillation/dev.tsv";
  config.source.window = config.source.validation_window = 16;
  config.source.validation_tokens = 64;
  config.layers = "1";
  config.rank = 2;
  config.teacher = {.epochs = 2, .batch = 8, .rate = 3e-3};
  config.one = {.steps = 6, .batch = 2, .rate = 3e-3};
  config.two = {.epochs = 2, .batch = 8, .rate = 3e-3};
  return config;
}

}  // namespace

TEST_CASE("McNemar's test counts what only one of two has right", "[distillation]") {
  const std::vector<uint8_t> a{1, 1, 1, 1, 1, 1, 0, 0, 0}, b{0, 0, 0, 0, 0, 1, 1, 0, 0};
  const McNemar test = mcnemar(a, b);
  CHECK(test.only_first == 5);
  CHECK(test.only_second == 1);
  CHECK(test.p == Approx(2 * (1.0 + 6) / 64));  // none or one of six coins, either way
  CHECK(mcnemar(b, a).p == Approx(test.p));
  CHECK(mcnemar(a, a).p == 1);
  CHECK(mcnemar({1, 0}, {0, 1}).p == 1);
  CHECK_THROWS_WITH(mcnemar({1}, {}), contains("1 items against 0"));
}

TEST_CASE("factored heads of full rank are the model, of lower rank each head's truncated SVD", "[distillation]") {
  const auto base = models::ModelFiles::open(checkpoints() / "llama3.1")->load({.keep = models::Keep::computed});
  const Tensor tokens = Tensor::from<int64_t>({1, 6}, {3, 1, 4, 1, 5, 9});
  const autograd::NoGrad no_grad;
  const Tensor wanted = base->forward(tokens).value();
  const int64_t dim = models::layers_of(base->config())[1].groups[0].qk_dim;
  engine::Rng rng(1);
  const models::ModelEdit full = factored_heads(*base, {.layers = {0, 1}, .rank = dim}, rng);
  CHECK(distance(models::load(*base, full)->forward(tokens).value(), wanted) < 1e-4);
  const models::ModelEdit low = factored_heads(*base, {.layers = {1}, .rank = 1}, rng);
  CHECK(low.weights.size() == 4);
  for (const auto& [name, tensor] : low.weights) {
    INFO(name);
    CHECK(is_head_factor(name));
    CHECK(contains("blocks.1.attention.0.").match(name));
  }
  CHECK(models::layers_of(low.config)[0] == models::layers_of(base->config())[0]);
  CHECK(distance(models::load(*base, low)->forward(tokens).value(), wanted) > 1e-3);
  // Both factors of a value share it: |L| = |R| = √s.
  double left = 0, right = 0;
  for (const float x : low.weights[0].second.slice(0, 0, dim).to_vector<float>()) left += x * x;
  for (const float x : low.weights[1].second.slice(0, 0, 1).to_vector<float>()) right += x * x;
  CHECK(left == Approx(right).epsilon(1e-5));
  // The nearest matrix of rank 1 leaves an error that is orthogonal to it.
  const Tensor product = engine::matmul(low.weights[0].second.slice(0, 0, dim).contiguous(),
                                        low.weights[1].second.slice(0, 0, 1).contiguous());
  const auto w = base->attention(1).group(0).q_proj().weight().values(engine::DType::f32).slice(0, 0, dim).contiguous();
  const auto x = product.to_vector<double>(), y = w.to_vector<double>();
  double inner = 0, square = 0;
  for (size_t i = 0; i < x.size(); ++i) inner += x[i] * (y[i] - x[i]), square += x[i] * x[i];
  CHECK(std::abs(inner) < 1e-5 * square);
  const models::ModelEdit drawn = factored_heads(*base, {.layers = {1}, .rank = 2, .init = FactorInit::kaiming}, rng);
  double spread = 0;
  for (const float v : drawn.weights[0].second.to_vector<float>()) spread += v * v;
  CHECK(spread / static_cast<double>(drawn.weights[0].second.numel()) == Approx(1).margin(0.4));  // 2 / rank
  CHECK_THROWS_WITH(factored_heads(*base, {.layers = {7}}, rng), contains("there is no layer 7, the model has 2"));
  CHECK_THROWS_WITH(factored_heads(*base, {.layers = {0}, .rank = dim + 1}, rng), contains("expected 1 to d_H"));
}

TEST_CASE("rows of two stages share what they have in common, and tell what they should", "[distillation]") {
  const TemporaryFolder folder;
  const MeasurementRun how{.folder = folder.path()};
  const auto row = [&](const std::function<void(TwoStageConfig&)>& change) {
    TwoStageConfig config = small_config();
    change(config);
    const TwoStage study(config, {});
    study.check();
    const Metrics metrics = *study.run(3, how);
    const std::set<std::string> names = metric_names_of(config);
    CHECK(metrics.size() == names.size());
    for (const std::string& name : names) CHECK(metrics.contains(name));
    return metrics;
  };
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator());
  };
  const Metrics both = row([](TwoStageConfig&) {});
  CHECK(files() == 5);  // teacher, factors, stage I, stage II, the whole model's loss
  CHECK(both.at("stage1_distillation") < both.at("init_distillation"));
  CHECK(both.at("init_distillation") > 0);
  const Metrics no_one = row([](TwoStageConfig& c) { c.has_stage_one = false; });
  CHECK(files() == 6);
  CHECK(no_one.at("stage1_loss") == both.at("init_loss"));
  CHECK(no_one.at("init_loss") == both.at("init_loss"));
  CHECK(no_one.at("reference_accuracy") == both.at("accuracy"));
  const Metrics no_two = row([](TwoStageConfig& c) { c.has_stage_two = false; });
  CHECK(no_two.at("stage1_loss") == both.at("stage1_loss"));
  CHECK(files() == 7);
  const Metrics teacher = row([](TwoStageConfig& c) { c.row = TwoStageRow::teacher; });
  CHECK(files() == 7);
  CHECK(teacher.at("only_reference") - teacher.at("only_this") ==
        Approx(16 * (both.at("accuracy") - teacher.at("accuracy"))));
  CHECK(row([](TwoStageConfig& c) { c.row = TwoStageRow::head_only; }).at("reference_accuracy") == both.at("accuracy"));
  CHECK(row([](TwoStageConfig& c) { c.init = FactorInit::kaiming; }).at("init_loss") != both.at("init_loss"));
  // Without a folder, and on two threads, the same.
  const engine::ThreadScope two(2);
  CHECK(TwoStage(small_config(), {}).compute(3) == both);
}

TEST_CASE("two stages that are stopped at any step go on to the same bits", "[distillation]") {
  const Metrics wanted = TwoStage(small_config(), {}).compute(1);
  const TemporaryFolder folder;
  int64_t stops = 0, calls = 0;
  // A new process each time: it is stopped at its second step.
  for (std::optional<Metrics> metrics; !metrics; ++stops) {
    REQUIRE(stops < 100);
    calls = 0;
    const MeasurementRun how{.folder = folder.path(), .on_step = [&](int64_t, double) { return ++calls < 3; }};
    metrics = TwoStage(small_config(), {}).run(1, how);
    if (metrics) CHECK(*metrics == wanted);
  }
  CHECK(stops > 5);
  // A stage whose file is damaged is made again.
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    CHECK(entry.path().filename().string().find("unfinished") == std::string::npos);
    std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry.path()) / 2);
  }
  CHECK(*TwoStage(small_config(), {}).run(1, {.folder = folder.path()}) == wanted);
}

TEST_CASE("two stages that cannot be say why", "[distillation]") {
  const auto error = [](const std::function<void(TwoStageConfig&)>& change) {
    TwoStageConfig config = small_config();
    change(config);
    return error_of([&] { TwoStage(config, {}).check(); });
  };
  CHECK_THAT(error([](TwoStageConfig& c) { c.rank = 0; }), contains("rank: expected >= 1, got 0"));
  CHECK_THAT(error([](TwoStageConfig& c) { c.rank = 99; }), contains("rank 99: expected 1 to d_H = 8"));
  CHECK_THAT(error([](TwoStageConfig& c) { c.layers = "0-7"; }), contains("7"));
  CHECK_THAT(error([](TwoStageConfig& c) { c.two.rate = 0; }), contains("two.rate: expected > 0"));
  CHECK_THAT(error([](TwoStageConfig& c) { c.source.validation_tokens = 8; }), contains("validation_tokens: expected"));
  CHECK_THAT(error([](TwoStageConfig& c) { c.source.dev = "no-such.tsv"; }), contains("no-such.tsv"));
}

}  // namespace headroom::tasks
