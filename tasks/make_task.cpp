#include "tasks/make_task.h"

#include "engine/error.h"

namespace headroom::tasks {
namespace {

struct Maker {
  const DataRoots& roots;
  Problem operator()(const LinearFunctionalConfig& config) const {
    return std::make_shared<const LinearFunctional>(config);
  }
  Problem operator()(const ClassificationConfig& config) const {
    return std::make_shared<const Classification>(config);
  }
  Problem operator()(const InductionHeadConfig& config) const { return std::make_shared<const InductionHead>(config); }
  Problem operator()(const VolterraConfig& config) const { return std::make_shared<const Volterra>(config); }
  Problem operator()(const AllocationBoundConfig& config) const {
    return std::make_shared<const AllocationBound>(config);
  }
  Problem operator()(const ConstructiveConfig& config) const {
    return std::make_shared<const ConstructiveTask>(config);
  }
  Problem operator()(const ExponentialSumConfig& config) const {
    return std::make_shared<const ExponentialSumStudy>(config);
  }
  Problem operator()(const RandomProjectionConfig& config) const {
    return std::make_shared<const RandomProjectionStudy>(config);
  }
  Problem operator()(const SoftmaxBoundConfig& config) const {
    return std::make_shared<const SoftmaxBound>(config, roots);
  }
  Problem operator()(const SvdBoundConfig& config) const { return std::make_shared<const SvdBound>(config, roots); }
  Problem operator()(const RopeBoundConfig& config) const { return std::make_shared<const RopeBound>(config, roots); }
  Problem operator()(const NextTokenConfig& config) const { return std::make_shared<const NextToken>(config, roots); }
  Problem operator()(const MaskedConfig& config) const { return std::make_shared<const Masked>(config, roots); }
  Problem operator()(const InstructionsConfig& config) const {
    return std::make_shared<const Instructions>(config, roots);
  }
  Problem operator()(const AttentionHeadsConfig& config) const {
    return std::make_shared<const AttentionHeads>(config, roots);
  }
  Problem operator()(const SpectraStudyConfig& config) const {
    return std::make_shared<const SpectraStudy>(config, roots);
  }
  Problem operator()(const HeadDistillationConfig& config) const {
    return std::make_shared<const HeadDistillation>(config, roots);
  }
  Problem operator()(const TwoStageConfig& config) const { return std::make_shared<const TwoStage>(config, roots); }
  Problem operator()(const LowRankConfig& config) const { return std::make_shared<const LowRankStudy>(config, roots); }
};

}  // namespace

bool trains(const TaskConfig& config) {
  return !std::visit(
      [](const auto& kind) {
        return requires { kind.is_formula; };
      },
      config);
}

bool takes_device(const TaskConfig& config) {
  return std::visit(
      [](const auto& kind) {
        return !requires { kind.is_formula; }
        || requires { kind.runs_on_devices; };
      },
      config);
}

Problem make_problem(const TaskConfig& config, const DataRoots& roots) { return std::visit(Maker{roots}, config); }

std::shared_ptr<const Task> make_task(const TaskConfig& config, const DataRoots& roots) {
  require(trains(config), "make_task: the config is of a formula, which trains nothing");
  return std::get<std::shared_ptr<const Task>>(make_problem(config, roots));
}

std::map<std::string, std::string> data_hashes(const Problem& problem) {
  return std::visit([](const auto& one) { return one->data_hashes(); }, problem);
}

}  // namespace headroom::tasks
