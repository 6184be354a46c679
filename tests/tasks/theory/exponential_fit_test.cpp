#include "tasks/theory/exponential_fit.h"

#include <cmath>

#include "engine/error.h"
#include "tasks/theory/allocation.h"
#include "tasks/theory/exponential_sum.h"
#include "tests/tasks/theory/lemmas.h"

using namespace headroom;
using namespace headroom::tasks;
using namespace headroom::testing;

namespace {

/// A number of a grid, where it is a string with its decimals.
double number(const nlohmann::json& grid, const char* key) { return std::stod(grid[key].get<std::string>()); }

}  // namespace

TEST_CASE("the best fits on fixed rates, and how often the lemma's bound fails there") {
  std::vector<int> failures;
  for (const nlohmann::json& grid : lemmas()["exponential_sums"]["best_l1_on_grids"]["grids"]) {
    const nlohmann::json& kind = grid["grid"];
    failures.push_back(0);
    for (const nlohmann::json& row : grid["cases"]) {
      const int64_t lag = row["T"], terms = row["m"];
      CAPTURE(kind.dump(), lag, terms);
      const RateFit found =
          best_fit(kind["kind"] == "linear" ? linear_rates(number(kind, "step"), terms)
                                            : geometric_rates(number(kind, "lo"), number(kind, "hi"), terms),
                   lag);
      CHECK(found.l1 == absolute(row["best_l1"], 1e-8));
      CHECK(found.least <= found.l1 + 1e-12);
      CHECK(found.least >= found.l1 - 1e-7);
      CHECK(found.l1 >= (terms <= lag ? 1 : 0) - 1e-9);
      const bool holds = found.l1 <= extraction_error(lag, static_cast<double>(terms));
      CHECK(holds == row["paper_bound_holds"].get<bool>());
      failures.back() += holds ? 0 : 1;
    }
  }
  CHECK(failures == std::vector<int>{25, 11, 17});
}

TEST_CASE("the basis is orthonormal and spans the exponentials") {
  for (const std::vector<double>& nodes : {linear_rates(0.01, 12), linear_rates(1, 12), std::vector<double>{0.5}}) {
    const auto basis = orthonormal_exponentials(nodes);
    REQUIRE(basis.size() == nodes.size());
    const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
      double sum = 0;
      for (size_t t = 0; t < a.size(); ++t) sum += a[t] * b[t];
      return sum;
    };
    for (size_t i = 0; i < basis.size(); ++i)
      for (size_t j = 0; j <= i; ++j) CHECK(dot(basis[i], basis[j]) == absolute(i == j ? 1 : 0, 1e-12));
    for (const double x : nodes) {  // each exponential is its own projection
      std::vector<double> rest(basis[0].size());
      for (size_t t = 0; t < rest.size(); ++t) rest[t] = std::pow(x, static_cast<double>(t));
      const double norm = std::sqrt(dot(rest, rest));
      for (const auto& row : basis) {
        const double part = dot(row, rest);
        for (size_t t = 0; t < rest.size(); ++t) rest[t] -= part * row[t];
      }
      CHECK(std::sqrt(dot(rest, rest)) < 1e-11 * norm);
    }
  }
}

TEST_CASE("what a number format leaves of the fit, however many heads") {
  const auto check = [](int64_t lag, double epsilon, double want) {
    const FloatLimit found = float_limit(lag, epsilon);
    CAPTURE(lag, epsilon);
    CHECK(found.estimate == relative(want, 0.05));  // the reference prints two digits
    CHECK(found.estimate == relative(found.l1 + epsilon * found.gain));
    CHECK(found.least <= found.estimate);
    CHECK(found.least >= found.estimate * 0.995);
    CHECK(found.estimate <= best_float_fit(lag, 32, epsilon).estimate);  // which has Chebyshev nodes only
  };
  check(1, 0x1p-24, 1.7e-5);
  check(2, 0x1p-24, 7.7e-4);
  check(3, 0x1p-24, 1.3e-2);
  check(4, 0x1p-24, 0.11);
  check(8, 0x1p-24, 1);
  check(1, 0x1p-8, 0.17);
  check(2, 0x1p-8, 0.94);
  check(3, 0x1p-8, 1);
}

TEST_CASE("best fits refuse what makes no sense") {
  CHECK_THROWS_WITH(best_fit({0.5, 0.5}, 1), "exponential fit: the node 0.5 is there twice");
  CHECK_THROWS_WITH(best_fit({1.5}, 1), "exponential fit: a node is 1.5: expected e^-rate in (0, 1)");
  CHECK_THROWS_WITH(best_fit({}, 1), "exponential fit: there are no nodes");
  CHECK_THROWS_WITH(best_fit({0.5}, 0), "exponential fit: lag 0 must be >= 1");
  CHECK_THROWS_WITH(best_fit({0.99999}, 1), contains("expected at most 20000"));
  CHECK_THROWS_WITH(float_limit(1, 2), "float limit: unit roundoff 2 must be in (0, 1)");
}
