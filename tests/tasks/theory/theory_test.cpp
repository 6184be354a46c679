#include <cmath>

#include "engine/error.h"
#include "tasks/theory/allocation.h"
#include "tasks/theory/allocation_bound.h"
#include "tasks/theory/volterra_bound.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::tasks;

namespace {

auto near(double value) { return Approx(value).margin(1e-9).epsilon(0); }

/// Every split of `heads` over the lags from `at` on, lags without any heads among them.
double by_hand(const VolterraBoundConfig& config, int64_t left, int64_t head_dim, std::vector<int64_t>& heads,
               size_t at) {
  if (at < heads.size()) {
    double best = 1e300;
    for (int64_t h = 0; h <= left; ++h) {
      heads[at] = h;
      best = std::min(best, by_hand(config, left - h, head_dim, heads, at + 1));
    }
    return best;
  }
  double sum = 0;
  const double b = config.bound;
  for (const VolterraTerm& term : config.terms) {
    double gamma = 0, product = 1;
    bool kept = true;
    for (const int64_t lag : {term.first, term.second}) {
      const int64_t h = lag == 0 ? 1 : heads[static_cast<size_t>(lag - 1)];
      kept = kept && h > 0;
      gamma += lag == 0 ? 0 : projection_error(head_dim, config.token_dim);
      product *= b + (lag == 0 ? 0 : b * extraction_error(lag, static_cast<double>(h)));
    }
    sum += std::abs(term.weight) * (kept ? b * b * gamma + product - b * b : config.product_norm);
  }
  return sum;
}

}  // namespace

TEST_CASE("a point of a curve as a formula: a value, and nothing to train") {
  const AllocationBound budget({.width = 128, .token_dim = 16, .heads = 8});
  CHECK(budget.compute(0).at("bound") == near(0.16578271775434783));
  CHECK(budget.describe() == "E_D(H), D = 128, d = 16, H = 8");
  const AllocationBound heads({.curve = AllocationBoundConfig::Curve::equal_heads,
                               .width = 256,
                               .token_dim = 8,
                               .heads = 32,
                               .kernel = {.n = 4}});
  CHECK(heads.compute(0).at("bound") == near(0.6834970558714126));
  // What is negative is as costly as what is positive.
  AllocationBoundConfig signs{.curve = AllocationBoundConfig::Curve::equal_heads,
                              .width = 64,
                              .token_dim = 8,
                              .heads = 8,
                              .kernel = {.kind = "list", .values = {1, -0.5}}};
  const double negative = AllocationBound(signs).compute(0).at("bound");
  signs.kernel.values = {1, 0.5};
  CHECK(AllocationBound(signs).compute(0).at("bound") == near(negative));
  CHECK_THROWS_WITH(AllocationBound({.curve = AllocationBoundConfig::Curve::equal_heads, .heads = 3}),
                    "heads: 3 does not divide the width 128");
}

TEST_CASE("a Volterra bound without terms is refused") {
  CHECK_THROWS_WITH(volterra_bound({}, 4, 8), "volterra bound: there are no terms");
}

