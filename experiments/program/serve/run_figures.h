#pragma once
#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "experiments/output/plot/axis.h"
#include "experiments/output/plot/svg.h"
#include "experiments/program/serve/run_reader.h"

namespace headroom::experiments {

/// A figure for a page of the live view: {"caption": …, "wide": SVG, "narrow": SVG, "named": true if the wide one names
/// its lines, "lines": [{"name": …, "swatch": SVG}, …]}.
nlohmann::ordered_json figure_json(const Plot& plot, const std::string& caption);

/// The beginnings of runs' reports as of now. Safe to use from several threads.
class EmergingResults {
 public:
  /// {"ended": how many trials it is made of, "answer": a sentence, "headline": another ("" before claims are judged)}
  /// and what figure_json() gives; {"ended": …} alone where neither the store's configuration nor a study of its id is
  /// one that this program knows. It is made anew where more trials have ended, but for a tenth of the time at most.
  nlohmann::ordered_json of(const RunSnapshot& snapshot);

 private:
  using Clock = std::chrono::steady_clock;
  struct Kept {
    nlohmann::ordered_json json;
    int64_t ended = -1;
    Clock::time_point next{};
  };
  std::mutex mutex_;  ///< one run's figure is drawn at a time
  std::map<std::string, Kept> kept_;
};

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
