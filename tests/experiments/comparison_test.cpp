#include "experiments/studies/compare/comparison.h"

#include "experiments/studies/run/store.h"
#include "tests/experiments/program/serve/stored_study.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

/// Two runs of one study: B trains longer, and has half the error at two heads.
struct Two {
  TemporaryFolder folder;
  std::filesystem::path out = folder.path() / "runs";
  Two() {
    RunStore a(out / "a" / "quick" / "store.sqlite"), b(out / "b" / "quick" / "store.sqlite");
    planned(a, "A", {1, 2}, {1, 2, 3});
    planned(b, "B", {1, 2}, {2, 3, 4}, 80);
    for (const int heads : {1, 2})
      for (int64_t seed = 1; seed <= 4; ++seed) {
        const double error = heads * (1 + 0.1 * static_cast<double>(seed));
        if (seed <= 3) a.put(stored_trial(heads, seed, error));
        if (seed >= 2)
          b.put(stored_trial(heads, seed, (heads == 2 ? 0.5 : 1 + 0.2 * static_cast<double>(seed)) * error, 80));
      }
  }
  Comparison compare(const std::string& metric = "") const {
    return compare_runs(find_run("a", out), find_run("b", out), metric);
  }
};

}  // namespace

TEST_CASE("two runs are compared by the seeds that both have") {
  const Comparison c = Two().compare();
  REQUIRE(c.settings.size() == 2);
  CHECK(c.settings[0].key == "seed");
  CHECK(c.settings[0].a == "1, 2, 3");
  CHECK(c.settings[0].b == "2, 3, 4");
  CHECK(c.settings[1].key == "train.steps");
  CHECK(c.settings[1].a == "40");
  CHECK(c.settings[1].b == "80");
  REQUIRE(c.metrics.size() == 2);
  CHECK(c.metrics[0].metric == "mse");
  CHECK(c.metrics[0].x == 1);
  CHECK(c.metrics[0].pairs == 2);
  CHECK(c.metrics[0].a.seeds == 3);
  // Seeds 2 and 3: 1.4 and 1.6. The mean of their logs ± t(1) = 12.706 times its error.
  const double middle = std::sqrt(1.4 * 1.6), wide = std::pow(1.6 / 1.4, 12.7062 / 2);
  CHECK(c.metrics[0].change == Approx(middle));
  CHECK(c.metrics[0].low == Approx(middle / wide).epsilon(1e-4));
  CHECK(c.metrics[0].high == Approx(middle * wide).epsilon(1e-4));
  CHECK(contains(comparison_text(c), "B / A, 95 % over paired seeds\n"));
  CHECK(c.metrics[1].change == Approx(0.5));
  CHECK(c.remarks.empty());
  const std::string text = comparison_text(c);
  CHECK(contains(text, "train.steps"));
  CHECK(contains(text, "heads = 2"));
  const auto json = comparison_json(c);
  CHECK(json["metrics"][1]["ratio"].get<double>() == Approx(0.5));
  CHECK(json["runs"][0]["finished"] == 6);
}

TEST_CASE("the interval holds the error of the test data that both runs share") {
  TemporaryFolder folder;
  const auto out = folder.path() / "runs";
  const auto put = [&](const char* run, double error, const std::vector<double>& parts) {
    RunStore store(out / run / "quick" / "store.sqlite");
    planned(store, run, {1}, {1, 2, 3});
    for (int64_t seed = 1; seed <= 3; ++seed) {
      TrialRecord trial = stored_trial(1, seed, error);
      if (!parts.empty()) trial.test_parts = {{"mse", parts}};
      store.put(trial);
    }
  };
  put("a", 1, {1, 1});
  put("b", 2, {1.8, 2.2});
  put("none", 2, {});
  // No seed differs, and the logarithms of the two parts are log 2 ± 0.1: the mean's error is 0.1 on one degree.
  const Comparison c = compare_runs(find_run("a", out), find_run("b", out));
  REQUIRE(c.metrics.size() == 1);
  CHECK(c.metrics[0].change == Approx(2));
  CHECK(c.metrics[0].low == Approx(2 * std::exp(-1.27062)).epsilon(1e-4));
  CHECK(c.metrics[0].high == Approx(2 * std::exp(1.27062)).epsilon(1e-4));
  CHECK(c.metrics[0].method == "crossed t on logs");
  CHECK(contains(comparison_text(c), "B / A, 95 % over paired seeds and test data"));
  CHECK(comparison_json(c)["metrics"][0]["method"] == "crossed t on logs");
  const Comparison without = compare_runs(find_run("a", out), find_run("none", out));
  CHECK(without.metrics[0].change == Approx(2));
  CHECK(without.metrics[0].method.empty());  // nothing spreads: there is no interval
  CHECK(std::isnan(without.metrics[0].low));
  CHECK(contains(comparison_text(without), "2 (the same for every seed)"));
}

