// Whole studies, simulated: how often any of their claims has a wrong verdict.
#include <algorithm>

#include "tests/experiments/studies/claims/simulated.h"
#include "tests/experiments/synthetic.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using namespace testing;

/// Claims of one study: by how many standard deviations of a seed's value the truth lies beyond each claim's threshold.
/// Where that is above 0 a fail is wrong, else a pass.
struct Mix {
  const char* name;
  std::vector<double> beyond;
};

constexpr int many = 10000;  ///< studies of each mix: quickly judged, and a bound close to what was measured
const double hair = 1e-9;
const std::vector<Mix> mixes{{"one claim", {0}},
                             {"two on their thresholds", {0, 0}},
                             {"two, either side", {0, hair}},
                             {"eight on their thresholds", {0, 0, 0, 0, 0, 0, 0, 0}},
                             {"eight, either side", {0, hair, 0, hair, 0, hair, 0, hair}},
                             {"two on thresholds, clear ones on both sides", {0, hair, 9, 9, 9, -9, -9, -9}},
                             {"two on thresholds, middling ones on both sides", {0, hair, 1, 1, 1, -1, -1, -1}},
                             {"half a deviation to either side", {0.5, -0.5, 0.5, -0.5, 0.5, -0.5, 0.5, -0.5}},
                             {"from nothing to clear", {0, hair, 0.5, -0.5, 1, -1, 3, -3}}};

/// How often a study has any wrong verdict. The seeds' values of its claims are correlated by `shared`; `mirrored`,
/// those of every other claim are so with the opposite sign.
double any_wrong(const Mix& mix, int seeds, double shared, bool mirrored) {
  Normals normal(11 + static_cast<uint64_t>(seeds));
  double wrong = 0;
  for (int i = 0; i < many; ++i) {
    std::vector<Sample> samples(mix.beyond.size());
    for (int s = 0; s < seeds; ++s) {
      const double common = std::sqrt(shared) * normal.next();
      for (size_t j = 0; j < samples.size(); ++j) {
        const double sign = mirrored && j % 2 == 1 ? -1 : 1;
        samples[j].seeds.push_back(mix.beyond[j] + sign * common + std::sqrt(1 - shared) * normal.next());
      }
    }
    std::vector<double> p, p_against;
    for (const Sample& sample : samples) {
      const auto evidence = Hypothesis::at_least(estimate(sample), 0).evidence();
      p.push_back(evidence.p);
      p_against.push_back(evidence.p_against);
    }
    const std::vector<double> passes = holm(p), fails = holm(p_against);
    bool any = false;
    for (size_t j = 0; j < samples.size(); ++j) any = any || (mix.beyond[j] > 0 ? fails : passes)[j] <= level;
    wrong += any ? 1.0 / many : 0;
  }
  return wrong;
}

/// With two claims that go together, one at the threshold on either side, Holm tests the second at the whole level
/// where the first was decided, and rightly: 5.9 % were measured. What is proved, whatever claims have in common, is
/// twice the level.
constexpr double most_of_any = 0.0625;

}  // namespace

TEST_CASE("of five false claims in a study none passes more often than the level") {
  static const Analysis results = analyse({});
  const ClaimConfig less = claim("less_than", {.at = 1, .than = {.at = 2}});
  Normals normal(7);
  for (const int seeds : {3, 10}) {
    double any = 0, uncorrected = 0;
    for (int i = 0; i < many; ++i) {
      std::vector<double> p;
      for (int j = 0; j < 5; ++j) {
        const Case c{results, less, simulate(truth_of({0, 0}, false, equal), seeds, false, normal), "heads"};
        p.push_back(less.kind->hypothesis(c)->evidence().p);
      }
      const std::vector<double> adjusted = holm(p);
      any += std::any_of(adjusted.begin(), adjusted.end(), [](double a) { return a <= level; }) ? 1.0 / many : 0;
      uncorrected += std::any_of(p.begin(), p.end(), [](double a) { return a <= level; }) ? 1.0 / many : 0;
    }
    CHECK(any <= most);
    CHECK(uncorrected > 0.2);
    print_row(fmt::format("five false claims, {} seeds: any passes, %", seeds),
              {percent_text(any), "without Holm " + percent_text(uncorrected)});
  }
}

