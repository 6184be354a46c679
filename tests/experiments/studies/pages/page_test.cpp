#include "experiments/studies/pages/page.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/studies/analysis/centre.h"
#include "experiments/studies/analysis/verdict.h"
#include "experiments/studies/config/tasks/registry.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/set_up.h"
#include "tests/experiments/studies/pages/folder.h"
#include "tests/experiments/studies/pages/rich.h"
#include "tests/experiments/studies/pages/xml.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using testing::contains;
using testing::rich;
using testing::times;
using Json = nlohmann::ordered_json;

std::string page_of(const StudyResults& r) {
  const Analysis analysis = analyse(r);
  std::vector<PageFigure> figures;
  for (const Figure& figure : study_figures(analysis)) figures.push_back({figure, ""});
  return page(analysis, figures);
}

/// Fails unless `parts` occur in the text in this order.
void check_order(const std::string& text, const std::vector<std::string>& parts) {
  size_t at = 0;
  for (const std::string& part : parts) {
    CAPTURE(part);
    const size_t found = text.find(part, at);
    REQUIRE(found != std::string::npos);
    at = found + part.size();
  }
}

}  // namespace

TEST_CASE("a page opens with question, answer and figure; verdicts and set-up follow") {
  StudyResults r = rich();
  r.question = "Many <narrow> heads?";
  for (TrialRecord& t : r.trials)
    t.config = R"({"task": {"kind": "linear-functional", "token_dim": 8, "length": 16, "first_position": 4,
                            "input": "normal", "kernel": {"kind": "n-gram", "n": 4}},
                   "model": {"width": 64, "layers": 1}, "train": {"steps": 30}})";
  const std::string html = page_of(r);
  CHECK(testing::malformed(html) == "");
  check_order(html, {"class=\"contents\"", "A synthetic curve", "<h1>Many &lt;narrow&gt; heads?</h1>",
                     "class=\"headline\"", "id=\"main-figure\"", "id=\"verdicts\"", "class=\"whisker\"",
                     "id=\"set-up\"", "<dt>Task</dt>", "the sum of the last 4 tokens", "<dt>Model</dt>",
                     "<dt>Varied</dt>", "id=\"failed\"", "id=\"series-1\"", "id=\"about\""});
  r.question.clear();
  CHECK(contains(page_of(r), "How does MSE depend on heads?"));
}

TEST_CASE("a study of one series shows its figure first, once") {
  for (const std::string name : {"", "only"}) {
    CAPTURE(name);
    StudyResults r = testing::u_curve();
    if (!name.empty()) r.series = {name};
    for (TrialRecord& t : r.trials) t.series = name;
    const std::string html = page_of(r);
    check_order(html, {"id=\"main-figure\"", "data-name=\"figure", "id=\"series-1\""});
    CHECK(times(html, "<figure ") == 1);
  }
}

TEST_CASE("every entry of the contents leads to one place") {
  const std::string html = page_of(rich());
  size_t links = 0;
  for (size_t at = html.find("href=\"#"); at != std::string::npos; at = html.find("href=\"#", at + 1)) {
    const std::string id = html.substr(at + 7, html.find('"', at + 7) - at - 7);
    CAPTURE(id);
    CHECK(times(html, " id=\"" + id + "\"") == 1);
    ++links;
  }
  CHECK(links >= 7);
}

TEST_CASE("a page says what --set changed") {
  StudyResults r = rich();
  CHECK_FALSE(contains(page_of(r), "Not as the study"));
  r.overrides = {"train.steps=10", "model.width=<8>"};
  CHECK(contains(page_of(r), "Changed by --set: <code>train.steps=10, model.width=&lt;8&gt;</code>"));
}

TEST_CASE("a page's command has the paths that were given, as a shell takes them") {
  StudyResults r = rich();
  r.given = "my studies/it's.toml";
  r.out = "runs";
  CHECK(
      contains(page_of(r), "<code>headroom run &#39;my studies/it&#39;\\&#39;&#39;s.toml&#39; --profile quick</code>"));
  r.out = "elsewhere/$HOME";
  r.overrides = {"train.steps=10"};
  CHECK(contains(page_of(r), " --profile quick --out &#39;elsewhere/$HOME&#39; --set train.steps=10</code>"));
}

TEST_CASE("a page says when, by what and with which command its trials were trained") {
  StudyResults r = rich();
  r.profile = "quick+train.steps=10";
  r.overrides = {"train.steps=10", "task.source='a'"};
  for (TrialRecord& t : r.trials) t.code = "0.1.0 (abc1234)";
  r.trials[0].ended = 1763834400;  // 2025-11-22 18:00
  r.trials[0].seconds = 60;
  r.trials[1].ended = 1763838000;
  const std::string html = page_of(r);
  CHECK(contains(html,
                 "headroom run synthetic --profile quick --set train.steps=10 --set "
                 "&#39;task.source=&#39;\\&#39;&#39;a&#39;\\&#39;&#39;&#39;</code>"));
  CHECK(contains(html, "2025-11-22 17:59 UTC to 2025-11-22 19:00 UTC"));
  CHECK(contains(html, "<th scope=\"row\">trained by headroom</th><td>0.1.0 (abc1234)</td>"));
}

