// Tests that hold however often the data are looked at: their p-values, and how often studies that are looked at with
// every further seed are wrong.
#include "experiments/studies/analysis/statistics.h"

#include <algorithm>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <limits>

#include "experiments/studies/analysis/estimate.h"
#include "tests/experiments/studies/claims/simulated.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using namespace testing;

/// E by its definition: the likelihood of t under effect sizes δ above 0, weighed by their half-normal prior, over that
/// under 0.
double by_quadrature(double t, double n) {
  const auto density = [&](double delta) {
    const double prior = 2 * std::sqrt(anytime_g / (2 * M_PI)) * std::exp(-anytime_g * delta * delta / 2);
    return prior * boost::math::pdf(boost::math::non_central_t(n - 1, delta * std::sqrt(n)), t);
  };
  using Quadrature = boost::math::quadrature::gauss_kronrod<double, 61>;
  const double widest = 8 / std::sqrt(anytime_g), part = widest / 16;
  double sum = 0;
  for (int i = 0; i < 16; ++i) sum += Quadrature::integrate(density, i * part, (i + 1) * part, 5, 1e-9);
  return sum / boost::math::pdf(boost::math::students_t(n - 1), t);
}

/// A simulated comparison of two arms that gets a seed at a time.
struct Growing {
  double effect = 0;  ///< mean of the difference, in standard deviations of it
  double parts = 0;   ///< what the finite test data add to every seed's difference
  bool is_paired = true;
  double spread = 1, every = 1;  ///< of the second arm, if not paired: its spread, and its seeds for one of the first
};
constexpr int most_looks = 50;

/// The estimate at each number of seeds from 2 to most_looks.
std::vector<Estimate> looks_at(const Growing& g, Normals& normal) {
  std::vector<double> by_part(parts_of_data);
  for (double& part : by_part) part = g.parts * normal.next();
  Sample first, second;
  std::vector<Estimate> all;
  for (int seeds = 1; seeds <= most_looks; ++seeds) {
    const double value = g.effect + normal.next();
    if (g.parts > 0) {
      std::vector<double> parts = by_part;
      double mean_part = 0;
      for (double& part : parts) part += value, mean_part += part / parts_of_data;
      first.parts.push_back(parts);
      first.seeds.push_back(mean_part);
    } else {
      first.seeds.push_back(value);
    }
    while (!g.is_paired && static_cast<double>(second.seeds.size()) < g.every * seeds)
      second.seeds.push_back(g.spread * normal.next());
    if (seeds < 2) continue;
    all.push_back(g.is_paired ? estimate(first) : sum_of_unpaired({estimate(first), estimate(second)}));
  }
  return all;
}

/// Of many comparisons how many are ever found to be above 0, and the seeds that the middle one takes.
struct Found {
  double ever = 0, at_ten = 0;
  int seeds = 0;
};
Found find(const Growing& growing, bool is_anytime, int many) {
  Normals normal(23);
  Found found;
  std::vector<int> when;
  for (int i = 0; i < many; ++i) {
    std::vector<Estimate> looks = looks_at(growing, normal);
    int seeds = 2;
    for (Estimate& one : looks) {
      one.is_anytime = is_anytime;
      if (one.sides(0).above <= level) break;
      ++seeds;
    }
    when.push_back(seeds);
    found.ever += seeds <= most_looks ? 1.0 / many : 0;
    found.at_ten += seeds <= 10 ? 1.0 / many : 0;
  }
  std::nth_element(when.begin(), when.begin() + many / 2, when.end());
  found.seeds = when[static_cast<size_t>(many) / 2];
  return found;
}

}  // namespace

TEST_CASE("the closed form of E is the ratio of likelihoods that defines it") {
  for (const double n : {2.0, 3.0, 5.0, 12.0, 40.0})
    for (const double t : {-1.0, 0.0, 0.5, 2.0, 4.0, 8.0}) {
      CAPTURE(n, t);
      CHECK(anytime_tail(t, n) == Approx(std::min(1.0, 1 / by_quadrature(t, n))).epsilon(1e-6));
    }
}

