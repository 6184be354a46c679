#include "tasks/theory/exponential_sum.h"

#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "engine/error.h"
#include "tasks/theory/allocation.h"
#include "tests/tasks/theory/lemmas.h"

using namespace headroom;
using namespace headroom::tasks;
using namespace headroom::testing;

namespace {

const nlohmann::json& reference() { return lemmas()["exponential_sums"]; }

using Numbers = std::vector<double>;

double paper_bound(const nlohmann::json& row, int64_t terms) {
  return extraction_error(row["T"], static_cast<double>(terms));
}

/// The best ℓ1 error of δ_T by `terms` exponentials of any rates: exactly 1 for terms <= lag, where zero is best, and
/// as near to 0 as wanted from there on.
double best_l1(int64_t lag, int64_t terms) { return terms <= lag ? 1 : 0; }

double smallest_true_constant() { return 50 / std::numbers::e; }

/// The numbers of terms for which the lemma's bound is below best_l1() at this lag: 1.3 e^{0.02T} < m <= T.
struct TermRange {
  int64_t first = 0, last = 0;
};

std::optional<TermRange> failing_terms(int64_t lag) {
  // The bound falls in m: the first m at which it is below 1.
  auto first = static_cast<int64_t>(extraction_error(lag, 1));
  while (extraction_error(lag, static_cast<double>(first)) >= 1) ++first;
  if (first > lag) return std::nullopt;
  return TermRange{first, lag};
}

/// The lemma's C(1) = sup |Ψ'| / (1 − 1/e), with Ψ(x) = exp(−1/(1 − x²)); the paper rounds it to 1.3.
struct BumpConstant {
  double steepest = 0;  ///< sup |Ψ'|
  double at = 0;        ///< the x > 0 that reaches it
  double constant = 0;  ///< C(1)
};

BumpConstant bump_constant() {
  const double at = std::pow(3, -0.25);  // Ψ'' = 0 there
  const double steepest = 2 * at / std::pow(1 - at * at, 2) * std::exp(-1 / (1 - at * at));
  return {steepest, at, steepest / (1 - 1 / std::numbers::e)};
}

}  // namespace

TEST_CASE("the lemma's constant is what the paper says") {
  const BumpConstant found = bump_constant();
  const nlohmann::json& want = reference()["constants"];
  CHECK(found.steepest == relative(want["sup_abs_bump_derivative"], 1e-12));
  CHECK(found.at == relative(want["at_x"], 1e-12));
  CHECK(found.steepest == relative(want["M_1"], 1e-12));
  CHECK(found.constant == relative(want["C_1 = M_1/(1-1/e)"], 1e-12));
  CHECK(found.constant == absolute(want["paper_rounds_to"], 0.05));
}

TEST_CASE("the law: 1 up to as many terms as the lag, 0 from there on; where the lemma contradicts it") {
  const nlohmann::json& law = reference()["dichotomy"];
  for (const auto& [lag, range] : law["failing_range_by_T"].items()) {
    const std::optional<TermRange> found = failing_terms(std::stoll(lag));
    CAPTURE(lag);
    REQUIRE(found.has_value() == !range.is_null());
    if (!found) continue;
    CHECK(found->first == range[0].get<int64_t>());
    CHECK(found->last == range[1].get<int64_t>());
  }
  CHECK(failing_terms(law["largest_T_with_a_failure"]));
  for (int64_t lag = law["largest_T_with_a_failure"].get<int64_t>() + 1; lag < 400; ++lag)
    CHECK_FALSE(failing_terms(lag));
  const nlohmann::json& smallest = law["smallest_failing_case"];
  CHECK_FALSE(failing_terms(1));
  CHECK(best_l1(smallest["T"], smallest["m"]) == smallest["best_l1"].get<double>());
  CHECK(paper_bound(smallest, smallest["m"]) == relative(smallest["bound"]));
  CHECK(best_l1(2, 3) == 0);
}

TEST_CASE("50/e is the smallest constant that makes the lemma true") {
  const nlohmann::json& want = reference()["dichotomy"]["smallest_constant_C_for_which_C e^{0.02T}/m is true"];
  CHECK(smallest_true_constant() == relative(want["C"], 1e-14));
  double needed = 0;
  std::pair<int64_t, int64_t> where;
  for (int64_t lag = 1; lag <= 400; ++lag)
    for (int64_t m = 1; m <= lag; ++m) {
      const double wanted = best_l1(lag, m) * static_cast<double>(m) * std::exp(-0.02 * static_cast<double>(lag));
      if (wanted > needed) where = {lag, m};
      needed = std::max(needed, wanted);
    }
  CHECK(smallest_true_constant() == relative(needed, 1e-14));
  const int64_t attained = want["attained_at_T_and_m"];
  CHECK(where == std::pair(attained, attained));
}

TEST_CASE("a certificate is at most 1, 1 at the lag, and orthogonal to every exponential") {
  for (const nlohmann::json& row : reference()["certificates_m_le_T"]) {
    const auto want = row["y_from_t0"].get<Numbers>();
    const Numbers found = certificate(row["x"].get<Numbers>(), row["T"]);
    REQUIRE(found.size() == want.size());
    for (size_t t = 0; t < want.size(); ++t) CHECK(found[t] == absolute(want[t], 1e-12));
    CHECK(paper_bound(row, static_cast<int64_t>(row["x"].size())) == relative(row["paper_bound"]));
  }
  for (const int64_t lag : {3, 17, 40}) {
    const Numbers nodes = geometric_rates(0.05, 3, lag);
    const Numbers y = certificate(nodes, lag);
    CHECK(y[static_cast<size_t>(lag)] == 1);
    for (const double value : y) CHECK(std::abs(value) <= 1);
    for (const double x : nodes) {
      double sum = 0;
      for (size_t t = 0; t < y.size(); ++t) sum += y[t] * std::pow(x, static_cast<double>(t));
      CHECK(std::abs(sum) < 1e-13);
    }
  }
  CHECK_THROWS_WITH(certificate({0.1, 0.2, 0.3}, 2),
                    "certificate: 3 nodes at lag 2: expected at most as many as the lag");
  CHECK_THROWS_WITH(certificate({1.0}, 2), "exponential sum: a node is 1: expected e^-rate in (0, 1)");
}

