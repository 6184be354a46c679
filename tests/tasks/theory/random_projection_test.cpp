#include "tasks/theory/random_projection.h"

#include <cmath>

#include "engine/error.h"
#include "tests/tasks/theory/lemmas.h"

using namespace headroom;
using namespace headroom::tasks;
using namespace headroom::testing;

TEST_CASE("the residual of a random projection: moments, tails, quantiles") {
  for (const nlohmann::json& row : lemmas()["random_projection"]["cases"]) {
    const int64_t dim = row["D"], rank = row["r"];
    CAPTURE(dim, rank);
    const ProjectionLaw law(dim, rank);
    CHECK(law.mean_square() == relative(row["mean_residual_sq"]));
    CHECK(law.std_square() == relative(row["std_residual_sq"]));
    CHECK(law.mean() == relative(row["mean_residual"]));
    CHECK(std::sqrt(law.mean_square()) == relative(row["sqrt_1_minus_r_over_D"]));
    CHECK(law.mean() < std::sqrt(law.mean_square()));
    for (const nlohmann::json& tail : row["tails"]) {
      const double epsilon = tail["eps"];
      CHECK(law.tail(epsilon) == relative(tail["P_exact"]));
      CHECK(lemma_tail(dim, epsilon) == relative(tail["bound_c_quarter"]));
      CHECK(law.tail(epsilon) <= lemma_tail(dim, epsilon));
    }
    for (const nlohmann::json& union_of : row["union_quantile"]) {
      const int64_t vectors = union_of["N"];
      const double delta = union_of["delta"];
      CHECK(law.quantile(delta / static_cast<double>(vectors)) == relative(union_of["exact_union_residual"]));
      CHECK(lemma_residual(dim, rank, vectors, delta) == relative(union_of["paper_form_with_c_quarter"]));
    }
  }
}

TEST_CASE("the tails' smallest exponent leaves room for c = 1/4") {
  const nlohmann::json& scan = lemmas()["random_projection"]["c_scan"];
  const nlohmann::json& at = scan["at_D_r_eps"];
  const double dim = at[0], epsilon = at[2];
  const double exponent = -std::log(ProjectionLaw(at[0], at[1]).tail(epsilon) / 2) / (dim * epsilon * epsilon);
  CHECK(exponent == relative(scan["smallest -log(P/2)/(D eps^2) seen"]));
  CHECK(exponent > 0.25);
}

TEST_CASE("samples of the projection follow the law, and not another") {
  for (const auto& [dim, rank] : {std::pair<int64_t, int64_t>{8, 4}, {16, 3}}) {
    const std::vector<double> squares = sample_residuals(dim, rank, 2000, 5);
    CHECK(distance_from(ProjectionLaw(dim, rank), squares) < 1.63);
    CHECK(distance_from(ProjectionLaw(dim, rank + 1), squares) > 3);
    double mean = 0;
    for (const double square : squares) mean += square / 2000;
    const ProjectionLaw law(dim, rank);
    CHECK(std::abs(mean - law.mean_square()) < 3 * law.std_square() / std::sqrt(2000.0));
  }
  CHECK(sample_residuals(8, 4, 3, 1) == sample_residuals(8, 4, 3, 1));
  CHECK(sample_residuals(8, 4, 3, 1) != sample_residuals(8, 4, 3, 2));
}

TEST_CASE("random projections refuse what makes no sense") {
  CHECK_THROWS_WITH(ProjectionLaw(8, 8), "random projection: rank 8 of dimension 8: expected 1 <= rank < dimension");
  CHECK_THROWS_WITH(ProjectionLaw(8, 4).quantile(0), "random projection: probability 0 must be in (0, 1)");
  CHECK_THROWS_WITH(ProjectionLaw(8, 4).tail(-1), "random projection: epsilon is -1: expected >= 0");
  CHECK_THROWS_WITH(lemma_residual(8, 4, 0, 0.1), "random projection: 0 vectors, delta 0.1: expected >= 1 and (0, 1)");
}
