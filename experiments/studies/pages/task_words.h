#pragma once
#include "experiments/studies/claims/study_results.h"
#include "experiments/studies/config/tasks/words.h"

namespace headroom::experiments {

/// In the words of a trial's resolved [task], whose kind may be any of task_kinds(). A kind that is not known gives its
/// name alone: the task may come from a store of a newer program.
TaskWords task_words(const TaskJson& task);

/// task_words() of a study's first trial, and in which keys the tasks of its other trials differ. Empty without trials.
TaskWords task_words(const StudyResults& results);

}  // namespace headroom::experiments
