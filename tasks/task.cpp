#include "tasks/task.h"

namespace headroom::tasks {

Batch Batch::slice(int64_t begin, int64_t end) const {
  const auto part = [&](const Tensor& x) { return x.defined() ? x.slice(0, begin, end) : Tensor(); };
  return {part(input), part(target), part(key_mask), part(response)};
}

bool larger_is_better(const std::string& metric) {
  constexpr std::string_view accuracy = "accuracy";
  return metric.size() >= accuracy.size() && metric.ends_with(accuracy);
}

}  // namespace headroom::tasks