TEST_CASE("every kind of task is explained") {
  for (const TaskKind& kind : task_kinds()) {
    CAPTURE(kind.name);
    const TaskWords words = task_words(Json{{"kind", kind.name}});
    CHECK_FALSE(contains(words.words, "A task of the kind"));
    CHECK(words.words.ends_with("."));
  }
  CHECK(task_words(Json{{"kind", "later"}}).words == "A task of the kind later.");
  CHECK(task_words(analyse({})).words.empty());
}

TEST_CASE("a task's example is computed from its config") {
  CHECK(weighted_example({1, 1, 1, 1}) == "one coordinate: x = 2, -1, 3, 1, then y = 1 + 3 - 1 + 2 = 5");
  CHECK(weighted_example({0.5, 0.25}) ==
        "one coordinate: x = 2, -1, then y = 0.50 · (-1) + 0.25 · 2 = 0, and so on with older tokens");
  CHECK(weighted_example({}).empty());
  const Json kernel = {{"kind", "n-gram"}, {"n", 2}};
  const TaskWords words = task_words(Json{{"kind", "linear-functional"}, {"kernel", kernel}, {"token_dim", 3}});
  CHECK(contains(words.words, "the sum of the last 2 tokens. Tokens are vectors of 3"));
  CHECK(words.example == "one coordinate: x = 2, -1, then y = -1 + 2 = 1");
}

TEST_CASE("the tasks of a study's trials are told apart") {
  StudyResults r = testing::study({1, 2}, {{1}, {1}});
  r.trials[0].config = R"({"task": {"kind": "classification", "length": 8, "classes": 2}})";
  r.trials[1].config = R"({"task": {"kind": "classification", "length": 16, "classes": 2}})";
  CHECK(contains(task_words(analyse(r)).words, "a sequence of 8 random tokens"));
  CHECK(contains(task_words(analyse(r)).words, "several settings: they differ in length."));
}

TEST_CASE("one mean on a page, with its interval") {
  const StudyResults r = testing::u_curve();
  const Curve c = analyse(r).shown_curve("", "mse");
  CHECK(c.kind == MeanKind::geometric);
  const Centre middle = centre(*c.at(1), MeanKind::geometric);
  CHECK(middle.mean == Approx(std::cbrt(1.0 * 1.2 * 0.9)));
  // t of 97.5 % with 2 degrees of freedom is 4.3027.
  const double logs[] = {std::log(1.0), std::log(1.2), std::log(0.9)}, mean = std::log(middle.mean);
  double spread = 0;
  for (double v : logs) spread += (v - mean) * (v - mean);
  const double half = 4.302652729911275 * std::sqrt(spread / 2 / 3);
  CHECK(middle.low == Approx(std::exp(mean - half)));
  CHECK(middle.high == Approx(std::exp(mean + half)));
  CHECK(c.choose(c.all_points())->x == 4);

  StudyResults other = r;
  other.claims = {testing::claim("interior_optimum")};
  other.claims[0].log_error = false;
  CHECK(analyse(other).shown_curve("", "mse").kind == MeanKind::arithmetic);
  CHECK(centre(*c.at(1), MeanKind::arithmetic).mean == Approx(3.1 / 3));
  StudyResults share = r;
  for (TrialRecord& trial : share.trials) trial.test["layer_1_share_at_lag_1"] = trial.test.at("mse");
  CHECK(analyse(share).shown_curve("", "layer_1_share_at_lag_1").kind == MeanKind::arithmetic);
  const StudyResults zero = testing::study({1}, {{0, 1}});
  CHECK(analyse(zero).shown_curve("", "mse").kind == MeanKind::arithmetic);
  const Curve one = analyse(testing::study({1}, {{1}})).shown_curve("", "mse");
  CHECK_FALSE(centre(*one.at(1), MeanKind::geometric).has_interval());
}

TEST_CASE("the best x is the one that validation chose, as in the verdicts") {
  StudyResults r = testing::u_curve();
  for (TrialRecord& t : r.trials) t.validation["mse"] = t.x == 8 ? 0.001 : t.test["mse"];
  const Curve c = analyse(r).shown_curve("", "mse");
  CHECK(c.choose(c.all_points())->x == 8);
  CHECK(contains(page_of(r), "<tr class=\"best\"><th scope=\"row\">8</th>"));
  CHECK(contains(page_of(r), "chosen on the validation data"));
}

}  // namespace headroom::experiments
