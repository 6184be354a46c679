// Holds every judge to its level over simulated studies whose truth is known. HEADROOM_TABLE=1 prints all rates, with
// the power of each judge, as docs/claims.md has them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>

#include "experiments/studies/claims/case.h"
#include "tests/experiments/synthetic.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using testing::claim;

constexpr int studies = 10000;
constexpr double level = 0.05;
/// Four standard errors of a rate of 5 % over 10⁴ studies: of some hundred rates one in thirty runs would be above.
const double most = level + 4 * std::sqrt(level * (1 - level) / studies);
constexpr int counts_of_seeds[] = {3, 5, 10, 20};

/// Normal numbers of a fixed stream, the same with every library.
class Normals {
 public:
  explicit Normals(uint64_t seed) : random_(seed) {}
  double next() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2 * std::log(uniform())), angle = 2 * M_PI * uniform();
    has_spare_ = true;
    spare_ = radius * std::sin(angle);
    return radius * std::cos(angle);
  }

 private:
  double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) / 9007199254740992.0; }
  std::mt19937_64 random_;
  double spare_ = 0;
  bool has_spare_ = false;
};

/// What is true of a simulated study. x = 1, 2, 4, …
struct Truth {
  std::vector<double> middle;  ///< of log(metric), or of the metric where it is linear
  std::vector<double> spread;  ///< of training, by x: independent of all else
  double shared = 0.1;         ///< what a seed does to every x alike
  double parts = 0;            ///< what a part of the test data does to one x, in all seeds
  double noise = 0;            ///< what it does to one trial
  bool is_linear = false;
};
constexpr int parts_of_data = 16;

Curve simulate(const Truth& truth, int seeds, bool with_parts, Normals& normal) {
  Curve curve{"", "mse", false, MeanKind::geometric, {}};
  std::vector<double> by_seed(seeds);
  for (double& effect : by_seed) effect = truth.shared * normal.next();
  for (size_t i = 0; i < truth.middle.size(); ++i) {
    Point p;
    p.x = std::exp2(static_cast<double>(i));
    std::array<double, parts_of_data> by_part{};
    if (truth.parts > 0)
      for (double& effect : by_part) effect = truth.parts * normal.next();
    for (int s = 0; s < seeds; ++s) {
      std::vector<double> parts(by_part.begin(), by_part.end());
      double of_parts = 0;
      if (truth.parts > 0) {
        for (double& part : parts) {
          part += truth.noise * normal.next();
          of_parts += part / parts_of_data;
        }
      }
      const double value = truth.middle[i] + by_seed[s] + truth.spread[i] * normal.next() + of_parts;
      p.values[s] = truth.is_linear ? value : std::exp(value);
      if (!with_parts) continue;
      for (double& part : parts) part = truth.is_linear ? value + part - of_parts : p.values[s] * (1 + part - of_parts);
      p.parts[s] = std::move(parts);
    }
    summarise(p, false);
    curve.points.push_back(std::move(p));
  }
  return curve;
}

/// How often a claim passes, and how often it fails.
struct Rates {
  double pass = 0, fail = 0;
};

Rates rates(const ClaimConfig& claim, const Truth& truth, int seeds, bool with_parts = false) {
  static const StudyResults results;
  Normals normal(1 + static_cast<uint64_t>(seeds));
  Rates counted;
  for (int i = 0; i < studies; ++i) {
    const Case c{results, claim, simulate(truth, seeds, with_parts, normal), "heads"};
    const Hypothesis::Evidence evidence = claim.kind->hypothesis(c)->evidence();
    if (evidence.p <= level) counted.pass += 1.0 / studies;
    if (evidence.p_against <= level) counted.fail += 1.0 / studies;
  }
  return counted;
}

const std::vector<double> equal(6, 0.05);
const std::vector<double> unequal{0.2, 0.01, 0.05, 0.1, 0.02, 0.15};

