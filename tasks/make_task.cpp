#include "tasks/make_task.h"

namespace headroom::tasks {
namespace {

struct Maker {
  const DataRoots& roots;
  std::unique_ptr<Task> operator()(const LinearFunctionalConfig& config) const {
    return std::make_unique<LinearFunctional>(config);
  }
  std::unique_ptr<Task> operator()(const ClassificationConfig& config) const {
    return std::make_unique<Classification>(config);
  }
  std::unique_ptr<Task> operator()(const InductionHeadConfig& config) const {
    return std::make_unique<InductionHead>(config);
  }
  std::unique_ptr<Task> operator()(const VolterraConfig& config) const { return std::make_unique<Volterra>(config); }
  std::unique_ptr<Task> operator()(const AllocationBoundConfig& config) const {
    return std::make_unique<AllocationBound>(config);
  }
};

}  // namespace

bool trains(const TaskConfig& config) { return !std::holds_alternative<AllocationBoundConfig>(config); }

std::unique_ptr<Task> make_task(const TaskConfig& config, const DataRoots& roots) {
  return std::visit(Maker{roots}, config);
}

}  // namespace headroom::tasks
