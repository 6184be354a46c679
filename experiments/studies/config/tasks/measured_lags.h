#pragma once
#include <cstdint>

#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {

/// The key `attention_lags` of a task with sequences of `length`: up to which lag the heads' attention is measured. It
/// came later than the first studies: where it is not given, it is no part of a trial's id.
int64_t bind_attention_lags(Reader& in, int64_t length);

}  // namespace headroom::experiments