const ClaimConfig interior = claim("interior_optimum");
const ClaimConfig interior_by = claim("interior_optimum", {.factor = 1.1});
const ClaimConfig no_interior = claim("no_interior_optimum", {.factor = 1.1});
const ClaimConfig argmin = claim("optimum_at", {.among = {4}});
const ClaimConfig argmin_by = claim("optimum_at", {.among = {4}, .factor = 1.1});
const ClaimConfig argmin_of_two = claim("optimum_at", {.among = {4, 8}});
const ClaimConfig near_best = claim("within_factor", {.at = 32, .factor = 1.1});
const ClaimConfig worse = claim("worse_than_best", {.at = 32});
const ClaimConfig worse_by = claim("worse_than_best", {.at = 32, .factor = 1.1});
const ClaimConfig falling = claim("monotone", {.tolerance = 0.02, .direction = "falling"});
const ClaimConfig flat = claim("flat", {.factor = 1.1});
const ClaimConfig less = claim("less_than", {.at = 1, .than = {.at = 2}});
const ClaimConfig slope = claim("slope", {.limits = {-1.1, -0.9}});
const ClaimConfig saturating = claim("saturates", {.fraction = 0.1});
const ClaimConfig band = claim("band", {.limits = {0.5, 1.5}});
const ClaimConfig curved = claim("curved", {.percent = 10});
const ClaimConfig percent = claim("within_percent", {.percent = 10, .value = 1});

const double tenth = std::log(1.1), step = std::log(1.02);

/// log(metric) falls with this slope over log x.
std::vector<double> power_law(double exponent) {
  std::vector<double> middle;
  for (int i = 0; i < 6; ++i) middle.push_back(exponent * i * std::log(2));
  return middle;
}

/// A truth at which a pass would be wrong.
struct Null {
  const char* name;
  ClaimConfig claim;
  std::vector<double> middle;
  bool is_linear = false;
  bool is_false = false;  ///< else the claim is exactly at its threshold, and neither verdict may come more often
};

const std::vector<Null> nulls{
    {"interior_optimum, all alike", interior, {0, 0, 0, 0, 0, 0}},
    {"interior_optimum, one end clear, the other alike", interior, {3, 0, 0, 0, 0, 0}},
    {"interior_optimum 1.1, an end 10 % above one x", interior_by, {3, 1, 0, 1, 1, tenth}},
    {"no_interior_optimum 1.1, both ends 10 % above all", no_interior, {tenth, 0, 0, 0, 0, tenth}},
    {"no_interior_optimum 1.1, one end 10 % above one x", no_interior, {3, 1, 0, 1, 1, tenth}},
    {"optimum_at, all alike", argmin, {0, 0, 0, 0, 0, 0}},
    {"optimum_at, one rival alike", argmin, {1, 1, 0, 1, 0, 1}},
    {"optimum_at 1.1, one rival 10 % worse", argmin_by, {1, 1, 0, tenth, 1, 1}},
    {"optimum_at 1.1, one rival 10 % better", argmin_by, {1, 1, 0, -tenth, 1, 1}},
    {"optimum_at two, one rival alike", argmin_of_two, {1, 1, 0, 0, 0, 1}},
    {"within_factor 1.1, 10 % above one x", near_best, {1, 1, 0, 1, 1, tenth}},
    {"within_factor 1.1, 10 % above all", near_best, {0, 0, 0, 0, 0, tenth}},
    {"worse_than_best, all alike", worse, {0, 0, 0, 0, 0, 0}},
    {"worse_than_best, one x alike", worse, {1, 1, 0, 1, 1, 0}},
    {"worse_than_best 1.1, 10 % above all", worse_by, {0, 0, 0, 0, 0, tenth}},
    {"monotone, all alike", falling, {0, 0, 0, 0, 0, 0}},
    {"monotone, one step back of 2 %", falling, {5, 4, 3, 3 + step, 1, 0}},
    {"monotone, every step back by 2 %", falling, {0, step, 2 * step, 3 * step, 4 * step, 5 * step}, false, true},
    {"flat 1.1, one x 10 % above", flat, {0, 0, 0, 0, 0, tenth}},
    {"flat 1.1, two x 10 % apart", flat, {0, tenth, tenth / 2, tenth / 2, tenth / 2, tenth / 2}},
    {"less_than, alike", less, {0, 0}},
    {"slope, at its lower limit", slope, power_law(-1.1)},
    {"slope, at its upper limit", slope, power_law(-0.9)},
    {"saturates, at its share", saturating, {3, 2, 1, 0.5, 0.3, 0.2}, true},
    {"band, one x at its limit", band, {1, 1, 1, 1.5, 1, 1}, true},
    {"curved 10 %, one x as much above a line", curved, {1.1, 1.2, 1.54, 1.8, 2.6, 4.2}, true},
    {"within_percent, one x at 10 %", percent, {1, 1, 1, 1.1, 1, 1}, true},
};

