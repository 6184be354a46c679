#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/output/plot/axis.h"

namespace headroom::experiments {

/// `stopped`: before its end; nothing of the trial counts, and no store holds it.
enum class TrialStatus { finished, failed, stopped };

/// "finished", "failed".
constexpr const char* name_of(TrialStatus status) { return status == TrialStatus::finished ? "finished" : "failed"; }

/// One number measured along a trial's training.
struct HistoryPoint {
  int64_t step = 0;    ///< updates done
  std::string split;   ///< train | validation
  std::string metric;  ///< "loss", "mse", "cross_entropy", …
  double value = 0;
  bool operator==(const HistoryPoint&) const = default;
};

/// A trial's place in a plan.
struct PlanEntry {
  std::string id;                        ///< hash of its resolved config
  std::string series;                    ///< "" when the study has no [[series]]
  std::string label;                     ///< "heads=64 lr=0.003 seed=1"
  double x = 0;                          ///< value of the swept key that the report puts on its x axis
  std::map<std::string, double> choice;  ///< values of the keys swept by `best_of` ("train.optimizer.lr": 0.04)
  int64_t seed = 0;

  /// "white noise: heads=64 lr=0.003 seed=1".
  std::string name() const { return series.empty() ? label : series + ": " + label; }
};

/// A trial that has ended. Of its place, a store keeps only the id: the rest belongs to a plan.
struct TrialRecord : PlanEntry {
  TrialStatus status = TrialStatus::finished;
  std::string message;                       ///< reason of a failure: step, last finite loss, gradient norm
  std::map<std::string, double> validation;  ///< metrics that choices are made on
  std::map<std::string, double> test;        ///< metrics for reports and verdicts
  /// K pseudo-values of each test metric (the jackknife over K equal parts of the test data, the same in every trial of
  /// a task): their mean is about the metric, their spread / √K its standard error. Empty where there are none.
  std::map<std::string, std::vector<double>> test_parts;
  std::vector<HistoryPoint> history;                   ///< in order of (step, split, metric)
  std::vector<std::pair<double, double>> predictions;  ///< (target, output) of some test positions, for a scatter plot
  int64_t steps = 0;                                   ///< updates done: fewer than planned after an early stop
  int64_t parameters = 0;
  double flops = 0, seconds = 0;
  double ended = 0;                         ///< seconds since 1970, to the second
  std::string config;                       ///< canonical JSON
  std::string code;                         ///< version of the program that trained it
  std::map<std::string, std::string> data;  ///< file → SHA-256 of everything that was read
  std::string weights;                      ///< checksum of the weights that were kept, "" for none
  int64_t attempts = 0;                     ///< number of times it has ended
  bool is_checked = false;                  ///< its bytes were compared with a checksum
};

/// A stored trial with its place in a plan.
inline TrialRecord in_place(TrialRecord trial, const PlanEntry& place) {
  static_cast<PlanEntry&>(trial) = place;
  return trial;
}

/// A reference curve of a series, in a panel of its own below it.
struct Overlay {
  std::string series, label;
  std::vector<std::pair<double, double>> points;
};

/// A metric on a figure's y axis.
struct Measure {
  std::string metric, label;
  Scale scale = Scale::linear;
};

/// A figure of all series in addition to the study's own: a metric over the study's x, or over another metric.
struct FurtherFigure {
  Measure y;
  std::optional<Measure> over;  ///< metric on the x axis, the mean of the trials at each x
};

/// A series' metric to compare with a column of the paper's tables, or with a number at x.
struct BesidePaper {
  std::string series, metric;
  std::vector<std::string> path;
  std::optional<double> at;
};

/// The x at which each series is best, to be fitted as a power law of its trials' keys.
struct LawConfig {
  std::vector<std::string> of;  ///< "model.width"
  std::string beside;           ///< an expression over the keys' last parts with the same claimed law; "" for none
};

/// Maximum number of lines in a figure: further series get small panels on the same axes.
inline constexpr size_t most_lines = 4;

/// [report]
struct ReportConfig {
  std::string x_key, x_label;
  Scale x_scale = Scale::linear;
  std::string y_metric, y_label;
  Scale y_scale = Scale::linear;
  std::vector<Overlay> overlays;
  std::vector<FurtherFigure> also;  ///< further metrics, a figure each
  std::optional<Measure> right;     ///< a second metric, in a panel of its own below the figure
  bool heat_map = false;            ///< x against the first best_of key
  bool learning_curves = false;     ///< history over steps, a line per x
  bool predictions = false;         ///< output against target, of the best x
  std::optional<LawConfig> law;
  std::vector<std::string> lines;   ///< series; the first most_lines are drawn together; if empty, the first in claims
  std::vector<BesidePaper> beside;  ///< numbers to compare with the paper's tables that no claim covers
};

}  // namespace headroom::experiments
