#pragma once
#include <cstdint>

#include "experiments/studies/config/tasks/words.h"
#include "experiments/studies/toml/reader.h"
#include "tasks/kernel.h"

namespace headroom::experiments {

/// A table `kernel` for lags 1 .. last: a kind of tasks::KernelConfig, or the user's own, as an expression in s or a
/// CSV file, which become a list of values.
tasks::KernelConfig bind_kernel(Reader& in, int64_t last);

/// The kernel of a resolved table, without the values of a list.
tasks::KernelConfig kernel_of(const TaskJson& table);

}  // namespace headroom::experiments
