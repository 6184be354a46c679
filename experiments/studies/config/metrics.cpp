#include "experiments/studies/config/metrics.h"

#include "tasks/make_task.h"

namespace headroom::experiments {

std::set<std::string> metric_names(const TrialConfig& config) {
  std::set<std::string> names = tasks::metric_names(config.task);
  names.insert({"parameters", "flops", "seconds"});
  if (config.train.steps_to) names.insert("steps_to");
  if (config.train.timed)
    names.insert({"forward_ms", "backward_ms", "update_ms", "step_ms", "forward_gflop", "forward_gflops",
                  "backward_gflops", "peak_gflops", "share_of_peak", "backward_share_of_peak", "layer_gflop",
                  "formula_gflop"});
  return names;
}

}  // namespace headroom::experiments