/// A truth at which a claim holds, and should be seen to.
struct Alternative {
  const char* name;
  ClaimConfig claim;
  std::vector<double> middle;
  bool is_linear = false;
};

std::vector<double> arms(double factor) { return {std::log(factor), 0.02, 0, 0, 0.02, std::log(factor)}; }

const std::vector<Alternative> effects{
    {"interior_optimum, ends 10 % worse", interior, arms(1.1)},
    {"interior_optimum, ends 1.5 × worse", interior, arms(1.5)},
    {"interior_optimum, ends 3 × worse", interior, arms(3)},
    {"interior_optimum 1.1, ends 3 × worse", interior_by, arms(3)},
    {"no_interior_optimum 1.1, no right arm", no_interior, {3, 2, 1, 0.5, 0.2, 0}},
    {"optimum_at, rivals 1.5 × worse", argmin, {1, 0.4, 0, 0.4, 0.7, 1}},
    {"within_factor 1.1, all alike", near_best, {0, 0, 0, 0, 0, 0}},
    {"within_factor 1.1, best by 1.5 ×", near_best, {0.4, 0.4, 0.4, 0.4, 0.4, 0}},
    {"worse_than_best, 1.5 × worse", worse, {0, 0, 0, 0, 0, std::log(1.5)}},
    {"worse_than_best 1.1, 3 × worse", worse_by, {0, 0, 0, 0, 0, std::log(3)}},
    {"monotone, every step 1.5 ×", falling, {2, 1.6, 1.2, 0.8, 0.4, 0}},
    {"flat 1.1, all alike", flat, {0, 0, 0, 0, 0, 0}},
    {"less_than, 20 % less", less, {0, 0.2}},
    {"slope, in the middle", slope, power_law(-1)},
    {"saturates, at no gain", saturating, {3, 2, 1, 0.5, 0.2, 0.2}, true},
    {"band, in the middle", band, {1, 1, 1, 1, 1, 1}, true},
    {"curved 10 %, one x 50 % above a line", curved, {1.1, 1.2, 2.1, 1.8, 2.6, 4.2}, true},
    {"within_percent, on the target", percent, {1, 1, 1, 1, 1, 1}, true},
};

Truth truth_of(const std::vector<double>& middle, bool is_linear, std::vector<double> spread) {
  spread.resize(middle.size());
  Truth truth{middle, std::move(spread)};
  truth.is_linear = is_linear;
  return truth;
}

/// Two series whose errors fall as x^-2 over x = 1, 2, 4, 8, so that the line through the logarithms is true, and the
/// steps at which each of them reaches 1.
struct Race {
  const char* name;
  Limits limits;
  double slow, fast;
  double spread = 0.05;  ///< of the fast series
};

