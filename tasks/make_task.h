#pragma once
#include <memory>
#include <variant>

#include "tasks/classification.h"
#include "tasks/data/roots.h"
#include "tasks/induction_head.h"
#include "tasks/language/instructions.h"
#include "tasks/language/masked.h"
#include "tasks/language/next_token.h"
#include "tasks/linear_functional.h"
#include "tasks/task.h"
#include "tasks/theory/allocation_bound.h"
#include "tasks/theory/constructive/constructive_task.h"
#include "tasks/theory/exponential_sum_study.h"
#include "tasks/theory/head_studies.h"
#include "tasks/theory/random_projection_study.h"
#include "tasks/volterra.h"

namespace headroom::tasks {

/// Settings of any one task.
using TaskConfig = std::variant<LinearFunctionalConfig, ClassificationConfig, InductionHeadConfig, VolterraConfig,
                                AllocationBoundConfig, ConstructiveConfig, ExponentialSumConfig, RandomProjectionConfig,
                                SoftmaxBoundConfig, SvdBoundConfig, RopeBoundConfig, NextTokenConfig, MaskedConfig,
                                InstructionsConfig>;

/// False for a formula: there is no model and no training.
bool trains(const TaskConfig& config);

/// Throws Error when the config is invalid, or when data is missing (it then names the file and how to get it).
std::unique_ptr<Task> make_task(const TaskConfig& config, const DataRoots& roots);

}  // namespace headroom::tasks
