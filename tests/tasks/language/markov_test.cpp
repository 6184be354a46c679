#include "tasks/language/markov.h"

#include <cmath>
#include <map>
#include <numeric>

#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::tasks;
using headroom::testing::error_of;

namespace {

/// π of a small chain by Gauss–Jordan elimination of π(P − I) = 0, Σ π = 1.
std::vector<double> solved_stationary(const MarkovConfig& config, const std::vector<double>& p) {
  const auto symbols = static_cast<size_t>(config.symbols);
  const size_t n = p.size() / symbols;
  std::vector<std::vector<double>> a(n, std::vector<double>(n + 1, 0.0));
  for (size_t c = 0; c < n; ++c) {
    for (size_t v = 0; v < symbols; ++v) a[c % (n / symbols) * symbols + v][c] += p[c * symbols + v];
    a[c][c] -= 1;
  }
  for (size_t c = 0; c <= n; ++c) a[n - 1][c] = 1;
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t j = i; j < n; ++j)
      if (std::abs(a[j][i]) > std::abs(a[pivot][i])) pivot = j;
    std::swap(a[i], a[pivot]);
    for (size_t j = 0; j < n; ++j) {
      if (j == i) continue;
      const double factor = a[j][i] / a[i][i];
      for (size_t k = i; k <= n; ++k) a[j][k] -= factor * a[i][k];
    }
  }
  std::vector<double> pi(n);
  for (size_t i = 0; i < n; ++i) pi[i] = a[i][n] / a[i][i];
  return pi;
}

double entropy_rate_of(const MarkovConfig& config, const std::vector<double>& p, const std::vector<double>& pi) {
  double rate = 0;
  for (size_t i = 0; i < p.size(); ++i) rate -= pi[i / static_cast<size_t>(config.symbols)] * p[i] * std::log(p[i]);
  return rate;
}

}  // namespace

TEST_CASE("entropy rate and stationary distribution are those of a direct solution") {
  for (const auto& [symbols, order, sharpness] :
       std::vector<std::tuple<int64_t, int64_t, double>>{{2, 1, 1.0}, {3, 2, 1.5}, {2, 5, 3.0}, {6, 2, 2.5}}) {
    const MarkovConfig config{.symbols = symbols, .order = order, .seed = 7, .sharpness = sharpness};
    const MarkovSource source(config);
    const std::vector<double> pi = solved_stationary(config, source.transitions());
    REQUIRE(pi.size() == source.stationary().size());
    for (size_t c = 0; c < pi.size(); ++c) CHECK(std::abs(source.stationary()[c] - pi[c]) < 1e-11);
    CHECK(source.entropy_rate_error() <= 1e-12);
    CHECK(std::abs(source.entropy_rate() - entropy_rate_of(config, source.transitions(), pi)) < 1e-11);
  }
}

TEST_CASE("without sharpness every symbol is equally likely: ln V") {
  const MarkovSource source({.symbols = 5, .order = 2, .sharpness = 0});
  CHECK(std::abs(source.entropy_rate() - std::log(5.0)) < 1e-14);
}

TEST_CASE("rows are distributions, and the language follows the seed") {
  const MarkovConfig config{.symbols = 4, .order = 2, .seed = 3};
  const MarkovSource source(config), same(config);
  MarkovConfig other_config = config;
  other_config.seed = 4;
  const MarkovSource other(other_config);
  CHECK(source.transitions() == same.transitions());
  CHECK(source.transitions() != other.transitions());
  for (size_t c = 0; c < 16; ++c) {
    const auto row = source.transitions().begin() + static_cast<std::ptrdiff_t>(4 * c);
    CHECK(std::abs(std::accumulate(row, row + 4, 0.0) - 1) < 1e-14);
  }
  CHECK(source.sample(500, "text") == same.sample(500, "text"));
  CHECK(source.sample(500, "text") != source.sample(500, "more"));
}

TEST_CASE("sampled text has the table's frequencies and the entropy rate's cross-entropy") {
  const MarkovConfig config{.symbols = 3, .order = 2, .seed = 5};
  const MarkovSource source(config);
  const int64_t count = 300'000;
  const std::vector<int32_t> text = source.sample(count, "text");
  std::map<size_t, double> pairs;
  double nats = 0, squares = 0;
  for (size_t i = 2; i < text.size(); ++i) {
    const size_t context = static_cast<size_t>(text[i - 2] * 3 + text[i - 1]);
    const double surprise = -std::log(source.transitions()[context * 3 + static_cast<size_t>(text[i])]);
    nats += surprise;
    squares += surprise * surprise;
    pairs[context] += 1;
  }
  const double n = static_cast<double>(count - 2), mean = nats / n;
  // Five standard errors of independent draws, doubled as a chain's are not independent.
  const double allowed = 10 * std::sqrt((squares / n - mean * mean) / n);
  CHECK(std::abs(mean - source.entropy_rate()) < allowed);
  for (size_t c = 0; c < 9; ++c) CHECK(std::abs(pairs[c] / n - source.stationary()[c]) < 0.01);
}

TEST_CASE("a Markov source that cannot be says why") {
  CHECK(error_of([] { MarkovSource({.symbols = 1}); }) == "markov.symbols: expected 2 … 65536, got 1");
  CHECK(error_of([] { MarkovSource({.order = 0}); }) == "markov.order: expected 1 … 16, got 0");
  CHECK(error_of([] { MarkovSource({.symbols = 64, .order = 4}); }) ==
        "markov: symbols^(order + 1) = 64^5 is more than the 4194304 entries that a table may have");
  CHECK(headroom::testing::contains(error_of([] { MarkovSource({.symbols = 2, .order = 12, .sharpness = 20}); }),
                                    "mixes too slowly"));
}
