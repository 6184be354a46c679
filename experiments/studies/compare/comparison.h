#pragma once
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/studies/claims/curve.h"
#include "experiments/studies/run/stored_runs.h"

namespace headroom::experiments {

/// A key whose values are not the same in the trials of two runs.
struct SettingDifference {
  std::string key, a, b;  ///< "train.steps", "400", "3000"; several values: "1, 2, 4"; "" where no trial has the key
};

/// What one run's seeds say at one place.
struct ComparedSide {
  int seeds = 0;
  double mean = 0;   ///< of ComparedMetric::kind
  double error = 0;  ///< its standard error, as Centre has it; NaN for one seed
};

/// A metric of two runs at the same x of the same series, each at the choice that its own validation prefers.
struct ComparedMetric {
  std::string series, metric;
  double x = 0;
  ComparedSide a, b;
  MeanKind kind = MeanKind::geometric;  ///< of both sides: the one that their reports show, geometric where both do
  int pairs = 0;                        ///< seeds that both have
  /// B / A of geometric means, B - A of arithmetic ones: over the paired seeds, with its 95 % interval as claims have
  /// it; without pairs of the means. NaN where that is no number; the interval's ends are NaN below two pairs.
  double change = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN(), high = std::numeric_limits<double>::quiet_NaN();
  std::string method{};  ///< ConfidenceInterval::method; "" where there is no interval
};

/// Two runs side by side.
struct Comparison {
  struct Side {
    StoredRun run;
    std::string title, x_key;
    int64_t finished = 0, failed = 0, planned = 0;
  };
  Side a, b;
  std::vector<SettingDifference> settings;
  std::vector<ComparedMetric> metrics;
  std::vector<std::string> remarks;  ///< what could not be compared, and why
};

/// Compares the finished trials of two runs' plans, which two studies, two profiles of one, or two stores may hold. On
/// the metrics of both reports, or on `metric` alone. Throws Error when a store cannot be read, and for a metric that
/// they do not both have.
Comparison compare_runs(const StoredRun& a, const StoredRun& b, const std::string& metric = "");

/// For a terminal, in lines of at most `columns` characters where words allow; 0: as wide as it gets.
std::string comparison_text(const Comparison& comparison, size_t columns = 0);

/// {"runs": […], "settings": […], "metrics": […], "remarks": […]}; null for what is not known.
nlohmann::ordered_json comparison_json(const Comparison& comparison);

}  // namespace headroom::experiments
