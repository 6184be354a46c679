#pragma once
#include <string>

#include "experiments/tools/compress/accounting.h"
#include "experiments/tools/compress/job.h"

namespace headroom::experiments {

/// What is to be said of a model whose files are no smaller than those that it was made of: why, and what format or
/// dtype would make smaller ones, and about how small; "" where they are smaller.
std::string size_note(const CompressArguments& arguments, const CompressJob& job, const models::ModelEdit& edit,
                      const ModelAccount& before, const ModelAccount& after);

}  // namespace headroom::experiments
