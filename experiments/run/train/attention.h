#pragma once
#include "experiments/config/trial_config.h"
#include "models/transformer.h"
#include "tasks/task.h"

namespace headroom::experiments {

/// How many heads serve each lag: for a causal model of an n-gram target with n up to 16, "attention_at_lag_s" for
/// s = 0 .. n as tasks::attention_by_lag() has them, over the first sequences of a set, as many as a training batch. No
/// metrics for other tasks, nor where the sequences are not longer than n.
tasks::Metrics heads_by_lag(const TrialConfig& config, const models::Transformer& model, const tasks::Batch& set);

}  // namespace headroom::experiments
