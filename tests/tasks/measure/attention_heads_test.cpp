// What studies of trained models measure of every head: against transformers on small checkpoints, against other
// software's figures on SmolLM2, and on numbers that are known.
#include "tasks/measure/attention_heads.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/folder.h"

namespace headroom::tasks {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::contains;

std::string checkpoint(const std::string& name) {
  return testing::source_root() + "/tests/models/pretrained/checkpoints/" + name;
}

json fixture(const std::string& name) {
  return json::parse(testing::read_bytes(testing::source_root() + "/tests/tasks/measure/" + name));
}

HeadValues values(const std::vector<double>& of) { return {"jacobian_norm", 2, of}; }

}  // namespace

TEST_CASE("the measures of small models' heads are those of transformers", "[probe]") {
  const json all = fixture("head_measures.json");
  const auto tokens = all["tokens"].get<std::vector<int64_t>>(),
             positions = all["positions"].get<std::vector<int64_t>>();
  for (const auto& [name, layers] : all["models"].items()) {
    CAPTURE(name);
    const auto model = models::ModelFiles::open(checkpoint(name))->load();
    const AttentionProbe probe = probe_attention(*model, {tokens}, positions)[0];
    REQUIRE(std::ssize(layers) == model->config().layers);
    for (size_t layer = 0; layer < layers.size(); ++layer)
      for (size_t head = 0; head < layers[layer].size(); ++head)
        for (size_t i = 0; i < positions.size(); ++i) {
          AttentionProbe one(1, 1, 1);
          one.at(0, 0, 0) = probe.at(static_cast<int64_t>(layer), static_cast<int64_t>(head), static_cast<int64_t>(i));
          for (const auto& [measure, value] : layers[layer][head][i].items()) {
            CAPTURE(layer, head, positions[i], measure);
            CHECK(head_values(measure, {one}, 1, 1, positions[i] + 1).values[0] ==
                  Approx(value.get<double>()).epsilon(1e-4).margin(1e-6));
          }
          CHECK(one.at(0, 0, 0).violations == 0);
        }
  }
}

TEST_CASE("a quantile lies between its neighbours", "[probe]") {
  CHECK(quantile({3, 1, 2}, 0.5) == 2);
  CHECK(quantile({4, 1, 2, 3}, 0.5) == 2.5);
  CHECK(quantile({1, 2}, 0.25) == 1.25);
  CHECK(quantile({5}, 0.9) == 5);
  CHECK(quantile({1, 2, 3}, 1) == 3);
  CHECK_THROWS_WITH(quantile({}, 0.5), contains("of no values"));
}

TEST_CASE("a summary tells one head, its layer and all heads", "[probe]") {
  Metrics metrics;
  add_summary(metrics, values({1, 3, 5, 11}), 1, 0);
  CHECK(metrics.at("jacobian_norm") == 5);
  CHECK(metrics.at("layer_jacobian_norm") == 8);
  CHECK(metrics.at("mean_jacobian_norm") == 5);
  CHECK(metrics.at("median_jacobian_norm") == 4);
  CHECK(metrics.at("least_jacobian_norm") == 1);
  CHECK(metrics.at("low_jacobian_norm") == Approx(1.6));
  CHECK(metrics.at("high_jacobian_norm") == Approx(9.2));
  CHECK(metrics.at("most_jacobian_norm") == 11);
}

TEST_CASE("a trend tells slopes and ratios head by head", "[probe]") {
  HeadTrend trend{{2, 4, 8}, {}, 0.9, 1.7};
  for (const double x : trend.x) trend.at.push_back(values({1 / x, 1, x * x, 2 / x}));
  Metrics metrics;
  add_trend(metrics, trend, 0, 0);
  CHECK(metrics.at("slope") == Approx(-1));
  CHECK(metrics.at("slope_0") == Approx(-1));
  CHECK(metrics.at("slope_50") == Approx(-0.5));
  CHECK(metrics.at("slope_100") == Approx(2));
  CHECK(metrics.at("heads_near_minus_1") == 2);
  CHECK(metrics.at("heads_flatter") == 2);
  CHECK(metrics.at("ratio") == Approx(4));
  CHECK(metrics.at("least_ratio") == Approx(1));
  CHECK(metrics.at("most_ratio") == Approx(16));
  CHECK(metrics.at("median_ratio") == Approx(4));
  CHECK(metrics.at("heads_within_4") == 3);
  CHECK(metrics.at("heads_in_band") == 1);
  for (const std::string& name : trend_names()) CHECK(metrics.contains(name));
  trend.at[1].values[2] = 0;
  CHECK_THROWS_WITH(add_trend(metrics, trend, 0, 0), contains("a value is 0, which has no logarithm"));
  trend.x = {2};
  CHECK_THROWS_WITH(add_trend(metrics, trend, 0, 0), contains("expected at least two x"));
}