// A series at 8 e^-0.04 steps is 0.7 deviations of a seed's steps before the last x, where a lower bound that were
// taken for a number would be worst.
const double late = 8 * std::exp(-0.04), early = std::exp(0.04);
const std::vector<Race> even_races{
    {"steps_ratio ≥ 4, at its limit", {.low = 4}, 6, 1.5},
    {"steps_ratio ≤ 4, at its limit", {.high = 4}, 6, 1.5},
    {"steps_ratio ≥ 2, at it, a quarter of the slow not there", {.low = 2}, late, late / 2},
    {"the same, the fast without noise", {.low = 2}, late, late / 2, 0},
    {"steps_ratio ≥ 2, at it, half of the slow not there", {.low = 2}, 8, 4},
    {"steps_ratio ≥ 2, at it, a quarter of the fast there at once", {.low = 2}, 2 * early, early},
    {"steps_ratio ≤ 1/2, at it, a quarter of the other not there", {.high = 0.5}, late / 2, late},
};
const std::vector<Race> races{
    {"steps_ratio ≥ 2, 2.5 × the steps", {.low = 2}, 3.75, 1.5},
    {"steps_ratio ≥ 2, 3 × the steps", {.low = 2}, 4.5, 1.5},
    {"steps_ratio ≥ 2, 3 ×, half of the slow not there", {.low = 2}, 8, 8.0 / 3},
    {"steps_ratio ≥ 2, 10 ×, the slow never there, a bound of 3 ×", {.low = 2}, 80.0 / 3, 8.0 / 3},
    {"steps_ratio in 1/1.5 to 1.5, as many steps", {.low = 1 / 1.5, .high = 1.5}, 3, 3},
};

/// So that two series whose steps are four times apart are read off alike: what noise at the x does to the mean of what
/// is read off is the same for both.
const std::vector<double> by_turns{0.2, 0.01, 0.2, 0.01};

/// The rates of a claim of the first series, "own", on the second, "other"; each has an effect of the seed of its own.
Rates rates_of_two(ClaimConfig c, const std::vector<Truth>& truths, int seeds) {
  c.series = "own";
  c.keys.than.series = "other";
  StudyResults r = testing::study({}, {});
  r.series = {"own", "other"};
  for (size_t series = 0; series < truths.size(); ++series)
    for (size_t i = 0; i < truths[series].middle.size(); ++i)
      for (int s = 0; s < seeds; ++s) {
        r.trials.push_back(testing::trial(std::exp2(i), s, 1));
        r.trials.back().series = r.series[series];
      }
  Normals normal(1 + static_cast<uint64_t>(seeds));
  Rates counted;
  for (int i = 0; i < studies; ++i) {
    auto trial = r.trials.begin();
    for (const Truth& truth : truths)
      for (const Point& p : simulate(truth, seeds, false, normal).points)
        for (const auto& entry : p.values) (trial++)->test["mse"] = entry.second;
    const Case one{r, c, curve_in_range(r, "own", "", c), "x"};
    const Hypothesis::Evidence evidence = c.kind->hypothesis(one)->evidence();
    if (evidence.p <= level) counted.pass += 1.0 / studies;
    if (evidence.p_against <= level) counted.fail += 1.0 / studies;
  }
  return counted;
}

Rates rates(const Race& race, bool is_equal, int seeds) {
  std::vector<Truth> truths;
  for (const double steps : {race.slow, race.fast}) {
    std::vector<double> middle = power_law(-2);
    middle.resize(4);
    for (double& m : middle) m += 2 * std::log(steps);
    truths.push_back(truth_of(middle, false, is_equal ? equal : by_turns));
  }
  if (race.spread == 0) truths[1] = {truths[1].middle, std::vector<double>(4, 0.001), 0.001};
  return rates_of_two(claim("steps_ratio", {.limits = race.limits, .value = 1}), truths, seeds);
}

