#include "experiments/studies/claims/why.h"

#include "examples/jump/experiments/studies/analysis/kinds/jump.h"
#include "tests/experiments/studies/claims/verdict.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

std::string why(const std::string& text) {
  ClaimConfig c = testing::claim("within_factor", {.at = 8, .factor = 2});
  c.why = text;
  return testing::verdict(testing::u_curve(), c).why;
}

}  // namespace

TEST_CASE("measured numbers fill a why") {
  CHECK(why("it is {ratio} times that of {best_x}") == "it is 2.95 times that of 4");
  CHECK(why("{ratio %} % of it, {mse @ 2} at 2") == "295 % of it, 0.103 at 2");
  CHECK(why("{ mse @ 2 of  }, {") == "—, {");
  CHECK(why("e^{2 Delta} and x_{i} stay") == "e^{2 Delta} and x_{i} stay");
  CHECK(why("{mse @ 3} and {none @ 2}") == "— and —");
}

TEST_CASE("every kind fills the numbers that it promises") {
  StudyResults r = testing::u_curve();
  r.series = {"", "other"};
  for (TrialRecord& t : r.trials) t.test["bound"] = 2;
  const std::vector<TrialRecord> own = r.trials;
  for (TrialRecord t : own) {
    t.series = "other";
    t.id += "-other";
    t.test["mse"] *= 1 + 0.1 * static_cast<double>(t.seed) + 0.01 * t.x * static_cast<double>(t.seed);
    r.trials.push_back(t);
  }
  const Jump example;  // of docs/adding.md
  std::vector<const ClaimKind*> kinds = claim_kinds();
  kinds.push_back(&example);
  for (const ClaimKind* kind : kinds) {
    const std::string name = kind->name;
    ClaimConfig c = testing::claim("flat", {.at = 4,
                                            .among = {4},
                                            .factor = 2,
                                            .percent = 5,
                                            .limits = {.low = -1},
                                            .direction = "falling",
                                            .bound = "bound",
                                            .value = 1});
    c.kind = kind;
    if (name == "gap") c.keys.direction = "catches_up";
    if (name == "optimum_differs") c.keys.direction = "";
    if (name == "gap" || name == "steps_ratio" || name == "optimum_differs") c.keys.than.series = "other";
    if (name == "steps_ratio") c.keys.limits.low = 0.5, c.keys.value = 0.05;
    if (name == "less_than") c.keys.than.at = 2;
    const Verdict v = testing::verdict(r, c);
    CAPTURE(name, sentence(v));
    CHECK(v.status != VerdictStatus::not_run);
    std::vector<std::string> names;
    for (const auto& entry : v.numbers) names.push_back(entry.first);
    CHECK(names == kind->numbers);
    for (const ConfidenceInterval& i : v.intervals) {
      CAPTURE(i.name);
      CHECK(i.low <= i.value);
      CHECK(i.value <= i.high);
      CHECK(i.level > 0.5);
      CHECK_FALSE(i.method.empty());
    }
  }
}

}  // namespace headroom::experiments
