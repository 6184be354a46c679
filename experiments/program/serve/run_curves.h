#pragma once
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "experiments/output/plot/axis.h"
#include "experiments/program/serve/run_reader.h"

namespace headroom::experiments {

/// Learning curves of a run's trials, including those still training. Safe to use from several threads.
class RunCurves {
 public:
  /// The curves of `track`, a split and a metric, of the run's trials among `ids`: {"tracks": [what trials that have
  /// ended recorded, …]} and what figure_json() gives, where there is a curve. Throws Error as RunStore's functions do.
  nlohmann::ordered_json of(const RunSnapshot& snapshot, const std::vector<std::string>& ids, const std::string& track,
                            Scale scale);

 private:
  using Points = std::vector<std::pair<int64_t, double>>;  ///< (step, value)
  std::mutex mutex_;
  std::map<std::string, std::map<std::string, Points>> ended_;  ///< by run, trial and attempt; then by track
};

}  // namespace headroom::experiments
