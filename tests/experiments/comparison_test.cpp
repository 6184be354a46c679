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
    return compare_runs({find_run("a", out), find_run("b", out)}, metric)[0];
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
  const auto json = comparison_json({c});
  CHECK(json["metrics"][1]["ratio"].get<double>() == Approx(0.5));
  CHECK(json["runs"][0]["finished"] == 6);
}

TEST_CASE("a comparison begins with where B differs, and by how much at most") {
  Comparison c;
  c.a.name = "A", c.b.name = "B";
  c.a.x_key = c.b.x_key = "model.heads";
  CHECK(comparison_sentence(c).empty());
  const auto add = [&](double x, double change, double low, double high) {
    ComparedMetric& m = c.metrics.emplace_back();
    m.metric = "mse", m.x = x, m.pairs = 3, m.change = change, m.low = low, m.high = high;
  };
  add(1, 1.1, 0.9, 1.3);
  add(2, 1.2, NAN, NAN);
  CHECK(comparison_sentence(c) == "At none of 2 places does a 95 % interval tell B’s mse from A’s.");
  add(4, 0.5, 0.4, 0.6);
  add(8, 1.5, 1.2, 1.8);
  CHECK(comparison_sentence(c) ==
        "Of 4 places, B’s mse is lower at 1, higher at 1 and not told apart at 2; most at heads = 4: 0.500× A’s "
        "[0.400, 0.600].");
  CHECK(contains(comparison_text(c), comparison_sentence(c)));
  Comparison apart = c;
  for (ComparedMetric& m : apart.metrics) m.pairs = 0, m.low = m.high = NAN;
  CHECK(comparison_sentence(apart) ==
        "No seed is in both, so no interval tells them apart; most at heads = 4: B’s mse is 0.500× A’s.");
  for (ComparedMetric& m : c.metrics) m.kind = MeanKind::arithmetic, m.change -= 1, m.low -= 1, m.high -= 1;
  CHECK(contains(comparison_sentence(c), "most at heads = 4: A’s − 0.500 [-0.600, -0.400]."));
}

TEST_CASE("two runs stand in one figure, which needs no study that this program knows") {
  const Comparison c = Two().compare();
  REQUIRE(c.figure);
  REQUIRE(c.figure->plot.layers.size() == 2);
  CHECK(c.figure->plot.layers[0].legend == "A");
  CHECK(c.figure->plot.layers[1].legend == "B");
  CHECK(c.figure->plot.layers[0].marks.size() == 2);
}

TEST_CASE("several runs are each compared with the first, in one figure") {
  const Two two;
  RunStore third(two.out / "c" / "quick" / "store.sqlite");
  planned(third, "C", {1, 2}, {1});
  third.put(stored_trial(1, 1, 3.3));
  const auto run = [&](const char* name) { return find_run(name, two.out); };
  const std::vector<Comparison> found = compare_runs({run("a"), run("b"), run("c")});
  REQUIRE(found.size() == 2);
  CHECK(contains(comparison_text(found[1]), "C  c · quick   1 of 2 trials finished"));
  CHECK(contains(comparison_text(found[1]), "1 place of A has no finished trial in C at the same x"));
  CHECK(found[1].metrics.at(0).change == Approx(3.3 / 1.1));
  REQUIRE(found[0].figure);
  CHECK(found[0].figure->plot.layers.size() == 3);
  CHECK_FALSE(found[1].figure);
  const auto json = comparison_json(found);
  CHECK(json["runs"][1]["study"] == "b");
  CHECK(json["others"][0]["runs"][1]["study"] == "c");
}

