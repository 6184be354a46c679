#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/studies/claims/study_results.h"

namespace headroom::experiments {

/// What a task asks of a model, or a formula computes, for somebody who has not read the paper; plain text.
struct TaskWords {
  std::string words;    ///< whole sentences
  std::string example;  ///< "x = 2, -1, 3, 1, then y = 2 - 1 + 3 + 1 = 5"; "" for a formula that has none
};

/// In the words of a trial's resolved [task], whose kind may be any of task_kinds(). What is missing is left out, and a
/// kind that is not known gives its name alone: the task may come from a store of a newer program.
TaskWords task_words(const nlohmann::ordered_json& task);

/// task_words() of a study's first trial, and in which keys the tasks of its other trials differ. Empty without trials.
TaskWords task_words(const StudyResults& results);

/// An example of a weighted sum of earlier tokens, from the weights of lags 1, 2, …; "" without weights.
std::string weighted_example(const std::vector<double>& weights);

}  // namespace headroom::experiments
