#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tasks/measure/attention_probe.h"
#include "tasks/task.h"

namespace headroom::tasks {

/// A measure of every head at one query, averaged over texts.
struct HeadValues {
  std::string measure;         ///< of head_measures()
  int64_t heads = 0;           ///< per layer
  std::vector<double> values;  ///< layer by layer
};

/// The measures reported per head: "jacobian_norm", "scaled_norm" (n times it, n the keys seen), "logits_rms",
/// "logits_rms_all", "logits_deviation", "entropy", "sink_mass", "largest_probability", "largest_logit", "log10_paper",
/// "log10_spread". See QueryMeasures.
const std::vector<std::string>& head_measures();

/// A measure's values from probes of a single query that sees `keys` keys. Throws Error for an unknown measure.
HeadValues head_values(const std::string& measure, const std::vector<AttentionProbe>& probes, int64_t layers,
                       int64_t heads, int64_t keys);

/// Adds MEASURE of head `head` in layer `layer`; layer_MEASURE, the mean over its layer's heads; and over all heads
/// mean_, median_, least_, low_ (10 %), high_ (90 %) and most_MEASURE.
void add_summary(Metrics& metrics, const HeadValues& of, int64_t layer, int64_t head);
/// The names add_summary() gives.
std::vector<std::string> summary_names();

/// The value with a share `q` of the values below it, interpolated linearly. Throws Error if there are none.
double quantile(std::vector<double> values, double q);

/// The trend of a measure with x, per head: the values of all heads at each x, in rising order of x.
struct HeadTrend {
  std::vector<double> x;
  std::vector<HeadValues> at;
  double low = 0, high = 0;  ///< the band of heads_in_band
};

/// Adds least-squares slopes of log value on log x: `slope` of the one head, `layer_slope` and `mean_slope` of means
/// over its layer's and all heads, `median_slope` of the median; quantiles over heads of each head's slope, `slope_0`,
/// `slope_5`, `slope_25`, `slope_50`, `slope_75`, `slope_95`, `slope_100`; `heads_near_minus_1`, the number within 0.25
/// of −1, and `heads_flatter`, the number above −0.5. Adds ratios of largest to smallest value: `ratio` of the one
/// head, `mean_ratio` of the mean over heads, quantiles over heads `least_ratio`, `median_ratio`, `most_ratio`;
/// `heads_within_4`, the number with 4 at most, and `heads_in_band`, the number with all values in [low, high]. Throws
/// Error for fewer than two x, or a value not above 0.
void add_trend(Metrics& metrics, const HeadTrend& trend, int64_t layer, int64_t head);
std::vector<std::string> trend_names();

}  // namespace headroom::tasks