TEST_CASE("settings that are the same are counted, and told in JSON") {
  const Comparison c = Two().compare();
  REQUIRE(c.same.size() == 2);
  CHECK(c.same[0].key == "model.heads");
  CHECK(c.same[0].a == "1, 2");
  CHECK(c.same[1].key == "(program)");
  CHECK(contains(comparison_text(c), "  2 more are the same\n"));
  CHECK(comparison_json({c})["same"][0]["value"] == "1, 2");
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
  const Comparison c = compare_runs({find_run("a", out), find_run("b", out)})[0];
  REQUIRE(c.metrics.size() == 1);
  CHECK(c.metrics[0].change == Approx(2));
  CHECK(c.metrics[0].low == Approx(2 * std::exp(-1.27062)).epsilon(1e-4));
  CHECK(c.metrics[0].high == Approx(2 * std::exp(1.27062)).epsilon(1e-4));
  CHECK(c.metrics[0].method == "crossed t on logs");
  CHECK(contains(comparison_text(c), "B / A, 95 % over paired seeds and test data"));
  CHECK(comparison_json({c})["metrics"][0]["method"] == "crossed t on logs");
  const Comparison without = compare_runs({find_run("a", out), find_run("none", out)})[0];
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

TEST_CASE("without a seed in both, the interval is Welch's") {
  const TemporaryFolder folder;
  const auto out = folder.path() / "runs";
  const auto put = [&](const std::string& name, const std::vector<std::pair<int64_t, double>>& errors) {
    RunStore store(out / name / "quick" / "store.sqlite");
    std::vector<int64_t> seeds;
    for (const auto& [seed, error] : errors) seeds.push_back(seed);
    planned(store, name, {1}, seeds);
    for (const auto& [seed, error] : errors) store.put(stored_trial(1, seed, error));
  };
  put("a", {{1, 1}, {2, std::exp(2)}});
  put("b", {{3, std::exp(4)}, {4, std::exp(6)}, {5, std::exp(8)}});
  put("one", {{9, 1}});
  const auto compare = [&](const char* b) { return compare_runs({find_run("a", out), find_run(b, out)})[0]; };
  const ComparedMetric m = compare("b").metrics.at(0);
  CHECK(m.pairs == 0);
  CHECK(m.method == "Welch on logs");
  // Logs 0, 2 and 4, 6, 8: means 5 apart, squared errors 1 and 4/3, (7/3)² / (1/1 + (16/9)/2) = 2.88 degrees.
  const double reach = std::sqrt(7 / 3.0) * 3.25721;
  CHECK(std::log(m.change) == Approx(5));
  CHECK(std::log(m.low) == Approx(5 - reach).epsilon(1e-3));
  CHECK(std::log(m.high) == Approx(5 + reach).epsilon(1e-3));
  CHECK(contains(comparison_text(compare("b")), "B / A, 95 % over other seeds"));
  CHECK(std::isnan(compare("one").metrics.at(0).low));
  CHECK(contains(comparison_text(compare("one")), "(no seed in both)"));
  // Squares of these variances are below all doubles.
  put("c", {{1, -1e-90}, {2, -3e-90}});
  put("d", {{3, -1e-90}, {4, -2e-90}, {5, -6e-90}});
  const ComparedMetric tiny = compare_runs({find_run("c", out), find_run("d", out)})[0].metrics.at(0);
  CHECK(tiny.method == "Welch");
  CHECK(tiny.change == Approx(-1e-90));
  CHECK((tiny.low < -1e-90 && tiny.high > -1e-90 && tiny.high - tiny.low < 1e-88));
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
    return compare_runs({find_run(a, two.out), find_run(b, two.out)})[0];
  };
  CHECK(compare("a", "c").remarks == std::vector<std::string>{"c/quick has no finished trial yet"});
  const Comparison c = compare("d", "a");
  REQUIRE(c.metrics.size() == 1);
  CHECK(c.metrics[0].pairs == 0);
  CHECK(c.metrics[0].kind == MeanKind::arithmetic);  // an error of -1 has no logarithm
  CHECK(c.metrics[0].change == Approx(1.2 + 1));
  CHECK(c.remarks == std::vector<std::string>{"1 place of A has no finished trial in B at the same x"});
  CHECK(comparison_json({c})["metrics"][0]["ratio"].is_null());
  CHECK(comparison_json({c})["metrics"][0]["difference"].get<double>() == Approx(2.2));
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
  CHECK(comparison_json({two.compare()})["metrics"][0]["means"] == "geometric");
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
