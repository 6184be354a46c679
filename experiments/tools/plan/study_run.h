#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/analysis/analysis.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/run/store.h"
#include "tasks/data/locate.h"

namespace headroom::experiments {

/// A run folder that a plan learns from: its store and, where the folder has the resolved study, what its trials were.
class StudyRun {
 public:
  /// runs/STUDY/PROFILE, or its store.sqlite; of one series when that is named. Throws Error naming --from-study when
  /// there is no store, or when it is none of ours, and --series when it has no such series.
  explicit StudyRun(const std::string& run, const std::string& series = "");

  struct Trial {
    TrialRecord record;  ///< with series, x, choice and seed
    std::string label;
    const TrialConfig* config = nullptr;  ///< null without the study, or where that has changed since
  };

  const std::string& name() const { return name_; }
  /// How many of the store's trials have no checksum.
  int64_t unchecked() const { return unchecked_; }
  /// Why the study of the run's folder could not be read; "" where it could, and where there is none.
  const std::string& problem() const { return problem_; }
  /// Finished ones of the latest plan, in its order.
  const std::vector<Trial>& trials() const { return trials_; }
  /// Its trials, of the series alone where one was named, as collected for a report; no results without the study.
  const Analysis& results() const { return results_; }
  /// The judged weights of a trial, compared with their checksum; an empty path where they were not kept. Throws Error
  /// naming file and trial when they were changed.
  std::filesystem::path weights_of(const Trial& trial) const;

 private:
  std::string name_;
  std::filesystem::path folder_;
  std::optional<Study> study_;
  std::vector<Trial> trials_;
  Analysis results_{StudyResults{}};
  int64_t unchecked_ = 0;
  std::string problem_;
};

/// A trial's error on validation, by which the best one is chosen: its relative MSE, MSE or cross-entropy. Throws Error
/// when it has none of them.
double validation_error(const TrialRecord& trial);

/// How many heads' worth of attention a trained model gives to lags 1, 2, … (at most `terms`, and half its context):
/// over all layers and heads, a mean over the queries of up to 256 sequences of its task's validation set. The model is
/// made of `weights`. Throws Error when data or weights are missing or do not fit, or the model looks ahead.
std::vector<double> measure_attention(const TrialConfig& config, const std::filesystem::path& weights, int64_t terms,
                                      const tasks::DataRoots& roots);

}  // namespace headroom::experiments