/// Two series of which a claim says that their best x differ.
struct Optima {
  const char* name;
  ClaimKeys keys;
  std::vector<double> own, other;
};
const std::vector<Optima> same_optima{
    {"optimum_differs, all alike", {}, {0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}},
    {"optimum_differs, one clear best and a tie of two", {}, {1, 1, 0, 1, 1, 1}, {1, 1, 0, 0, 1, 1}},
    {"optimum_differs, the best of one like all of the other", {}, {1, 1, 0, 1, 1, 1}, {0, 0, 0, 0, 0, 0}},
    {"optimum_differs 1.1, the best of one 10 % off in the other",
     {.factor = 1.1},
     {1, 1, 0, 1, 1, 1},
     {1, 1, tenth, 0, 1, 1}},
    {"optimum_differs 1.1, one x 10 % off in both", {.factor = 1.1}, {1, 0, tenth, 1, 1, 1}, {1, 1, tenth, 0, 1, 1}},
    {"optimum_differs larger, one clear best and a tie of two",
     {.direction = "larger"},
     {1, 1, 0, 0, 1, 1},
     {1, 1, 1, 0, 1, 1}},
    {"optimum_differs 1.1 larger, 10 % from the reverse",
     {.factor = 1.1, .direction = "larger"},
     {1, tenth, 1, 0, 1, 1},
     {1, 1, 0, 1, 1, 1}},
};
const std::vector<Optima> other_optima{
    {"optimum_differs, neighbours 1.5 × apart", {}, {1, 0.4, 0, 0.4, 0.7, 1}, {1, 0.7, 0.4, 0, 0.4, 1}},
    {"optimum_differs 1.1, neighbours 1.5 × apart",
     {.factor = 1.1},
     {1, 0.4, 0, 0.4, 0.7, 1},
     {1, 0.7, 0.4, 0, 0.4, 1}},
    {"optimum_differs 1.1, neighbours 3 × apart", {.factor = 1.1}, {2, 1.1, 0, 1.1, 2, 3}, {3, 2, 1.1, 0, 1.1, 2}},
    {"optimum_differs 1.1 smaller, neighbours 1.5 × apart",
     {.factor = 1.1, .direction = "smaller"},
     {1, 0.4, 0, 0.4, 0.7, 1},
     {1, 0.7, 0.4, 0, 0.4, 1}},
};

Rates rates(const Optima& optima, bool is_equal, int seeds) {
  const std::vector<double>& spread = is_equal ? equal : unequal;
  return rates_of_two(claim("optimum_differs", optima.keys),
                      {truth_of(optima.own, false, spread), truth_of(optima.other, false, spread)}, seeds);
}

bool prints_table() { return std::getenv("HEADROOM_TABLE") != nullptr; }

std::string percent_text(double rate) { return fmt::format("{:.1f}", 100 * rate); }

void print_row(const std::string& name, const std::vector<std::string>& cells) {
  if (prints_table()) fmt::print("| {} | {} |\n", name, fmt::join(cells, " | "));
}

}  // namespace

TEST_CASE("no judge is wrong more often than its level") {
  print_row("truth: false passes / false fails, %", {"spread", "3 seeds", "5", "10", "20"});
  for (const Null& null : nulls) {
    for (const bool is_equal : {true, false}) {
      const Truth truth = truth_of(null.middle, null.is_linear, is_equal ? equal : unequal);
      std::vector<std::string> cells{is_equal ? "equal" : "unequal"};
      for (const int seeds : counts_of_seeds) {
        // Without a table, half of them: equal spread at 5 and 20 seeds, unequal at 3 and 10.
        if (!prints_table() && is_equal != (seeds == 5 || seeds == 20)) continue;
        const Rates r = rates(null.claim, truth, seeds);
        CAPTURE(null.name, is_equal, seeds);
        CHECK(r.pass <= most);
        if (!null.is_false) CHECK(r.fail <= most);
        cells.push_back(fmt::format("{} / {}", percent_text(r.pass), percent_text(r.fail)));
      }
      print_row(null.name, cells);
    }
  }
}

