#include "tasks/task.h"

namespace headroom::tasks {

bool larger_is_better(const std::string& metric) {
  constexpr std::string_view accuracy = "accuracy";
  return metric.size() >= accuracy.size() && metric.ends_with(accuracy);
}

}  // namespace headroom::tasks
