#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "experiments/studies/config/schema.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/toml/document.h"
#include "experiments/tools/plan/model_config.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;
using nlohmann::json;

namespace {

bool fits(const Value& value, const json& schema);

bool object_fits(const Value& value, const json& schema) {
  for (const Entry& entry : value.table) {
    const json& properties = schema["properties"];
    if (properties.contains(entry.key) ? !fits(entry.value, properties[entry.key])
                                       : !schema["additionalProperties"].get<bool>())
      return false;
  }
  const json required = schema.value("required", json::array());
  return std::all_of(required.begin(), required.end(), [&](const json& key) { return value.find(key); });
}

/// Whether a TOML value is what a JSON Schema needs: the part of draft 7 that schema_json() writes.
bool fits(const Value& value, const json& schema) {
  if (schema.contains("anyOf"))
    return std::any_of(schema["anyOf"].begin(), schema["anyOf"].end(),
                       [&](const json& alternative) { return fits(value, alternative); });
  if (schema.contains("enum"))
    return std::find(schema["enum"].begin(), schema["enum"].end(), value.text) != schema["enum"].end();
  const std::string type = schema.value("type", "");
  if (type == "object") return value.kind == Value::Kind::table && object_fits(value, schema);
  if (type == "array")
    return value.kind == Value::Kind::list &&
           std::all_of(value.list.begin(), value.list.end(), [&](const Value& v) { return fits(v, schema["items"]); });
  if (type == "boolean") return value.kind == Value::Kind::boolean;
  if (type == "string") return value.kind == Value::Kind::text;
  if (type == "integer" || type == "number")
    return (type == "integer" ? value.kind == Value::Kind::integer : value.is_number()) &&
           value.number() >= schema.value("minimum", value.number()) &&
           value.number() <= schema.value("maximum", value.number());
  return type.empty();  // any value
}

}  // namespace

TEST_CASE("the schema has every key once per condition, with a line on each") {
  std::set<std::string> seen;
  for (const Key& key : study_schema()) {
    CAPTURE(key.path, key.condition);
    CHECK(seen.insert(key.path + "\n" + key.condition + "\n" + (key.type == Key::Type::table ? "table" : "")).second);
    CHECK(!key.doc.empty());
    CHECK((key.type == Key::Type::word) == !key.words.empty());
  }
  for (const char* path : {"study.id", "task.kernel.n", "model.groups.qk_dim", "model.heads", "train.optimizer.lr",
                           "train.schedule.kind", "sweep.zip", "series.name", "report.also.metric", "claim.kind"})
    CHECK(seen.count(path) +
              std::count_if(seen.begin(), seen.end(),
                            [&](const std::string& line) { return line.rfind(std::string(path) + "\n", 0) == 0; }) >
          0);
}

TEST_CASE("a key that several kinds of claim have stands once, under all of them") {
  std::vector<std::string> conditions;
  for (const Key& key : study_schema())
    if (key.path == "claim.low" || key.path == "claim.at") conditions.push_back(key.condition);
  CHECK(conditions ==
        std::vector<std::string>{"with kind = \"within_factor\" or \"worse_than_best\" or \"less_than\" or "
                                 "\"within_percent\"",
                                 "with kind = \"optimum_at\" or \"slope\" or \"band\" or \"steps_ratio\""});
}

TEST_CASE("the schema as text") {
  const std::string text = schema_text(study_schema());
  CHECK(contains(text, "\n[model]  # the Transformer\n"));
  CHECK(contains(text, " integer in [1, 16777216], required\n"));
  CHECK(contains(text, " integer in [1, 16777216], default width / heads\n"));
  CHECK(contains(text, "  with task.kind = \"linear-functional\"\n"));
  CHECK(contains(text, "[[claim]]"));
  CHECK(contains(text, "words; headroom schema report.y.metric lists them)"));
  const std::string metric = schema_text(study_schema(), "report.y.metric", 80);
  CHECK(metric.starts_with("[report]"));
  CHECK(contains(metric, "perplexity"));
  CHECK(!contains(metric, "lists them"));
  CHECK(!contains(metric, "label"));
  std::istringstream lines(metric);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
}