TEST_CASE("effects are seen the sooner the more seeds there are") {
  print_row("truth: passes, %", {"spread", "3 seeds", "5", "10", "20"});
  for (const Alternative& effect : effects) {
    for (const bool is_equal : {true, false}) {
      if (!is_equal && !prints_table()) continue;
      std::vector<std::string> cells{is_equal ? "equal" : "unequal"};
      double before = 0;
      for (const int seeds : counts_of_seeds) {
        if (!prints_table() && seeds != 3 && seeds != 10) continue;
        const Rates r =
            rates(effect.claim, truth_of(effect.middle, effect.is_linear, is_equal ? equal : unequal), seeds);
        CAPTURE(effect.name, is_equal, seeds);
        CHECK(r.pass >= before - 0.01);
        CHECK(r.fail <= most);
        if (seeds == 20 && is_equal) CHECK(r.pass > 0.5);
        before = r.pass;
        cells.push_back(percent_text(r.pass));
      }
      print_row(effect.name, cells);
    }
  }
}

/// Of two series: no verdict is wrong more often than the level where the claim is on its threshold (`even`), and what
/// holds is seen with ten seeds.
template <class Pair>
void check_two(const std::vector<Pair>& even, const std::vector<Pair>& apart) {
  for (const bool is_even : {true, false})
    for (const Pair& pair : is_even ? even : apart)
      for (const bool is_equal : {true, false}) {
        std::vector<std::string> cells{is_equal ? "equal" : "unequal"};
        for (const int seeds : counts_of_seeds) {
          if (!prints_table() && (!is_equal || seeds == 5 || seeds == 20)) continue;
          const Rates r = rates(pair, is_equal, seeds);
          CAPTURE(pair.name, is_equal, seeds);
          if (is_even) CHECK(r.pass <= most);
          if (!is_even && is_equal && seeds >= 10) CHECK(r.pass > 0.5);
          CHECK(r.fail <= most);
          cells.push_back(is_even ? fmt::format("{} / {}", percent_text(r.pass), percent_text(r.fail))
                                  : percent_text(r.pass));
        }
        print_row(pair.name, cells);
      }
}

TEST_CASE("the ratio of steps keeps its level where some never get there") { check_two(even_races, races); }

TEST_CASE("that two best x differ keeps its level whichever look best") { check_two(same_optima, other_optima); }

TEST_CASE("the error of finite test data is in the level") {
  print_row("finite test data: false passes, %", {"parts", "3 seeds", "5", "10", "20"});
  for (const Null* null : {&nulls[1], &nulls[6], &nulls[9], &nulls[14], &nulls[16], &nulls[18]}) {
    for (const bool with_parts : {true, false}) {
      if (!with_parts && !prints_table()) continue;
      std::vector<std::string> cells{with_parts ? "with" : "without"};
      for (const int seeds : counts_of_seeds) {
        if (!prints_table() && seeds != 3 && seeds != 10) continue;
        Truth truth = truth_of(null->middle, null->is_linear, equal);
        truth.parts = 0.2;  // of the mean over 16: 0.05, as much as one training run's
        truth.noise = 0.1;
        const Rates r = rates(null->claim, truth, seeds, with_parts);
        CAPTURE(null->name, seeds, r.pass, r.fail);
        if (with_parts) {
          CHECK(r.pass <= most);
          CHECK(r.fail <= most);
        }
        cells.push_back(fmt::format("{} / {}", percent_text(r.pass), percent_text(r.fail)));
      }
      print_row(null->name, cells);
    }
  }
}

