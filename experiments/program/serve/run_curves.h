#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "experiments/output/plot/plot.h"
#include "experiments/program/serve/run_reader.h"

namespace headroom::experiments {

/// What a figure of learning curves shows.
struct CurvesWanted {
  std::vector<std::string> trials;   ///< ids; others than the run's are left out
  std::string track = "train loss";  ///< a split and a metric
  Scale scale = Scale::log10;        ///< of the values
};

/// Learning curves of a run's trials: of those that train as far as they are. Safe to use from several threads.
class RunCurves {
 public:
  /// {"tracks": [what trials that have ended recorded, …]} and what figure_json() gives, where there is a curve. Throws
  /// Error as RunStore's functions do.
  nlohmann::ordered_json of(const RunSnapshot& snapshot, const CurvesWanted& wanted);

 private:
  using Points = std::vector<std::pair<int64_t, double>>;  ///< (step, value)
  using Tracks = std::map<std::string, Points>;
  const Tracks& ended(const RunSnapshot& snapshot, const TrialState& trial);

  std::mutex mutex_;
  std::map<std::string, Tracks> ended_;  ///< of trials that have ended, by run, trial and attempt
};

}  // namespace headroom::experiments
