#pragma once
#include <memory>
#include <variant>

#include "tasks/classification.h"
#include "tasks/data/roots.h"
#include "tasks/linear_functional.h"
#include "tasks/task.h"

namespace headroom::tasks {

/// Settings of any one task.
using TaskConfig = std::variant<LinearFunctionalConfig, ClassificationConfig>;

/// Throws Error when the config is invalid, or when data is missing (it then names the file and how to get it).
std::unique_ptr<Task> make_task(const TaskConfig& config, const DataRoots& roots);

}  // namespace headroom::tasks
