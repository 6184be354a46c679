#include "tasks/task.h"

#include "autograd/ops.h"
#include "engine/error.h"
#include "models/transformer.h"

namespace headroom::tasks {

Batch Batch::slice(int64_t begin, int64_t end) const {
  const auto part = [&](const Tensor& x) { return x.defined() ? x.slice(0, begin, end) : Tensor(); };
  return {part(input), part(target), part(key_mask), part(response)};
}

Batch Batch::to(engine::Device device) const {
  const auto moved = [&](const Tensor& x) { return x.defined() ? x.to(device) : Tensor(); };
  return {moved(input), moved(target), moved(key_mask), moved(response)};
}

Var Objective::loss_of(const models::Transformer& model, const Batch& batch,
                       const models::ForwardContext& context) const {
  return loss(model.forward(batch.input, context), batch);
}

void Task::construct(const models::Transformer& /*model*/, Construct /*what*/) const {
  fail("construction: there is none for this task: {}", describe());
}

bool larger_is_better(const std::string& metric) {
  return metric.ends_with("accuracy") || metric == "match_share" || metric.ends_with("_gflops") ||
         metric.ends_with("share_of_peak");
}

bool is_share(const std::string& metric) {
  const auto has = [&](const char* part) { return metric.find(part) != std::string::npos; };
  return has("share") || has("attention_at_lag_") || metric.ends_with("_off_plan");
}

bool is_clock_metric(const std::string& metric) {
  return metric.ends_with("_ms") || metric.ends_with("_gflops") || metric.ends_with("share_of_peak");
}

}  // namespace headroom::tasks
