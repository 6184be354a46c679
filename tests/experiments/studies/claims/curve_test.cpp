#include "experiments/studies/analysis/curve.h"

#include <cmath>

#include "tests/experiments/synthetic.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using namespace testing;

/// A trial with a learning rate, whose validation and test errors differ.
TrialRecord at_lr(double lr, int64_t seed, double validation, double test) {
  TrialRecord t = trial(1, seed, test);
  t.id += "-lr" + std::to_string(lr);
  t.choice = {{"train.optimizer.lr", lr}};
  t.validation["mse"] = validation;
  return t;
}

}  // namespace

TEST_CASE("a point's figures") {
  const Curve c = curve(study({4, 1}, {{1, 10, 100}, {2}}), "");
  REQUIRE(c.points.size() == 2);
  CHECK(c.points[0].x == 1);
  CHECK(std::isnan(c.points[0].standard_error));
  CHECK(c.points[0].missing == std::vector<int64_t>{1, 2});
  const Point& p = c.points[1];
  CHECK(p.mean == Approx(37));
  CHECK(p.geometric_mean == Approx(10));
  CHECK(p.best == 1);
  CHECK(p.values.at(2) == 100);
  CHECK(p.choice.empty());
  CHECK(p.edges.empty());
  CHECK(c.at(4) == &c.points[1]);
  CHECK(c.at(3) == nullptr);
}

TEST_CASE("the choice is made on validation, never on test") {
  StudyResults r = study({}, {});
  r.trials = {at_lr(0.01, 0, 0.5, 0.1), at_lr(0.02, 0, 0.3, 0.4), at_lr(0.04, 0, 0.6, 0.01)};
  const Point p = curve(r, "").points.at(0);
  CHECK(p.choice.at("train.optimizer.lr") == 0.02);
  CHECK(p.mean == 0.4);
  CHECK(p.edges.empty());
}

TEST_CASE("the choice is made on the mean over seeds") {
  StudyResults r = study({}, {});
  // lr 0.01 has the best single seed, lr 0.02 the best geometric mean, lr 0.04 the best arithmetic one.
  r.trials = {at_lr(0.01, 0, 0.1, 1), at_lr(0.01, 1, 2.5, 1),  at_lr(0.02, 0, 0.2, 2),
              at_lr(0.02, 1, 0.8, 2), at_lr(0.04, 0, 0.45, 3), at_lr(0.04, 1, 0.45, 3)};
  const Point p = curve(r, "").points.at(0);
  CHECK(p.choice.at("train.optimizer.lr") == 0.02);
  CHECK(*p.validation == Approx(0.4));
  // Where a claim compares differences, choices are by the arithmetic mean.
  r.claims = {testing::claim("interior_optimum")};
  r.claims[0].log_error = false;
  CHECK(curve(r, "").points.at(0).choice.at("train.optimizer.lr") == 0.04);
}

TEST_CASE("a choice at the end of its grid is flagged") {
  StudyResults r = study({}, {});
  r.trials = {at_lr(0.01, 0, 0.5, 0.5), at_lr(0.02, 0, 0.3, 0.3), at_lr(0.04, 0, 0.2, 0.2)};
  CHECK(curve(r, "").points.at(0).edges == std::vector<std::string>{"train.optimizer.lr"});
  r.trials.resize(1);  // one value is no grid
  CHECK(curve(r, "").points.at(0).edges.empty());
}

TEST_CASE("a choice with a failed seed comes after every complete one") {
  StudyResults r = study({}, {});
  r.trials = {at_lr(0.01, 0, 0.5, 0.5), at_lr(0.01, 1, 0.5, 0.5), at_lr(0.02, 0, 0.1, 0.1),
              failed(at_lr(0.02, 1, 0, 0))};
  const Point complete = curve(r, "").points.at(0);
  CHECK(complete.choice.at("train.optimizer.lr") == 0.01);
  CHECK(complete.failed.empty());
  CHECK(complete.failed_elsewhere == 1);

  r.trials[0] = failed(r.trials[0]);
  r.trials[1] = failed(r.trials[1]);
  const Point incomplete = curve(r, "").points.at(0);
  CHECK(incomplete.choice.at("train.optimizer.lr") == 0.02);
  CHECK(incomplete.failed == std::vector<int64_t>{1});
  CHECK(incomplete.mean == 0.1);
  CHECK(incomplete.failed_elsewhere == 2);
}

TEST_CASE("a metric that is not finite is a failed trial") {
  const Point p = curve(study({1}, {{1, NAN, 3}}), "").points.at(0);
  CHECK(p.failed == std::vector<int64_t>{1});
  CHECK(p.mean == 2);
}

TEST_CASE("a point without a finished trial") {
  StudyResults r = study({1}, {{1}});
  r.trials[0] = failed(r.trials[0]);
  const Point p = curve(r, "").points.at(0);
  CHECK(p.values.empty());
  CHECK(std::isnan(p.mean));
  CHECK(std::isnan(p.best));
}

TEST_CASE("series are kept apart, in the study's order") {
  StudyResults r = study({1, 2}, {{1}, {2}});
  r.series = {"wide", "narrow"};
  r.trials[0].series = "narrow";
  r.trials[1].series = "wide";
  CHECK(curve(r, "wide").points.at(0).mean == 2);
  CHECK(ordered_trials(r)[0]->series == "wide");
  r.trials[0].series = "other";
  CHECK(contains(error_of([&] { ordered_trials(r); }), "no series 'other'"));
}

TEST_CASE("trials that would be averaged twice are refused") {
  StudyResults r = study({1}, {{1, 2}});
  r.trials[1].seed = 0;
  CHECK(contains(error_of([&] { curve(r, ""); }), "are both model.heads=1 seed=0"));
}

TEST_CASE("a metric that was not measured is named") {
  StudyResults r = study({1}, {{1}});
  r.report.y_metric = "accuracy";
  CHECK(contains(error_of([&] { curve(r, ""); }), "no test metric 'accuracy'"));
  r.trials = {at_lr(0.01, 0, 1, 1), at_lr(0.02, 0, 1, 1)};
  r.report.y_metric = "mse";
  r.trials[0].validation.clear();
  CHECK(contains(error_of([&] { curve(r, ""); }), "no validation metric 'mse'"));
}

}  // namespace headroom::experiments
