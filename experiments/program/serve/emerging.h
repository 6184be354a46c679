#pragma once
#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/program/serve/run_reader.h"
#include "experiments/studies/pages/figure.h"

namespace headroom::experiments {

/// {"caption": …, "wide": SVG, "narrow": SVG, "lines": [{"name": …, "colour": as CSS has it}, …]}; {} where gnuplot is
/// missing. Throws Error as draw() does.
nlohmann::ordered_json figure_json(const Figure& figure);

/// What the reports of runs would begin with by now. Safe to use from several threads.
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

}  // namespace headroom::experiments
