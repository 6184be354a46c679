#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/output/number.h"
#include "experiments/tools/plan/study_fit.h"

namespace headroom::experiments {
namespace {

std::string name_of(const StudyFit& fit) { return fit.series.empty() ? "the study" : fit.series; }

}  // namespace

bool describes(const StudyFit& fit) {
  constexpr double far_off = 2, close = 0.8;
  return fit.times_off <= far_off && fit.r2 >= close;
}

Cells fit_cells(const std::vector<StudyFit>& fits) {
  Cells rows = {{"fit to", "width", "projection", "extraction", "lag dropped", "floor", "R²", "times off", "best heads",
                 "the bound's", "the fit's"}};
  for (const StudyFit& fit : fits)
    rows.push_back({name_of(fit), std::to_string(fit.width), rounded(fit.projection), rounded(fit.extraction),
                    fit.has_truncation ? rounded(fit.truncation) : "none was", rounded(fit.floor),
                    fmt::format("{:.2f}", fit.r2), rounded(fit.times_off), std::to_string(fit.measured_best),
                    std::to_string(fit.bound_best), std::to_string(fit.fitted_best)});
  return rows;
}

Cells fit_point_cells(const StudyFit& fit) {
  Cells rows = {{"heads", "head dim", "measured RMS error", "fit", "measured / fit", "paper's bound"}};
  for (const StudyFit::Point& point : fit.points)
    rows.push_back({std::to_string(point.heads), std::to_string(point.head_dim), rounded(point.measured),
                    rounded(point.fitted), point.fitted > 0 ? rounded(point.measured / point.fitted) : "–",
                    rounded(point.bound)});
  return rows;
}

std::string fit_text(const StudyFit& fit) {
  std::string out = fmt::format(
      "Fit to {}: measured RMS error ≈ {} projection + {} extraction + {} dropped lags + {}, scales >= 0 by least "
      "squares. R² {:.2f}, off by up to {} times: ",
      name_of(fit), rounded(fit.projection), rounded(fit.extraction), rounded(fit.truncation), rounded(fit.floor),
      fit.r2, rounded(fit.times_off));
  out += describes(fit) ? "the bound's shape describes what was measured."
                        : "the bound's shape does not describe what was measured, so no split is planned by it.";
  if (fit.has_truncation && fit.truncation == 0) out += " It charges nothing for a lag without heads.";
  return out;
}

nlohmann::ordered_json fit_json(const StudyFit& fit) {
  nlohmann::ordered_json out = {{"series", fit.series},
                                {"status", "fit"},
                                {"width", fit.width},
                                {"token_dim", fit.token_dim},
                                {"projection", fit.projection},
                                {"extraction", fit.extraction},
                                {"truncation", nullptr},
                                {"floor", fit.floor},
                                {"r2", fit.r2},
                                {"times_off", fit.times_off},
                                {"measured_best_heads", fit.measured_best},
                                {"bound_best_heads", fit.bound_best},
                                {"fitted_best_heads", fit.fitted_best},
                                {"points", nlohmann::ordered_json::array()}};
  if (fit.has_truncation) out["truncation"] = fit.truncation;
  for (const StudyFit::Point& point : fit.points)
    out["points"].push_back({{"heads", point.heads},
                             {"head_dim", point.head_dim},
                             {"measured", point.measured},
                             {"fitted", point.fitted},
                             {"bound", point.bound}});
  return out;
}

}  // namespace headroom::experiments