TEST_CASE("the JSON Schema takes the studies of this repository and refuses mistakes") {
  const json schema = json::parse(schema_json(study_schema()));
  CHECK(schema["$schema"] == "http://json-schema.org/draft-07/schema#");
  size_t studies = 0;
  for (const auto& entry : std::filesystem::directory_iterator(headroom::testing::source_root() + "/experiments")) {
    if (entry.path().extension() != ".toml") continue;
    ++studies;
    CAPTURE(entry.path().string());
    const Value study = read_toml(entry.path().string());
    for (const Entry& table : study.table) {
      CAPTURE(table.key);
      CHECK(schema["properties"].contains(table.key));
      CHECK(fits(table.value, schema["properties"][table.key]));
    }
    CHECK(fits(study, schema));
  }
  CHECK(studies > 0);
  const auto takes = [&](const std::string& text) { return fits(parse_toml(text, "x"), schema); };
  CHECK(takes(small_study()));
  CHECK(!takes(replaced(small_study(), "steps     = 6", "stesp     = 6")));
  CHECK(!takes(replaced(small_study(), "steps     = 6", "steps     = 0")));
  CHECK(!takes(replaced(small_study(), "causal    = true", "causal    = 1")));
  CHECK(!takes(replaced(small_study(), "\"sinusoidal\"", "\"sinusoid\"")));
  CHECK(!takes(replaced(small_study(), "id    = \"small\"", "")));
}

TEST_CASE("the studies and sweeps of docs/studies.md are right") {
  std::ifstream in(headroom::testing::source_root() + "/docs/studies.md");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::string> blocks;
  const std::string open = "```toml\n", close = "```\n";
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    const size_t begin = at + open.size();
    at = text.find(close, begin);
    blocks.push_back(text.substr(begin, at - begin));
  }
  REQUIRE(blocks.size() == 5);
  const std::string& study = blocks[0];
  const size_t sweep = study.find("[sweep]"), report = study.find("[report]"), claim = study.find("[[claim]]");
  CHECK(load_profiles(StudyFile(study).path()).size() == 2);
  std::vector<size_t> trials;
  for (size_t i = 1; i < blocks.size(); ++i) {
    const StudyFile file(study.substr(0, sweep) + blocks[i] + study.substr(report, claim - report));
    trials.push_back(load_study(file.path()).trials.size());
  }
  CHECK(trials == std::vector<size_t>{3 * 3 * 2 * 2, 3, 2, 3});
  const std::string rounds = "```toml rounds\n";
  const size_t rounds_begin = text.find(rounds) + rounds.size();
  const StudyFile in_rounds(study.substr(0, sweep) +
                            text.substr(rounds_begin, text.find(close, rounds_begin) - rounds_begin) +
                            study.substr(report));
  const Study first_round = load_study(in_rounds.path());
  CHECK(first_round.trials.size() == 3 * 5 * 3);
  CHECK(first_round.trials.size() + first_round.later.size() == 3 * 13 * 24);
  const std::string fitted = "```toml report\n";
  const size_t fitted_begin = text.find(fitted) + fitted.size();
  const StudyFile lawful(study.substr(0, report) +
                         text.substr(fitted_begin, text.find(close, fitted_begin) - fitted_begin));
  CHECK(load_study(lawful.path()).head.report.law->of.size() == 3);
  const std::string task = "```toml task\n";
  const size_t task_begin = text.find(task) + task.size();
  const std::string keys = text.substr(task_begin, text.find(close, task_begin) - task_begin);
  const StudyFile probed("[study]\nid = \"a\"\ntitle = \"b\"\n" + keys +
                         "[sweep]\n\"task.length\" = [8, 16]\n[report]\nx = { key = \"task.length\" }\n"
                         "y = { metric = \"mean_jacobian_norm\" }\n");
  CHECK(load_study(probed.path()).trials.size() == 2);
  const std::string model = "```toml model\n";
  const size_t begin = text.find(model) + model.size();
  const std::string layers = text.substr(begin, text.find(close, begin) - begin);
  CHECK(parse_plan_toml("vocab = 65\n" + layers, "studies.md").config.unequal_layers.size() == 2);
}
