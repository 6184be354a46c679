#include "tasks/theory/softmax_jacobian.h"

#include <cmath>
#include <limits>

#include "engine/error.h"
#include "tests/tasks/theory/lemmas.h"

using namespace headroom;
using namespace headroom::tasks;
using namespace headroom::testing;

namespace {

/// ‖J‖₂ by power iteration on the matrix itself.
double by_power_iteration(const std::vector<double>& logits) {
  double sum = 0;
  std::vector<double> p, x;
  for (const double z : logits) {
    p.push_back(std::exp(z));
    sum += p.back();
    x.push_back(std::sin(static_cast<double>(p.size()) * 1.7) + 0.1);
  }
  for (double& value : p) value /= sum;
  double norm = 0;
  for (int step = 0; step < 5000; ++step) {
    double dot = 0, square = 0;
    for (size_t i = 0; i < p.size(); ++i) dot += p[i] * x[i];
    for (size_t i = 0; i < p.size(); ++i) {
      x[i] = p[i] * x[i] - p[i] * dot;
      square += x[i] * x[i];
    }
    norm = std::sqrt(square);
    for (double& value : x) value /= norm;
  }
  return norm;
}

}  // namespace

TEST_CASE("the norm of softmax's Jacobian, and its bounds") {
  for (const nlohmann::json& row : lemmas()["softmax_jacobian"]["cases"]) {
    CAPTURE(row["name"].get<std::string>());
    const SoftmaxJacobian found = softmax_jacobian(row["logits"].get<std::vector<double>>());
    CHECK(found.norm == absolute(row["spectral_norm"], 1e-12));
    if (row["log10_spectral_norm"].is_null()) CHECK(found.ln_norm == -std::numeric_limits<double>::infinity());
    else CHECK(found.ln_norm / std::log(10) == relative(row["log10_spectral_norm"]));
    CHECK(found.largest == relative(row["p_max"]));
    CHECK(found.second == absolute(row["p_second"].is_null() ? 0 : row["p_second"].get<double>(), 1e-12));
    CHECK(found.delta == relative(row["Delta_max_abs_logit"]));
    CHECK(found.ln_paper == relative(row["ln_paper_bound"]));
    CHECK(found.ln_sharp == relative(row["ln_bound_without_2"]));
    CHECK(found.ln_spread == absolute(row["ln_bound_by_spread"], 1e-9));
    CHECK(found.gershgorin == absolute(row["gershgorin"], 1e-12));
    CHECK(found.diagonal == absolute(row["lower_p(1-p)"], 1e-12));
    if (row["n"] == 1) continue;
    CHECK(found.norm <= found.largest);
    CHECK(found.norm >= found.second);
    CHECK(found.ln_norm <= std::log(0.5));
    CHECK(found.row_sum < 1e-14);
  }
}

TEST_CASE("the secular equation agrees with power iteration on the matrix") {
  for (const int n : {2, 3, 7, 40}) {
    std::vector<double> logits;
    for (int i = 0; i < n; ++i) logits.push_back(2 * std::sin(1.3 * i * i + n));
    CHECK(softmax_jacobian(logits).norm == absolute(by_power_iteration(logits), 1e-12));
  }
}

TEST_CASE("logits of 1e4, and logits all alike but one rounding") {
  std::vector<double> logits(64, -1e4);
  logits[3] = 1e4;
  const SoftmaxJacobian one = softmax_jacobian(logits);
  CHECK(one.ln_norm == relative(std::log(64.0) - 2e4));
  CHECK(one.ln_paper == relative(std::log(2.0 / 64) + 2e4));
  CHECK(one.norm == 0);
  std::vector<double> even(10, 0.0);
  even[4] = 1e-16;
  CHECK(softmax_jacobian(even).norm == relative(0.1, 1e-12));
}

TEST_CASE("softmax's Jacobian refuses what makes no sense") {
  CHECK_THROWS_WITH(softmax_jacobian({}), "softmax jacobian: there are no logits");
  CHECK_THROWS_WITH(softmax_jacobian({0, std::numeric_limits<double>::quiet_NaN()}),
                    "softmax jacobian: a logit is nan");
  CHECK_THROWS_WITH(ln_softmax_bound(-1, 3), "softmax bound: Delta -1 and keys 3 must be >= 0 and >= 1");
}
