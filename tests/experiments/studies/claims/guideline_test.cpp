#include "experiments/studies/analysis/head_choice.h"

#include "tests/experiments/synthetic.h"
#include "tests/support/catch.h"

namespace headroom::experiments {

using testing::study;

TEST_CASE("an upward search finds the bottom of a U") { CHECK(search_upward(curve(testing::u_curve(), "")) == 4); }

TEST_CASE("an upward search stops at the first rise") {
  CHECK(search_upward(curve(study({1, 2, 4, 8}, {{1.0}, {0.9}, {0.95}, {0.8}}), "")) == 2);
}

TEST_CASE("an upward search stops at a tie and at an x that diverged") {
  CHECK(search_upward(curve(study({1, 2, 4}, {{1}, {1}, {0.5}}), "")) == 1);
  StudyResults r = study({1, 2, 4}, {{1}, {0.9}, {0.5}});
  r.trials[1] = testing::failed(r.trials[1]);
  CHECK(search_upward(curve(r, "")) == 1);
  r.trials[0] = testing::failed(r.trials[0]);
  CHECK_FALSE(search_upward(curve(r, "")));
}

TEST_CASE("one seed that failed to train does not end an upward search") {
  const Curve c = curve(study({1, 2, 4}, {{1, 1, 1, 1}, {0.1, 0.1, 0.1, 4}, {0.2, 0.2, 0.2, 0.2}}), "");
  CHECK(c.at(2)->mean > c.at(1)->mean);
  CHECK(c.best()->x == 4);
  CHECK(search_upward(c) == 4);
}

TEST_CASE("an upward search goes where more is better") {
  StudyResults r = study({1, 2, 4}, {{0.5}, {0.6}, {0.55}});
  for (TrialRecord& t : r.trials) t.test["accuracy"] = t.test["mse"];
  CHECK(search_upward(curve(r, "", "accuracy")) == 2);
  CHECK_FALSE(search_upward(curve(study({1, 2}, {{1}, {2}}), "")));
  CHECK_FALSE(search_upward(curve(study({1, 2, 4}, {{1}, {-2}, {1}}), "")));
}

}  // namespace headroom::experiments
