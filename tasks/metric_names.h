#pragma once
#include <set>
#include <string>

#include "tasks/make_task.h"

namespace headroom::tasks {

/// Names of all test metrics that a trial of this task may have, from its Task's meter and probes or its Measurement.
/// Some come only with some models ("attention_at_lag_1" needs a causal one) or results. Reads no data.
std::set<std::string> metric_names(const TaskConfig& config);

}  // namespace headroom::tasks
