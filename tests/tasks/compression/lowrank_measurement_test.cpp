// What a study of low-rank heads measures.
#include "tasks/compression/lowrank_measurement.h"

#include <cmath>
#include <regex>

#include "tasks/layer_set.h"
#include "tasks/measure/text_tokens.h"
#include "tests/models/pretrained/checkpoints.h"

namespace headroom::tasks {
namespace {

using testing::contains;

LowRankConfig small_study() {
  const std::string text = testing::source_root() + "/tests/models/pretrained/text.txt";
  LowRankConfig config;
  config.model.model = (testing::checkpoints() / "smollm2").string();
  config.text.text = config.calibration_text.text = text;
  config.tokens = 80;
  config.context = 20;
  config.calibration = {100, 180};
  config.rank = 3;
  return config;
}

}  // namespace

TEST_CASE("layers are named in words", "[compression]") {
  CHECK(layers_named("all", 3, 0) == std::set<int64_t>{0, 1, 2});
  CHECK(layers_named("odd", 5, 0) == std::set<int64_t>{1, 3});
  CHECK(layers_named("0-2,7", 8, 0) == std::set<int64_t>{0, 1, 2, 7});
  CHECK(layers_named("deepest:2", 8, 0) == std::set<int64_t>{6, 7});
  CHECK(layers_named("random:4", 30, 1).size() == 4);
  CHECK(layers_named("random:4", 30, 1) == layers_named("random:4", 30, 1));
  CHECK(layers_named("random:4", 30, 1) != layers_named("random:4", 30, 2));
  CHECK_THROWS_WITH(layers_named("0-8", 8, 0), contains("there is no layer 8, the model has 8 (0 to 7)"));
  CHECK_THROWS_WITH(layers_named("3-1", 8, 0), contains("3-1 in '3-1' is reversed"));
  CHECK_THROWS_WITH(layers_named("deepest:9", 8, 0), contains("'deepest:9' of a model with 8 layers"));
  for (const char* wrong : {"", "x", "1,", "-1", "1-", "deepest:", "random:x", "1;2"})
    CHECK_THROWS_AS(validate_layer_set(wrong), Error);
}

TEST_CASE("a model that differs from some layer on is measured as if it ran whole", "[compression]") {
  const auto files = models::ModelFiles::open(testing::checkpoints() / "smollm2");
  const auto base = files->load({.keep = models::Keep::computed});
  const auto tokenizer = files->tokenizer();
  const std::vector<int32_t> tokens = testing::some_tokens(100);
  const PerplexityOptions options{.context = 20, .windows_at_once = 2};
  const HeadDecompositions heads(*files, QkMethod::plain, VoMethod::none);
  const auto edit = heads.edit(uniform_plan(base->config(), QkMethod::plain, VoMethod::none, 2, 0, {1}));
  const auto changed = models::load(*base, edit);
  const Perplexity whole = measure_perplexity(*changed, *tokenizer, tokens, options, base.get());
  for (const double most_bytes : {1e9, 1.0}) {  // states before every layer, and before the first alone
    const PerplexityBase kept(*base, *tokenizer, tokens, options, most_bytes);
    CHECK(kept.uncompressed().nll == measure_perplexity(*base, *tokenizer, tokens, options).nll);
    const Perplexity own = kept.measure(*changed, 1);
    CHECK(own.nll == whole.nll);
    CHECK(own.against->kl_mean == whole.against->kl_mean);
  }
}

TEST_CASE("the study's numbers", "[compression]") {
  const LowRankConfig config = small_study();
  const Metrics metrics = LowRankMeasurement(config, {}).compute(0);
  CHECK(metrics.at("ratio") == Approx(metrics.at("perplexity") / metrics.at("base_perplexity")));
  CHECK(metrics.at("kl") > 0);
  CHECK(metrics.at("cache_share") == 1);
  // 2 layers of (3 + 1) heads, each 8 × 24 numbers in 3 · (8 + 24).
  const auto files = models::ModelFiles::open(config.model.model);
  const auto base = files->load({.keep = models::Keep::computed});
  CHECK(metrics.at("model_parameters") == static_cast<double>(base->parameter_count() - 2 * 4 * (8 * 24 - 3 * 32)));
  for (const auto& [name, value] : metrics) CHECK(metric_names_of(config).contains(name));
  CHECK(metrics.size() == metric_names_of(config).size());

  LowRankConfig whole = config;
  whole.rank = 8;
  CHECK(LowRankMeasurement(whole, {}).compute(0).at("ratio") == Approx(1).epsilon(1e-5));

  LowRankConfig each = config;
  each.layers = "each";
  const Metrics layers = LowRankMeasurement(each, {}).compute(0);
  for (const char* layer : {"0", "1"}) {
    LowRankConfig one = config;
    one.layers = layer;
    const double ratio = LowRankMeasurement(one, {}).compute(0).at("ratio");
    CHECK(ratio <= layers.at("ratio"));
    CHECK(ratio >= layers.at("least_ratio"));
    if (layers.at("most_layer") == std::stod(layer)) CHECK(ratio == layers.at("ratio"));
  }
}

TEST_CASE("the study scores what has half of the context before it", "[compression]") {
  LowRankConfig config = small_study();
  config.protocol = PerplexityProtocol::llamacpp;
  const auto files = models::ModelFiles::open(config.model.model);
  const auto base = files->load({.keep = models::Keep::computed});
  std::vector<int32_t> tokens = tokens_of_file(config.text.text, *files->tokenizer());
  tokens.resize(static_cast<size_t>(config.tokens));
  const Perplexity late = measure_perplexity(
      *base, *files->tokenizer(), tokens,
      {.protocol = PerplexityProtocol::llamacpp, .context = config.context, .bos = files->description().text_begin()});
  CHECK(LowRankMeasurement(config, {}).compute(0).at("base_perplexity") == Approx(late.ppl).epsilon(1e-6));
  CHECK(LowRankMeasurement(small_study(), {}).compute(0).at("base_perplexity") != Approx(late.ppl).epsilon(1e-3));
  config.protocol = PerplexityProtocol::hf_strided;
  CHECK_THROWS_WITH(LowRankMeasurement(config, {}), contains("protocol: expected disjoint or llamacpp"));
}

TEST_CASE("the study without some heads, or layers", "[compression]") {
  LowRankConfig config = small_study();  // heads of width 8, of which 2 layers have 3 with 1 key
  config.qk = QkMethod::none;
  config.rank = 4;
  for (const RemovedPart part : {RemovedPart::heads, RemovedPart::attention, RemovedPart::layers}) {
    INFO(name_of(part));
    config.removed = part;
    config.spread = RankSpread::measured;
    const Metrics measured = LowRankMeasurement(config, {}).compute(0);
    CHECK(measured.at("kl") > 0);
    CHECK(measured.at("parameter_share") < 1);
    if (part != RemovedPart::heads) CHECK(measured.at("cache_share") == 0.5);
    CHECK(measured == LowRankMeasurement(config, {}).compute(1));
    config.spread = RankSpread::equal;
    std::set<double> ratios;
    for (const uint64_t seed : {0, 1, 2, 3, 4, 5})
      ratios.insert(LowRankMeasurement(config, {}).compute(seed).at("ratio"));
    CHECK(ratios.size() >= 2);
  }
  config.rank = 8;
  CHECK(LowRankMeasurement(config, {}).compute(0).at("ratio") == 1);
  config.rank = 6, config.removed = RemovedPart::heads, config.spread = RankSpread::measured;  // one or two of six go
  const Metrics cut = LowRankMeasurement(config, {}).compute(0);
  config.refits_output = true;
  const Metrics refitted = LowRankMeasurement(config, {}).compute(0);
  CHECK(refitted.at("parameter_share") == cut.at("parameter_share"));
  CHECK(refitted.at("kl") != cut.at("kl"));
  config.removed = RemovedPart::layers;
  CHECK_THROWS_WITH(LowRankMeasurement(config, {}), contains("refit: fits the output of heads that stay"));
}

TEST_CASE("a study that was stopped goes on among the losses that it had measured", "[compression]") {
  const testing::TemporaryFolder folder;
  LowRankConfig config = small_study();
  config.spread = RankSpread::measured;
  const auto measured = [&] { return *LowRankMeasurement(config, {}).run(0, {.folder = folder.path()}); };
  for (const bool removes : {false, true}) {
    if (removes) config.qk = QkMethod::none, config.removed = RemovedPart::heads, config.rank = 6;
    const Metrics whole = LowRankMeasurement(config, {}).compute(0);
    CHECK(measured() == whole);
    const std::filesystem::path file = std::filesystem::directory_iterator(folder.path())->path();
    const std::string text = testing::read_bytes(file);
    testing::write_bytes(file, text.substr(0, text.size() / 2));
    CHECK(measured() == whole);
    CHECK(testing::read_bytes(file) == text);
    testing::write_bytes(file, std::regex_replace(text, std::regex("(/[0-9]+) [^ ]+\n"), "$1 1\n"));
    CHECK(measured() != whole);  // it goes by what is written there
    std::filesystem::remove(file);
  }
}

TEST_CASE("the truncated SVD cannot be refined by its own weights", "[compression]") {
  LowRankConfig config = small_study();
  config.refinement = Refinement::weights;
  const Metrics refined = LowRankMeasurement(config, {}).compute(0);
  CHECK(refined.at("gradient_share") < 1e-4);
  CHECK(refined.at("error_ratio") > 1 - 1e-6);
  CHECK(refined.at("update_norm") > 0);
  // From factors that are not the best ones there is something to gain.
  const auto files = models::ModelFiles::open(config.model.model);
  const HeadDecompositions heads(*files, QkMethod::plain, VoMethod::none);
  const models::TransformerConfig& base = files->description().config;
  models::ModelEdit edit = heads.edit(uniform_plan(base, QkMethod::plain, VoMethod::none, 3, 0, {0, 1}));
  for (auto& [name, tensor] : edit.weights) {
    tensor = tensor.clone();
    for (int64_t i = 0; i < tensor.numel(); i += 3) tensor.mutable_data<float>()[i] *= 0.5F;
  }
  const auto weights = files->weights({.keep = models::Keep::computed});
  const WeightRefinement better = refine_weights(base, *weights, edit, {.lr = 1e-3});
  CHECK(better.gradient > 0.1 * better.gradient_scale);
  CHECK(better.error_after < 0.9 * better.error_before);
}

TEST_CASE("refined heads are validated on the calibration, unless they train on it", "[compression]") {
  LowRankConfig config = small_study();
  config.refinement = Refinement::logits;
  config.training = {.steps = 2, .batch = 2, .context = 16, .warmup = 1};
  config.refinement_text = config.text, config.refinement_tokens = {180, 400};
  Metrics validation;
  const Metrics metrics = *LowRankMeasurement(config, {}).run(0, {.validation = &validation});
  CHECK(validation.at("ratio") != metrics.at("ratio"));
  CHECK(validation.at("last_loss") == metrics.at("last_loss"));
  const auto files = models::ModelFiles::open(config.model.model);
  const auto base = files->load({.keep = models::Keep::computed});
  const auto tokenizer = files->tokenizer();
  const std::vector<int32_t> tokens = tokens_of_file(config.text.text, *tokenizer);
  const Perplexity whole =
      measure_perplexity(*base, *tokenizer, {tokens.begin() + 100, tokens.begin() + 180}, {.context = config.context});
  CHECK(validation.at("base_perplexity") == whole.ppl);
  validation.clear();
  config.refinement_tokens.begin = 179;
  CHECK(LowRankMeasurement(config, {}).run(0, {.validation = &validation}));
  CHECK(validation.empty());
}

TEST_CASE("a text of 16 windows gives its metrics an error", "[compression]") {
  LowRankConfig config = small_study();
  std::map<std::string, std::vector<double>> parts;
  LowRankMeasurement(config, {}).run(0, {.parts = &parts});
  CHECK(parts.empty());  // four windows
  config.context = 5;
  const Metrics metrics = *LowRankMeasurement(config, {}).run(0, {.parts = &parts});
  REQUIRE(parts.at("ratio").size() == 16);
  double mean = 0;
  for (const double part : parts.at("ratio")) mean += part / 16;
  CHECK(mean == Approx(metrics.at("ratio")).epsilon(0.02));
  parts.clear();
  config.layers = "each";  // of the most sensitive layer, which is none of all parts
  LowRankMeasurement(config, {}).run(0, {.parts = &parts});
  CHECK(parts.empty());
}

TEST_CASE("studies that cannot be are refused", "[compression]") {
  const auto error = [](const auto& change) {
    LowRankConfig config = small_study();
    change(config);
    try {
      LowRankMeasurement(config, {}).check();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(error([](LowRankConfig&) {}) == "");
  CHECK_THAT(error([](LowRankConfig& c) {
               c.calibration = {79, 150};
             }),
             contains("calibration: tokens 79:150 overlap those that are predicted, 0:80"));
  CHECK_THAT(error([](LowRankConfig& c) { c.rank = 9; }), contains("qk of rank 9: its heads are of width 8"));
  CHECK_THAT(error([](LowRankConfig& c) { c.tokens = 10; }),
             contains("tokens: expected at least the context of 20, got 10"));
  CHECK_THAT(error([](LowRankConfig& c) { c.layers = "2"; }), contains("there is no layer 2"));
  CHECK_THAT(error([](LowRankConfig& c) { c.qk = QkMethod::none; }), contains("qk: expected a method, or vo one"));
  CHECK_THAT(error([](LowRankConfig& c) { c.removed = RemovedPart::heads; }), contains("or pieces that are removed"));
  CHECK_THAT(error([](LowRankConfig& c) { c.qk = QkMethod::none, c.removed = RemovedPart::heads, c.rank = 9; }),
             contains("heads of width 9 kept in the mean: they are 8 wide"));
  CHECK_THAT(error([](LowRankConfig& c) {
               c.qk = QkMethod::pca, c.calibration = {100, 90000};
             }),
             contains("calibration needs 100:90000"));
  CHECK_THAT(error([](LowRankConfig& c) { c.qk = QkMethod::pca, c.refinement = Refinement::weights; }),
             contains("by weights it needs qk plain, got pca"));
}

}  // namespace headroom::tasks
