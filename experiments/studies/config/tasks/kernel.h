#pragma once
#include <string>
#include <vector>

#include "experiments/studies/toml/reader.h"
#include "tasks/kernel.h"

namespace headroom::experiments {

/// A table `kernel` for lags 1 .. last: a kind of tasks::KernelConfig, or the user's own, as an expression in s or a
/// CSV file, which become a list of values.
tasks::KernelConfig bind_kernel(Reader& in, int64_t last);

/// ρ(1), ρ(2), … of a CSV file: rows `rho` in order, or rows `s,rho` (what is not named is 0). A first row of words is
/// a heading; empty lines and lines that start with # are skipped. Throws Error "FILE:LINE: …".
std::vector<double> read_kernel_file(const std::string& file);

}  // namespace headroom::experiments
