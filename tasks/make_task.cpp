#include "tasks/make_task.h"

#include "engine/error.h"

namespace headroom::tasks {
namespace {

struct Maker {
  const DataRoots& roots;
  Work operator()(const LinearFunctionalConfig& config) const {
    return std::make_shared<const LinearFunctional>(config);
  }
  Work operator()(const ClassificationConfig& config) const { return std::make_shared<const Classification>(config); }
  Work operator()(const InductionHeadConfig& config) const { return std::make_shared<const InductionHead>(config); }
  Work operator()(const VolterraConfig& config) const { return std::make_shared<const Volterra>(config); }
  Work operator()(const AllocationBoundConfig& config) const { return std::make_shared<const AllocationBound>(config); }
  Work operator()(const ConstructiveConfig& config) const { return std::make_shared<const ConstructiveTask>(config); }
  Work operator()(const ExponentialSumConfig& config) const {
    return std::make_shared<const ExponentialSumStudy>(config);
  }
  Work operator()(const RandomProjectionConfig& config) const {
    return std::make_shared<const RandomProjectionStudy>(config);
  }
  Work operator()(const SoftmaxBoundConfig& config) const {
    return std::make_shared<const SoftmaxBound>(config, roots);
  }
  Work operator()(const SvdBoundConfig& config) const { return std::make_shared<const SvdBound>(config, roots); }
  Work operator()(const RopeBoundConfig& config) const { return std::make_shared<const RopeBound>(config, roots); }
  Work operator()(const NextTokenConfig& config) const { return std::make_shared<const NextToken>(config, roots); }
  Work operator()(const MaskedConfig& config) const { return std::make_shared<const Masked>(config, roots); }
  Work operator()(const InstructionsConfig& config) const {
    return std::make_shared<const Instructions>(config, roots);
  }
  Work operator()(const AttentionHeadsConfig& config) const {
    return std::make_shared<const AttentionHeads>(config, roots);
  }
  Work operator()(const SpectraStudyConfig& config) const {
    return std::make_shared<const SpectraStudy>(config, roots);
  }
  Work operator()(const HeadDistillationConfig& config) const {
    return std::make_shared<const HeadDistillation>(config, roots);
  }
  Work operator()(const TwoStageConfig& config) const { return std::make_shared<const TwoStage>(config, roots); }
  Work operator()(const LowRankConfig& config) const { return std::make_shared<const LowRankStudy>(config, roots); }
};

}  // namespace

bool trains(const TaskConfig& config) {
  return !std::visit(
      [](const auto& kind) {
        return requires { kind.is_measurement; };
      },
      config);
}

bool takes_device(const TaskConfig& config) {
  return std::visit(
      [](const auto& kind) {
        return !requires { kind.is_measurement; }
        || requires { kind.runs_on_devices; };
      },
      config);
}

Work make_work(const TaskConfig& config, const DataRoots& roots) { return std::visit(Maker{roots}, config); }

std::shared_ptr<const Task> make_task(const TaskConfig& config, const DataRoots& roots) {
  require(trains(config), "make_task: the config is of a formula, which trains nothing");
  return std::get<std::shared_ptr<const Task>>(make_work(config, roots));
}

std::map<std::string, std::string> data_hashes(const Work& work) {
  return std::visit([](const auto& one) { return one->data_hashes(); }, work);
}

}  // namespace headroom::tasks
