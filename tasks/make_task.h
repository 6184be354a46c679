#pragma once
#include <filesystem>
#include <memory>
#include <variant>

#include "tasks/linear_functional.h"
#include "tasks/task.h"

namespace headroom::tasks {

/// Settings of any one task.
using TaskConfig = std::variant<LinearFunctionalConfig>;

/// Where data sets are looked for, in this order. An empty path counts as absent.
struct DataRoots {
  std::filesystem::path given;  ///< --data or HEADROOM_DATA: a folder that holds data/ and models/
  std::filesystem::path cache;  ///< where `headroom data fetch` writes
};

/// Throws Error when the config is invalid, or when data is missing (it then names the file and how to get it).
std::unique_ptr<Task> make_task(const TaskConfig& config, const DataRoots& roots);

}  // namespace headroom::tasks