TEST_CASE("an anytime p-value falls with t, has its quantile, and few seeds cannot reach every level") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double n : {2.0, 2.5, 4.0, 30.0, 1000.0}) {
    double last = 1;
    for (double t = -5; t < 1e160; t = t < 20 ? t + 0.25 : t * 1e5) {
      const double p = anytime_tail(t, n);
      CHECK(p <= last * (1 + 1e-9));  // beyond all t it is a constant but for rounding
      last = p;
    }
    CHECK(anytime_tail(infinity, n) <= last * (1 + 1e-9));
    CHECK(anytime_tail(-infinity, n) == 1);
    for (const double tail : {0.5, 0.05, 1e-3, 1e-9}) {
      const double t = anytime_quantile(tail, n);
      if (std::isinf(t)) CHECK(anytime_tail(1e300, n) >= tail * (1 - 1e-9));
      else CHECK(anytime_tail(t, n) == Approx(tail).epsilon(1e-9));
    }
  }
  CHECK(std::isinf(anytime_quantile(0.05, 2)));
  CHECK(std::isfinite(anytime_quantile(0.05, 3)));
  CHECK(anytime_tail(3, 1) == 1);
  CHECK(std::isnan(anytime_tail(std::nan(""), 5)));
}

TEST_CASE("intervals of an anytime estimate end where its test is at their level") {
  Estimate one = estimate({.seeds = {1.0, 1.3, 0.8, 1.1, 1.2, 0.9}, .parts = {}});
  const auto [plain_low, plain_high] = one.interval(0.9);
  one.is_anytime = true;
  const auto [low, high] = one.interval(0.9);
  CHECK(low < plain_low);
  CHECK(high > plain_high);
  CHECK(one.sides(low).above == Approx(0.05).epsilon(1e-6));
  CHECK(one.sides(high).below == Approx(0.05).epsilon(1e-6));
  CHECK(one.method() == "anytime t");
}

TEST_CASE(
    "looking with every seed from 2 to 50 keeps the level with anytime tests, and breaks it five times over without") {
  const int many = prints_table() ? 20000 : 1000;
  const double most_wrong = level + 4 * std::sqrt(level * (1 - level) / many);
  struct Row {
    const char* name;
    Growing growing;
  };
  for (const auto& [name, growing] :
       {Row{"paired", {}},
        {"paired, parts a tenth of a seed's spread", {.parts = 0.4}},
        {"paired, parts as large", {.parts = 4}},
        {"unpaired", {.is_paired = false}},
        {"unpaired, three times the spread", {.is_paired = false, .spread = 3}},
        {"unpaired, three times the seeds", {.is_paired = false, .every = 3}},
        {"unpaired, a third of the spread, three times the seeds", {.is_paired = false, .spread = 0.33, .every = 3}}}) {
    const Found anytime = find(growing, true, many), plain = find(growing, false, many);
    CAPTURE(name, anytime.ever, plain.ever);
    CHECK(anytime.ever <= most_wrong);
    CHECK(plain.ever > 1.5 * level);
    print_row(name, {percent_text(anytime.ever), percent_text(plain.ever)});
  }
}

TEST_CASE("anytime tests find effects with few more seeds than one test would take") {
  for (const auto& [effect, most_seeds] : {std::pair{0.5, 40}, {1.0, 12}, {2.0, 6}, {3.0, 5}}) {
    const Found found = find({.effect = effect}, true, 1000);
    CAPTURE(effect, found.seeds);
    CHECK(found.seeds <= most_seeds);
    print_row(fmt::format("effect {}: by 10 seeds, by 50, seeds of the middle one", effect),
              {percent_text(found.at_ten), percent_text(found.ever), fmt::format("{}", found.seeds)});
  }
}

}  // namespace headroom::experiments
