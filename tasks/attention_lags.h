#pragma once
#include "models/transformer.h"
#include "tasks/task.h"

namespace headroom::tasks {

/// How many heads' worth of attention the first layer gives to each lag: for s = 0 .. last, "attention_at_lag_s" is the
/// sum over its heads of the mean probability that position t gives to t − s, over sequences and positions t >= last.
/// With H heads the values sum to at most H. Throws Error when the sequences are not longer than `last`.
Metrics attention_by_lag(const models::Transformer& model, const Batch& batch, int64_t last);

}  // namespace headroom::tasks