TEST_CASE("a metric may be named; one that a run lacks is an error") {
  const Two two;
  CHECK(two.compare("other").metrics[0].metric == "other");
  CHECK(error_of([&] { two.compare("nothing"); }) == "'nothing' is not a metric of both runs; they share mse, other");
}

TEST_CASE("what cannot be compared is said") {
  Two two;
  RunStore(two.out / "c" / "quick" / "store.sqlite");
  {
    RunStore c(two.out / "c" / "quick" / "store.sqlite"), d(two.out / "d" / "quick" / "store.sqlite");
    planned(c, "C", {1}, {1});
    planned(d, "D", {1, 8}, {9}, 20);
    d.put(stored_trial(1, 9, -1.0, 20));
    d.put(stored_trial(8, 9, 1.0, 20));
  }
  const auto compare = [&](const char* a, const char* b) {
    return compare_runs(find_run(a, two.out), find_run(b, two.out));
  };
  CHECK(compare("a", "c").remarks == std::vector<std::string>{"c/quick has no finished trial yet"});
  const Comparison c = compare("d", "a");
  REQUIRE(c.metrics.size() == 1);
  CHECK(c.metrics[0].pairs == 0);
  CHECK(c.metrics[0].kind == MeanKind::arithmetic);  // an error of -1 has no logarithm
  CHECK(c.metrics[0].change == Approx(1.2 + 1));
  CHECK(c.remarks == std::vector<std::string>{"1 place of A has no finished trial in B at the same x"});
  CHECK(comparison_json(c)["metrics"][0]["ratio"].is_null());
  CHECK(comparison_json(c)["metrics"][0]["difference"].get<double>() == Approx(2.2));
  CHECK(contains(comparison_text(c), "B - A"));
  CHECK(compare("a", "a").metrics[0].change == 1);
}

TEST_CASE("both sides and their change are of the mean that the reports show") {
  const Two two;
  const auto x1 = [&](const std::string& metric) { return two.compare(metric).metrics[0]; };
  const double logs = std::cbrt(1.1 * 1.2 * 1.3);
  CHECK(x1("mse").kind == MeanKind::geometric);
  CHECK(x1("mse").a.mean == Approx(logs));
  CHECK(contains(comparison_text(two.compare()), "mse on the test data, geometric means ± standard error"));
  CHECK(comparison_json(two.compare())["metrics"][0]["means"] == "geometric");
  // A claim of one of the two that is on differences makes the means of both arithmetic.
  RunStore b(two.out / "b" / "quick" / "store.sqlite");
  auto facts = b.study();
  facts["config"] += "[[claim]]\nkind = \"trend\"\nlog_error = false\n";
  b.set_plan(facts, b.plan());
  const ComparedMetric m = x1("mse");
  CHECK(m.kind == MeanKind::arithmetic);
  CHECK(m.a.mean == Approx(1.2));
  CHECK(m.a.error == Approx(0.1 / std::sqrt(3)));
  // Seeds 2 and 3: 0.4 of 1.2, and 0.6 of 1.3, t(1) = 12.706 times the error to each side.
  const double low = 0.4 * 1.2, high = 0.6 * 1.3;
  CHECK(m.change == Approx((low + high) / 2));
  CHECK(m.high - m.change == Approx(12.7062 * (high - low) / 2).epsilon(1e-4));
  CHECK(m.method == "t");
  CHECK(contains(comparison_text(two.compare()), "B - A, 95 % over paired seeds"));
  CHECK(x1("other").kind == MeanKind::geometric);
}
