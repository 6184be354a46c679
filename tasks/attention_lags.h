#pragma once
#include "models/transformer.h"
#include "tasks/task.h"

namespace headroom::tasks {

/// How many heads' worth of attention the first `layers` layers give to each lag: for s = 0 .. last,
/// "attention_at_lag_s" is the sum over their heads of the mean probability that position t gives to t − s, over
/// sequences and positions t >= last that are not padding. With H heads a layer the values sum to at most H·layers.
/// Throws Error when the sequences are not longer than `last`, when none has such a position, and for more layers than
/// there are.
Metrics attention_by_lag(const models::Transformer& model, const Batch& batch, int64_t last, int64_t layers = 1);

}  // namespace headroom::tasks
