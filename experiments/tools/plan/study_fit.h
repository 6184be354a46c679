#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/tools/plan/plan_tables.h"
#include "experiments/tools/plan/study_run.h"
#include "tasks/theory/allocation.h"

namespace headroom::experiments {

/// The terms of the paper's bound with scales of their own, fitted to one series of a study that swept the heads of a
/// linear functional. At every number H of equal heads the bound's best allocation has
///   RMS error(H) ≈ projection·P(H) + extraction·E(H) + truncation·T(H) + floor,
/// P, E, T of tasks::bound_terms(), scales >= 0 by least squares (engine::linalg::nnls). The RMS error is that of the
/// test set, per unit of a token's: √(relative MSE · Σρ²).
struct StudyFit {
  std::string series;
  int64_t width = 0, token_dim = 0;
  std::vector<double> rho;
  struct Point {
    int64_t heads = 0, head_dim = 0;
    double measured = 0, fitted = 0, bound = 0;  ///< bound: the paper's objective
  };
  std::vector<Point> points;  ///< by number of heads
  double projection = 0, extraction = 0, truncation = 0, floor = 0;
  bool has_truncation = false;  ///< whether any point leaves a lag without heads: else its scale is not known
  double r2 = 0;                ///< 1 − Σ(measured − fitted)² / Σ(measured − mean)²
  double times_off = 1;         ///< the largest of measured/fitted and fitted/measured
  int64_t measured_best = 0, bound_best = 0, fitted_best = 0;  ///< numbers of heads
};

/// A fit of every series that has one: x is model.heads, the target a linear functional, queries, keys and values of a
/// head of one width, three numbers of heads at least. Empty for other studies.
std::vector<StudyFit> fit_study(const StudyRun& run);

/// The price of a group under the fit, in units of leaving its lag out; where no point did that, of the bound's own.
tasks::GroupError fitted_error(const StudyFit& fit, int64_t token_dim);
/// What an allocation costs under the fit, from its objective under fitted_error().
double fitted_cost(const StudyFit& fit, double objective);

/// All fits, and the first one at each number of heads.
std::vector<PlanTable> fit_tables(const std::vector<StudyFit>& fits);
/// Whether the fit describes what was measured: an R² of at least 0.8, and nowhere off by more than 2 times.
bool describes(const StudyFit& fit);
/// What the fit is, and how well it describes what was measured.
std::string fit_text(const StudyFit& fit);
nlohmann::ordered_json fit_json(const StudyFit& fit);

}  // namespace headroom::experiments