TEST_CASE("interpolation on T + 1 nodes, and on Chebyshev nodes") {
  const auto check = [](const nlohmann::json& row, const ExponentialSum& found) {
    CAPTURE(row["T"].get<int>(), found.nodes.size());
    const auto amplitudes = row["alpha"].get<Numbers>();
    REQUIRE(found.amplitudes.size() == amplitudes.size());
    for (size_t k = 0; k < amplitudes.size(); ++k) CHECK(found.amplitudes[k] == relative(amplitudes[k]));
    CHECK(found.l1 == relative(row["l1"]));
    CHECK(found.gain == relative(row["gain"]));
    CHECK(paper_bound(row, static_cast<int64_t>(found.nodes.size())) == relative(row["paper_bound"]));
  };
  for (const nlohmann::json& row : reference()["closed_form_T_plus_1_nodes"])
    check(row, interpolate(row["x"].get<Numbers>(), row["T"]));
  for (const nlohmann::json& row : reference()["interpolation_chebyshev_nodes"]["cases"]) {
    const Numbers nodes = chebyshev_nodes(row["c"], row["m"]);
    const auto want = row["x"].get<Numbers>();
    for (size_t k = 0; k < want.size(); ++k) CHECK(nodes[k] == relative(want[k]));
    check(row, interpolate(nodes, row["T"]));
  }
  CHECK_THROWS_WITH(interpolate({0.1, 0.2}, 2), "interpolate: 2 nodes at lag 2: expected more than the lag");
  CHECK_THROWS_WITH(interpolate({0.1, 0.1}, 1), "interpolate: the node 0.1 is there twice");
}

TEST_CASE("the closed form of l1 is the sum itself") {
  const Numbers nodes = geometric_rates(0.2, 2, 6);
  const ExponentialSum sum = interpolate(nodes, 3);
  double error = 0;
  for (int t = 0; t < 300; ++t) {
    double value = 0;
    for (size_t k = 0; k < nodes.size(); ++k) value += sum.amplitudes[k] * std::pow(nodes[k], t);
    error += std::abs((t == 3 ? 1 : 0) - value);
  }
  CHECK(sum.l1 == relative(error, 1e-7));
}

TEST_CASE("nodes near 0 bring the error as near to 0 as wanted, at a price") {
  double before = 1e300, gain = 0;
  for (const double c : {1e-1, 1e-3, 1e-5}) {
    const ExponentialSum sum = interpolate(chebyshev_nodes(c, 5), 4);
    CHECK(sum.l1 < before / 50);
    CHECK(sum.gain > 1e6 * gain);
    before = sum.l1;
    gain = sum.gain;
  }
  CHECK(before < 1e-4);
}

TEST_CASE("the best fit for a float format") {
  for (const nlohmann::json& row : reference()["recommended_interpolation"]["rows"]) {
    for (const auto& [name, epsilon] : {std::pair("float", 0x1p-24), std::pair("double", 0x1p-53)}) {
      const nlohmann::json& want = row[name];
      const int64_t lag = row["T"];
      CAPTURE(lag, row["H"].get<int>(), name);
      const FloatFit found = best_float_fit(lag, row["H"], epsilon);
      // The reference looks at some 60 values of c from 1e-7 on: no other is much better, except at the ends.
      const double estimate = want["estimate"];
      CHECK(found.estimate <= estimate * (1 + 1e-9));
      CHECK(found.estimate >= estimate * (want["c"] == 1e-7 ? 0.3 : 0.7));
      CHECK(found.estimate == (found.scale > 0 ? relative(found.sum.l1 + epsilon * found.sum.gain) : relative(1)));
      if (want["m"] == 0) continue;
      const ExponentialSum sum = interpolate(chebyshev_nodes(want["c"], want["m"]), lag);
      CHECK(sum.gain == relative(want["gain"]));
      CHECK(sum.l1 == relative(want["l1"]));
      CHECK(sum.l1 + epsilon * sum.gain == relative(estimate));
    }
  }
}

TEST_CASE("the construction that the lemma cites, as we read it") {
  for (const nlohmann::json& row : reference()["reconstructed_bump_construction"]["cases"]) {
    CAPTURE(row.dump());
    CHECK(bump_construction_error(row["a"], row["T"], row["m"]) == relative(row["l1"]));
    CHECK(paper_bound(row, row["m"]) == relative(row["paper_bound"]));
  }
}

TEST_CASE("exponential sums refuse what makes no sense") {
  CHECK_THROWS_WITH(best_float_fit(0, 2, 0.1), "exponential sum: lag 0 and terms 2 must be >= 1");
  CHECK_THROWS_WITH(best_float_fit(1, 4, 0), "float fit: unit roundoff 0 must be in (0, 1)");
  CHECK_THROWS_WITH(chebyshev_nodes(1.5, 4), "chebyshev nodes: scale 1.5 must be in (0, 1), terms 4 >= 1");
  CHECK_THROWS_WITH(geometric_rates(2, 1, 4),
                    "geometric rates: expected 0 < low < high and terms >= 2, got 2, 1 and 4");
  CHECK_THROWS_WITH(linear_rates(-1, 4), "linear rates: step -1 must be > 0, terms 4 >= 1");
}