// At its own best rate every x is as good as every other, so that there is no U; the best rate of the ends is ten times
// larger or smaller than that of the middle. At the middle's rate alone the ends look 1.5 times worse.
TEST_CASE("one rate that favours the middle makes no U") {
  constexpr int repeated = 300;
  const auto passes = [](const std::vector<double>& rates, const std::string& excuse) {
    Normals normal(5);
    int passed = 0;
    for (int i = 0; i < repeated; ++i) {
      StudyResults r = testing::study({}, {});
      for (int seed = 0; seed < 5; ++seed)
        for (int x = 0; x < 6; ++x)
          for (const double rate : rates) {
            const double best = x == 0 ? -3 : x == 5 ? -1 : -2, off = std::abs(std::log10(rate) - best);
            const auto error = [&] { return std::exp(-2 + 0.4 * off + 0.05 * normal.next()); };
            TrialRecord t = testing::trial(std::exp2(x), seed, error());
            t.validation["mse"] = error();
            t.choice = {{"train.optimizer.lr", rate}};
            t.id += fmt::format("-{}", rate);
            r.trials.push_back(t);
          }
      r.planned = std::ssize(r.trials);
      r.claims = {claim("interior_optimum", {.factor = 1.1})};
      r.claims[0].single_rate = excuse;
      passed += judge(r)[0].status == VerdictStatus::pass ? 1 : 0;
    }
    return passed;
  };
  CHECK(passes({1e-2}, "") == 0);
  CHECK(passes({1e-2}, "without the rule") > 0.9 * repeated);
  CHECK(passes({1e-4, 1e-3, 1e-2, 1e-1, 1}, "") <= level * repeated);
}

// Every rate is as good as every other, so that the chosen one is the luckiest, and x = 1 tried nine where x = 2 tried
// three. docs/claims.md has the table: where x = 1 scatters three times as much, the level is not kept.
TEST_CASE("rates chosen on the seeds that are tested cost little where all x scatter alike") {
  static const Analysis results = analyse({});
  const ClaimConfig less = claim("less_than", {.at = 1, .than = {.at = 2}});
  const auto passes = [&](int seeds, int rates, double scatter, double bend) {
    Normals normal(13);
    double passed = 0;
    for (int i = 0; i < studies; ++i) {
      StudyResults r = testing::study({}, {});
      for (const auto& [x, tried, spread] : {std::tuple{1, rates, scatter}, {2, 3, 1.0}})
        for (int rate = 0; rate < tried; ++rate)
          for (int seed = 0; seed < seeds; ++seed) {
            const double off = rate - (tried - 1) / 2.0;
            TrialRecord t = testing::trial(x, seed, std::exp(bend * off * off + spread * normal.next()));
            t.choice = {{"train.optimizer.lr", std::exp2(rate)}};
            t.id += fmt::format("-{}", rate);
            r.trials.push_back(t);
          }
      const Case c{results, less, curve(r, ""), "heads"};
      passed += less.kind->hypothesis(c)->evidence().p <= level ? 1.0 / studies : 0;
    }
    return passed;
  };
  print_row("x = 1 is taken for better than x = 2, %",
            {"rates alike, 3 seeds", "5", "10", "a bend of 0.3, 3 seeds", "5", "10"});
  for (const auto& [rates, scatter] : std::vector<std::pair<int, double>>{{3, 1}, {9, 1}, {3, 3}, {9, 3}}) {
    std::vector<std::string> cells;
    for (const double bend : {0.0, 0.3})
      for (const int seeds : {3, 5, 10}) {
        if (!prints_table() && (scatter != 1 || seeds == 5)) continue;
        const double passed = passes(seeds, rates, scatter, bend);
        CAPTURE(rates, scatter, bend, seeds);
        if (scatter == 1) CHECK(passed <= (rates == 3 ? most : 0.08));
        cells.push_back(percent_text(passed));
      }
    print_row(fmt::format("x = 1 has {} rates, x = 2 three, and scatters {} times as much", rates, scatter), cells);
  }
}

TEST_CASE("a study has any wrong verdict about as often as the level says") {
  print_row("any wrong verdict, %", {"3 seeds", "10", "of seeds in common 3", "10", "with opposite signs 3", "10"});
  for (const Mix& mix : mixes) {
    std::vector<std::string> cells;
    for (const auto& [shared, mirrored] : std::vector<std::pair<double, bool>>{{0, false}, {0.8, false}, {0.8, true}}) {
      for (const int seeds : {3, 10}) {
        if (!prints_table() && (shared == 0) == (seeds == 10)) continue;
        const double wrong = any_wrong(mix, seeds, shared, mirrored);
        CAPTURE(mix.name, seeds, shared, mirrored);
        CHECK(wrong <= most_of_any);
        cells.push_back(percent_text(wrong));
      }
    }
    print_row(mix.name, cells);
  }
}

}  // namespace headroom::experiments