TEST_CASE("a seed is a span, and an average is over the spans from it on", "[probe]") {
  AttentionHeadsConfig config{.model = {.model = checkpoint("llama2-gqa")}, .text = {.text = "random"}, .length = 12};
  config.layer = 1;
  config.head = 4;
  const AttentionHeads spans(config, {});
  const Metrics first = spans.compute(0), second = spans.compute(1);
  CHECK(first.at("jacobian_norm") != second.at("jacobian_norm"));
  CHECK(spans.compute(0) == first);
  config.spans = 2;
  const Metrics both = AttentionHeads(config, {}).compute(0);
  CHECK(both.at("jacobian_norm") == Approx((first.at("jacobian_norm") + second.at("jacobian_norm")) / 2));
  CHECK(both.at("mean_entropy") == Approx((first.at("mean_entropy") + second.at("mean_entropy")) / 2));
  CHECK(both.at("violations") == 0);
  CHECK(spans.data_hashes().size() == 2);  // config.json and model.safetensors

  config.trend = "jacobian_norm";
  const Metrics trend = AttentionHeads(config, {}).compute(0);
  CHECK(trend.at("slope") < 0);
  for (const auto& entry : trend) CHECK(metric_names_of(config).contains(entry.first));
  config.model.is_random = true;
  CHECK(AttentionHeads(config, {}).compute(0).at("mean_slope") == Approx(-1).margin(0.05));  // all logits near 0
}

TEST_CASE("which query is looked at", "[probe]") {
  AttentionHeadsConfig config{.model = {.model = checkpoint("smollm2")}, .text = {.text = "random"}, .length = 10};
  StudiedModel model(config.model, {});
  const std::vector<int64_t> span = model.span(config.text, 10, 0);
  const auto probe = probe_attention(model.transformer(), {span}, {5, 6, 9})[0];
  const auto norm = [&] { return AttentionHeads(config, {}).compute(0).at("jacobian_norm"); };
  CHECK(norm() == probe.at(0, 0, 2).jacobian_norm);
  config.at = StudiedQuery::middle;
  CHECK(norm() == probe.at(0, 0, 0).jacobian_norm);
  config.at = StudiedQuery::numbered;
  config.query = 7;
  CHECK(norm() == probe.at(0, 0, 1).jacobian_norm);
  config.query = 11;
  CHECK_THROWS_WITH(AttentionHeads(config, {}), contains("query: expected 1..length = 10, got 11"));
}

TEST_CASE("a model, a text or a span that is not there is named", "[probe]") {
  const testing::TemporaryFolder given;
  AttentionHeadsConfig config{.model = {.model = "no-such.gguf"}, .text = {.text = "random"}, .length = 12};
  const DataRoots roots{given.path(), ""};
  CHECK_THROWS_WITH(
      AttentionHeads(config, roots).check(),
      contains("no-such.gguf: there is no such model at no-such.gguf, " + (given / "models/no-such.gguf").string()) &&
          contains("HEADROOM_DATA"));
  fs::create_directories(given / "models");
  fs::create_directory_symlink(checkpoint("smollm2"), given / "models/small");
  config.model.model = "small";
  AttentionHeads(config, roots).check();
  config.text.text = "none.txt";
  CHECK_THROWS_WITH(AttentionHeads(config, roots).check(), contains("none.txt: no such file"));
  config.text.text = "random";
  config.length = 65;
  CHECK_THROWS_WITH(AttentionHeads(config, roots).check(),
                    contains("length: 65 is longer than the context of small, which is 64"));
  config.length = 12;
  config.layer = 2;
  CHECK_THROWS_WITH(AttentionHeads(config, roots).check(), contains("small: has 2 layers of 3 heads"));
  config.layer = 0;
  config.trend = "norm";
  CHECK_THROWS_WITH(AttentionHeads(config, roots), contains("trend: norm is not measured"));
}

TEST_CASE("SmolLM2's heads are as other software measures them", "[probe]") {
  const char* data = std::getenv("HEADROOM_DATA");
  const DataRoots roots{data != nullptr ? data : "", ""};
  const std::string name = "SmolLM2-135M-Instruct.Q4_1.gguf";
  if (data == nullptr || !fs::exists(roots.given / "models" / name))
    return testing::skip("no models/" + name + " under HEADROOM_DATA");
  const json tables = fixture("smollm2_heads.json");
  const std::string spans = testing::source_root() + "/experiments/data/smollm2_spans.json";
  AttentionHeadsConfig config{.model = {.model = name}, .text = {.spans = spans}, .spans = 10};
  const auto compare = [&](const json& row) {
    const Metrics metrics = AttentionHeads(config, roots).compute(0);
    for (const auto& [measure, value] : row.items()) {
      CAPTURE(config.length, config.query, measure);
      CHECK(metrics.at(measure) == Approx(value.get<double>()).epsilon(0.005));  // printed with three digits
    }
    CHECK(metrics.at("violations") == 0);
  };
  const AttentionHeads holder(config, roots);  // keeps the model in memory
  holder.check();
  for (const int64_t length : {4, 8, 16, 32, 64, 128}) {  // the longer ones agree, too, and take longer
    config.length = length;
    config.at = StudiedQuery::last;
    compare(tables["last"][std::to_string(length)]);
    config.at = StudiedQuery::middle;
    compare(tables["middle"][std::to_string(length)]);
  }
  // A query sees nothing of what comes after it: the spans of 1024, their first 128 tokens.
  const testing::TemporaryFolder folder;
  const json starts = json::parse(testing::read_bytes(spans))["1024"];
  testing::write_bytes(folder / "spans.json", json{{"128", starts}}.dump());
  config.text.spans = (folder / "spans.json").string();
  config.at = StudiedQuery::numbered;
  config.length = 128;
  for (config.query = 2; config.query <= 128; config.query *= 2)
    compare(tables["numbered"][std::to_string(config.query)]);
}

}  // namespace headroom::tasks
