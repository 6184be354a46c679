#pragma once
#include <string>
#include <vector>

#include "experiments/studies/analysis/analysis.h"

/// What pages show of a curve: its metrics, and the mean over seeds at each x.
namespace headroom::experiments {

/// "geometric mean".
const char* name(MeanKind kind);

/// The metrics that a report shows: its own, the second in its figure, further ones.
std::vector<Measure> shown_measures(const ReportConfig& report);

/// The measures that a report shows as geometric means in some series with several seeds.
std::vector<Measure> geometric_measures(const Analysis& results);

/// The mean over the seeds of one x with its 95 % interval: Student's t over seeds, on logarithms for a geometric mean,
/// the error of the finite test data included where the trials kept it. NaN without values; no interval below two
/// seeds. The standard error is over seeds alone; of a geometric mean it is that of the logarithms times the mean.
struct Centre {
  double mean = 0, low = 0, high = 0, standard_error = 0;
  bool has_interval() const { return high > low; }
};
Centre centre(const Point& point, MeanKind kind);

/// "0.0123 [0.0101, 0.0150]"; without an interval the mean alone.
std::string in_words(const Centre& centre);

}  // namespace headroom::experiments
