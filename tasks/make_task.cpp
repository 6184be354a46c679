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
  std::unique_ptr<Task> operator()(const ConstructiveConfig& config) const {
    return std::make_unique<ConstructiveTask>(config);
  }
  std::unique_ptr<Task> operator()(const ExponentialSumConfig& config) const {
    return std::make_unique<ExponentialSumStudy>(config);
  }
  std::unique_ptr<Task> operator()(const RandomProjectionConfig& config) const {
    return std::make_unique<RandomProjectionStudy>(config);
  }
  std::unique_ptr<Task> operator()(const SoftmaxBoundConfig& config) const {
    return std::make_unique<SoftmaxBound>(config);
  }
  std::unique_ptr<Task> operator()(const SvdBoundConfig& config) const { return std::make_unique<SvdBound>(config); }
  std::unique_ptr<Task> operator()(const RopeBoundConfig& config) const { return std::make_unique<RopeBound>(config); }
  std::unique_ptr<Task> operator()(const NextTokenConfig& config) const {
    return std::make_unique<NextToken>(config, roots);
  }
  std::unique_ptr<Task> operator()(const MaskedConfig& config) const { return std::make_unique<Masked>(config, roots); }
  std::unique_ptr<Task> operator()(const InstructionsConfig& config) const {
    return std::make_unique<Instructions>(config, roots);
  }
};

}  // namespace

bool trains(const TaskConfig& config) {
  return !std::visit(
      [](const auto& kind) {
        return requires { kind.is_formula; };
      },
      config);
}

std::unique_ptr<Task> make_task(const TaskConfig& config, const DataRoots& roots) {
  return std::visit(Maker{roots}, config);
}

}  // namespace headroom::tasks
