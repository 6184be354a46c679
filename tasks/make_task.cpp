#include "tasks/make_task.h"

#include "engine/error.h"

namespace headroom::tasks {

bool trains(const TaskConfig& config) {
  return std::visit([]<class Kind>(const Kind&) { return !std::is_base_of_v<Measurement, typename Kind::Made>; },
                    config);
}

bool reads_data(const TaskConfig& config) {
  return std::visit(
      []<class Kind>(const Kind&) {
        return std::is_constructible_v<typename Kind::Made, const Kind&, const DataRoots&>;
      },
      config);
}

bool is_tested_on_validation(const TaskConfig& config) {
  const auto shares = []<class Kind>(const Kind& task) {
    if constexpr (requires { task.corpus; }) return is_tested_on_validation(task.corpus);
    else if constexpr (requires { task.split_seed; }) return task.test == 0;
    else return false;
  };
  return std::visit(shares, config);
}

bool takes_device(const TaskConfig& config) {
  const auto runs_there = []<class Kind>(const Kind&) {
    return requires { Kind::runs_on_devices; };
  };
  return trains(config) || std::visit(runs_there, config);
}

Work make_work(const TaskConfig& config, const DataRoots& roots) {
  return std::visit(
      [&]<class Kind>(const Kind& kind) -> Work {
        using Made = typename Kind::Made;
        if constexpr (std::is_constructible_v<Made, const Kind&, const DataRoots&>)
          return std::make_shared<const Made>(kind, roots);
        else return std::make_shared<const Made>(kind);
      },
      config);
}

std::set<std::string> metric_names(const TaskConfig& config) {
  return std::visit([](const auto& kind) { return metric_names_of(kind); }, config);
}

std::shared_ptr<const Task> make_task(const TaskConfig& config, const DataRoots& roots) {
  require(trains(config), "make_task: the config is of a formula, which trains nothing");
  return std::get<std::shared_ptr<const Task>>(make_work(config, roots));
}

std::map<std::string, std::string> data_hashes(const Work& work) {
  return std::visit([](const auto& one) { return one->data_hashes(); }, work);
}

}  // namespace headroom::tasks
