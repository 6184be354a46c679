#pragma once
#include <string>

#include "models/config.h"

namespace headroom::experiments {

/// What is predicted, on random data: real vectors (mse), the next token (ce), 15 % of the tokens (mlm), or a class of
/// the sequence (classify).
enum class Objective { mse, ce, mlm, classify };

/// One training step to time: a model, and the shape of its batch.
struct Workload {
  std::string name;
  models::TransformerConfig model;
  Objective objective = Objective::ce;
  int64_t batch = 1, length = 1;
};

/// Reads one table of a file of workloads, over the file's [defaults]. Throws Error naming the file and what is wrong:
/// an unknown workload (and the known ones), an unknown key, a missing one, a wrong type or an unknown name.
Workload read_workload(const std::string& file, const std::string& name);

}  // namespace headroom::experiments
