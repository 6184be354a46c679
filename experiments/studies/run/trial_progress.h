#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/results.h"

namespace headroom::experiments {

/// What a trial has come to, beside what its Trainer keeps.
struct TrialProgress {
  std::string level;     ///< instruction set of the kernels; "" in what an older program kept
  int64_t step = 0;      ///< updates done
  double seconds = 0;    ///< spent on them, in all processes
  double best = 0;       ///< smallest validation error so far
  int64_t stale = 0;     ///< validations since then
  double last_loss = 0;  ///< of the latest update
  double gradient_norm = 0;
  std::map<std::string, double> validation, test;         ///< of the judged weights
  std::map<std::string, std::vector<double>> test_parts;  ///< tasks::Evaluation::parts of the test set
  std::vector<std::pair<double, double>> predictions;
  std::vector<HistoryPoint> history;
};

/// As a JSON object; doubles are kept to the bit.
std::string to_json(const TrialProgress& progress);
/// Members of other names are passed over. Throws Error that names what is missing or of another type.
TrialProgress progress_from_json(const std::string& text);

}  // namespace headroom::experiments
