#pragma once
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/analysis/curve.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/run/stored_runs.h"

namespace headroom::experiments {

/// A key with its values in the trials of two runs.
struct ComparedSetting {
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
  /// it; without pairs of the means, with Welch's. NaN where that is no number; the interval's ends are NaN below two
  /// pairs, and without pairs where a side has one seed.
  double change = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN(), high = std::numeric_limits<double>::quiet_NaN();
  std::string method{};  ///< ConfidenceInterval::method; "" where there is no interval
};

/// Runs that are compared at once, at most.
inline constexpr size_t most_compared = 8;

/// Two runs side by side.
struct Comparison {
  struct Side {
    std::string name;  ///< "A" of the first run, "B" of the next
    StoredRun run;
    std::string title, x_key;
    int64_t finished = 0, failed = 0, planned = 0;
  };
  Side a, b;
  std::vector<ComparedSetting> settings, same;  ///< those that differ; those that do not
  std::vector<ComparedMetric> metrics;
  std::vector<std::string> remarks;  ///< what could not be compared, and why
  std::optional<Figure> figure;      ///< the first metric: lines of all runs that are compared, on the same axes
};

/// Compares the finished trials of the first run's plan with those of each other's, which two studies, two profiles of
/// one, or two stores may hold. On the metrics of both reports, or on `metric` alone. The figure, of all of them, is
/// the first comparison's. Throws Error when a store cannot be read, and for a metric that they do not both have.
std::vector<Comparison> compare_runs(const std::vector<StoredRun>& runs, const std::string& metric = "");

/// In one sentence where B is lower, higher or not told apart, of the first metric, and by how much at most; "" where
/// nothing was compared.
std::string comparison_sentence(const Comparison& comparison);

/// That sentence, the metrics, then the settings that differ, and how many do not; for a terminal, in lines of at most
/// `columns` characters where words allow; 0: as wide as it gets.
std::string comparison_text(const Comparison& comparison, size_t columns = 0);

/// {"runs": […], "finding": …, "settings": […], "same": […], "metrics": […], "remarks": […]} of the first, "others":
/// the same of further ones; null for what is not known.
nlohmann::ordered_json comparison_json(const std::vector<Comparison>& comparisons);

}  // namespace headroom::experiments