TEST_CASE("of five false claims in a study none passes more often than the level") {
  static const StudyResults results;
  Normals normal(7);
  for (const int seeds : {3, 10}) {
    double any = 0, uncorrected = 0;
    for (int i = 0; i < studies; ++i) {
      std::vector<double> p;
      for (int j = 0; j < 5; ++j) {
        const Case c{results, less, simulate(truth_of({0, 0}, false, equal), seeds, false, normal), "heads"};
        p.push_back(less.kind->hypothesis(c)->evidence().p);
      }
      const std::vector<double> adjusted = holm(p);
      any += std::any_of(adjusted.begin(), adjusted.end(), [](double a) { return a <= level; }) ? 1.0 / studies : 0;
      uncorrected += std::any_of(p.begin(), p.end(), [](double a) { return a <= level; }) ? 1.0 / studies : 0;
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
      r.claims = {interior_by};
      r.claims[0].single_rate = excuse;
      passed += judge(r)[0].status == VerdictStatus::pass ? 1 : 0;
    }
    return passed;
  };
  CHECK(passes({1e-2}, "") == 0);
  CHECK(passes({1e-2}, "without the rule") > 0.9 * repeated);
  CHECK(passes({1e-4, 1e-3, 1e-2, 1e-1, 1}, "") <= level * repeated);
}

// One seed in five fails to train at x = 4. What a claim says is of the seeds that learn, whose truth is on its
// threshold: where a failed one is seen, its x decides nothing.
TEST_CASE("seeds that did not learn make no verdict wrong") {
  static const StudyResults results;
  print_row("seeds that fail at an x: false passes / false fails, %", {"rule", "3 seeds", "5", "10", "20"});
  const std::vector<Null> split{
      {"interior_optimum, one end clear, the other alike", interior, {-1.5, -3, -3, -3, -3, -3}},
      {"within_factor 1.1, 10 % above all", claim("within_factor", {.at = 4, .factor = 1.1}), {-2, -2, -2 + tenth, -2}},
      {"worse_than_best, all alike", claim("worse_than_best", {.at = 4}), {-2, -2, -2, -2}},
      {"less_than, alike", claim("less_than", {.at = 4, .than = {.at = 2}}), {-2, -2, -2}}};
  for (const Null& null : split) {
    for (const bool is_marked : {true, false}) {
      std::vector<std::string> cells{is_marked ? "with" : "without"};
      for (const int seeds : counts_of_seeds) {
        if (!prints_table() && (!is_marked || seeds == 5 || seeds == 20)) continue;
        Normals normal(11);
        Rates counted;
        for (int i = 0; i < studies; ++i) {
          Curve curve = simulate(truth_of(null.middle, false, equal), seeds, false, normal);
          curve.metric = "relative_mse";
          for (auto& entry : curve.points[2].values)
            if (normal.next() > 0.8416) entry.second = 0.95;  // one in five
          for (Point& p : curve.points) summarise(p, false);
          if (is_marked) mark_learned(curve, std::nullopt);
          const Case c{results, null.claim, curve, "heads"};
          const Hypothesis::Evidence evidence = null.claim.kind->hypothesis(c)->evidence_of_trusted();
          if (evidence.p <= level) counted.pass += 1.0 / studies;
          if (evidence.p_against <= level) counted.fail += 1.0 / studies;
        }
        CAPTURE(null.name, seeds);
        if (is_marked) {
          CHECK(counted.pass <= most);
          CHECK(counted.fail <= most);
        }
        cells.push_back(fmt::format("{} / {}", percent_text(counted.pass), percent_text(counted.fail)));
      }
      if (is_marked || prints_table()) print_row(null.name, cells);
    }
  }
}

/// Claims of one study: by how many standard deviations of a seed's value the truth lies beyond each claim's threshold.
/// Where that is above 0 a fail is wrong, else a pass.
struct Mix {
  const char* name;
  std::vector<double> beyond;
};

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
  for (int i = 0; i < studies; ++i) {
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
    wrong += any ? 1.0 / studies : 0;
  }
  return wrong;
}

/// With two claims that go together, one at the threshold on either side, Holm tests the second at the whole level
/// where the first was decided, and rightly: 5.9 % were measured. What is proved, whatever claims have in common, is
/// twice the level.
constexpr double most_of_any = 0.0625;

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
