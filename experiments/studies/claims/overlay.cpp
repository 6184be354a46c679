#include "experiments/studies/claims/overlay.h"

#include <limits>

#include "experiments/studies/claims/curve.h"

namespace headroom::experiments {

const Overlay* overlay_of(const StudyResults& results, const std::string& series) {
  const bool only_one = series_names(results).size() == 1;
  for (const Overlay& overlay : results.report.overlays)
    if (overlay.series == series || (overlay.series.empty() && only_one)) return &overlay;
  return nullptr;
}

double overlay_at(const Overlay& overlay, double x) {
  for (const auto& [at, value] : overlay.points)
    if (at == x) return value;
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace headroom::experiments
