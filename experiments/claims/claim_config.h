#pragma once
#include <optional>
#include <string>
#include <vector>

namespace headroom::experiments {

/// What `less_than` compares with; what is not given is the claim's own.
struct ClaimRival {
  std::string series, metric;
  std::optional<double> at;
};

/// One [[claim]]; claims.h says which fields each kind reads.
struct ClaimConfig {
  std::string kind;
  std::string series;                  ///< the series it judges; "" = the only one
  std::string metric;                  ///< of the test data; "" = the report's y
  std::string paper;                   ///< the paper's claim in words; "" when it is our own
  std::string ours;                    ///< our own claim in words
  std::string why;                     ///< why it fails, in plain words: shown beside a verdict `fail`
  std::vector<std::string> reference;  ///< where the paper's number stands in data/paper_tables.json
  std::optional<double> paper_number;  ///< the same, of a number that stands in no table
  std::optional<double> from, to;      ///< the x it speaks of; without: all
  double significance = 0.05;
  bool log_error = false;      ///< means and tests of log(metric)
  bool deterministic = false;  ///< the values are computed, not sampled: one seed tells all, and a difference is real

  std::vector<double> among;        ///< argmin_in
  std::optional<double> at;         ///< within_factor, worse_than_best, less_than, within_percent: the x that is meant
  double factor = 1.0;              ///< a ratio of errors; see each kind
  std::string direction;            ///< monotone: falling | rising
  double tolerance = 0;             ///< monotone: a step against the direction of this share is a tie
  std::string axes = "log-log";     ///< slope: log-log | semi-log (a logarithm of x alone) | linear
  std::optional<double> low, high;  ///< slope, band: what is claimed
  ClaimRival than;                  ///< less_than
  double fraction = 0.1;            ///< saturates: largest share of the first doubling's gain
  std::string bound;                ///< bound_holds: a metric of the same trial, or "overlay"
  double percent = 0;               ///< within_percent
  std::string of;                   ///< within_percent: a metric of the same trials
  std::optional<double> value;      ///< within_percent: a number
};

}  // namespace headroom::experiments
