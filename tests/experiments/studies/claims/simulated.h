#pragma once
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "experiments/studies/analysis/case.h"

// Simulated studies whose truth is known.
namespace headroom::experiments::testing {

inline bool prints_table() { return std::getenv("HEADROOM_TABLE") != nullptr; }

/// Of each truth. The tables, and so .ci/full, have four times as many as the tests of every build.
inline const int studies = prints_table() ? 10000 : 2500;
constexpr double level = 0.05;
/// Four standard errors of a rate of 5 %: of some hundred rates one in thirty runs would be above.
inline const double most = level + 4 * std::sqrt(level * (1 - level) / studies);
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

inline Curve simulate(const Truth& truth, int seeds, bool with_parts, Normals& normal) {
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

inline Rates rates(const ClaimConfig& claim, const Truth& truth, int seeds, bool with_parts = false) {
  static const Analysis results = analyse({});
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

inline const std::vector<double> equal(6, 0.05);
inline const std::vector<double> unequal{0.2, 0.01, 0.05, 0.1, 0.02, 0.15};

inline Truth truth_of(const std::vector<double>& middle, bool is_linear, std::vector<double> spread) {
  spread.resize(middle.size());
  Truth truth{middle, std::move(spread)};
  truth.is_linear = is_linear;
  return truth;
}

inline std::string percent_text(double rate) { return fmt::format("{:.1f}", 100 * rate); }

inline void print_row(const std::string& name, const std::vector<std::string>& cells) {
  if (prints_table()) fmt::print("| {} | {} |\n", name, fmt::join(cells, " | "));
}

}  // namespace headroom::experiments::testing
