#pragma once
#include <optional>
#include <string>

#include "experiments/tools/compress/budget_curve.h"
#include "experiments/tools/compress/job.h"

namespace headroom::experiments {

/// A compressed model in memory, and how it came about.
struct CompressedModel {
  tasks::CompressionPlan plan;
  tasks::RemovedPieces removed{};  ///< of --remove, ascending
  int64_t pieces = 0;              ///< that there were of them
  models::ModelEdit edit{};
  std::string shortage{};               ///< what is to be said of a calibration that was too short
  std::optional<SpentBudget> budget{};  ///< of --budget
  /// A refinement: the losses of its first and last steps, and how many numbers it trained.
  struct Refinement {
    double first_loss = 0, last_loss = 0;
    int64_t trained = 0;
  };
  std::optional<Refinement> refinement{};
};

/// Calibrates, spends the budget, takes the heads apart and refines, as the job says. `base` is the job's model in
/// memory, unpacked.
CompressedModel make_compressed(const CompressArguments& arguments, const CompressJob& job,
                                const models::Transformer& base, const CompressProgress& progress);

}  // namespace headroom::experiments