TEST_CASE("a Volterra bound of what makes no sense is refused") {
  const auto error = [](const VolterraBoundConfig& config) { return [=] { volterra_bound(config, 4, 8); }; };
  const std::vector<VolterraTerm> terms{{1, 2, 1}};
  CHECK_THROWS_WITH(error({.terms = {{-1, 2, 1}}})(), Catch::Contains("lags -1, 2 must be >= 0"));
  CHECK_THROWS_WITH(error({.terms = {{1, 2, std::nan("")}}})(), Catch::Contains("the weight nan finite"));
  CHECK_THROWS_WITH(error({.terms = {{1, 2, HUGE_VAL}}})(), Catch::Contains("the weight inf finite"));
  CHECK_THROWS_WITH(error({.terms = terms, .token_dim = 0})(), Catch::Contains("token dim 0 must be >= 1"));
  CHECK_THROWS_WITH(error({.terms = terms, .bound = 0})(), Catch::Contains("B = 0 must be > 0"));
  CHECK_THROWS_WITH(error({.terms = terms, .bound = HUGE_VAL})(), Catch::Contains("B = inf must be > 0"));
  CHECK_THROWS_WITH(error({.terms = terms, .product_norm = std::nan("")})(), Catch::Contains("product norm nan >= 0"));
  CHECK_THROWS_WITH(volterra_bound({.terms = terms}, 0, 8), Catch::Contains("heads 0"));
  VolterraBoundConfig many{.terms = {}};
  for (int64_t lag = 1; lag <= 13; ++lag) many.terms.push_back({lag, lag, 1});
  CHECK_THROWS_WITH(error(many)(), "volterra bound: 13 distinct lags, expected at most 12");
}

TEST_CASE("the Volterra bound of four pairs at D = 64, d = 4") {
  const VolterraBoundConfig config{.terms = {{1, 2, 0.5}, {2, 3, 0.5}, {3, 4, 0.5}, {1, 4, 0.5}}};
  for (const int64_t heads : {1, 4, 32, 64}) CHECK(volterra_bound(config, heads, 64 / heads) == near(2.0));
  // Lags 1 and 2 by four heads each; the other three pairs are dropped.
  CHECK(volterra_bound(config, 8, 8) ==
        near(1.5 + 0.5 * ((1 + extraction_error(1, 4)) * (1 + extraction_error(2, 4)) - 1)));
  // Lag 2 stands in both pairs that are kept, so it gets 7 of 16 heads: 1.5558. An even split of three lags, 6 + 5 + 5
  // in their order, has 1.5864.
  const double two = 1 + extraction_error(2, 7);
  CHECK(volterra_bound(config, 16, 4) ==
        near(1 + 0.5 * (two * (1 + extraction_error(1, 4)) - 1) + 0.5 * (two * (1 + extraction_error(3, 5)) - 1)));
}

TEST_CASE("the Volterra bound's search finds what trying every split finds") {
  VolterraBoundConfig decaying{.terms = {}, .token_dim = 4, .bound = 2, .product_norm = 2};
  for (int64_t a = 0; a <= 3; ++a)
    for (int64_t b = 0; b <= 3; ++b)
      decaying.terms.push_back({a, b, (a > b ? -1 : 1) * std::exp(-0.5 * static_cast<double>(a + b))});
  const VolterraBoundConfig uneven{
      .terms = {{1, 3, 2.0}, {2, 2, 0.7}, {0, 4, 1.0}, {0, 0, 3.0}, {4, 1, 0.1}}, .bound = 1.5, .product_norm = 2.25};
  for (const int64_t heads : {1, 2, 5, 12, 20}) {
    for (const int64_t head_dim : {2, 4}) {
      std::vector<int64_t> three(3), four(4);
      CHECK(volterra_bound(decaying, heads, head_dim) == near(by_hand(decaying, heads, head_dim, three, 0)));
      CHECK(volterra_bound(uneven, heads, head_dim) == near(by_hand(uneven, heads, head_dim, four, 0)));
    }
  }
}

TEST_CASE("the Volterra bound of the paper's kernel is found for many heads") {
  VolterraBoundConfig config{.terms = {}, .bound = 2, .product_norm = 2};
  for (int64_t a = 0; a <= 6; ++a)
    for (int64_t b = 0; b <= 6; ++b) config.terms.push_back({a, b, std::exp(-0.5 * static_cast<double>(a + b))});
  double before = 1e300;
  for (const int64_t heads : {8, 16, 64, 256}) {
    const double bound = volterra_bound(config, heads, 4);  // full width: more heads can only help
    CHECK(bound < before);
    before = bound;
  }
  CHECK(volterra_bound(config, 1000, 4) < 0.5);
}
