#pragma once
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "experiments/tools/compress/text_range.h"
#include "models/write/export.h"
#include "tasks/compression/plan.h"
#include "tasks/compression/refine.h"

namespace headroom::experiments {

/// What `compress` is called with.
struct CompressArguments {
  std::string model, out, part = "qk", method, vo_method, layers = "all", format, dtype, device = "cpu";
  std::string calibrate, calibrate_tokens, eval, eval_tokens;
  std::optional<int64_t> rank{}, vo_rank{}, mean_rank{};
  /// In place of rank, as mean_rank: exactly one of them is given, the others are no numbers.
  double keep = std::nan(""), cache = std::nan(""), kl = std::nan("");
  int64_t context = 0, seed = 0;
  std::string refine, refine_text, refine_tokens, checkpoint;
  tasks::RefineConfig training{};
  int threads = 0;
  bool force = false, json = false, without_speed = false;
};

/// What is to be done, all of it checked before a weight is read.
struct CompressJob {
  std::unique_ptr<models::ModelFiles> base;
  std::set<int64_t> layers;  ///< that may change
  /// The plan of an equal rank; where a budget is spent one in its place, of the methods and layers.
  tasks::CompressionPlan plan{};
  bool has_budget = false;
  models::ExportFormat format{};
  std::optional<TextRange> calibration{}, evaluation{}, refinement{};
};

/// Settles arguments that were left out (the context). Throws Error for what no model can be made by, for a format that
/// cannot hold it, an OUT that exists, and texts that are too short, or have text in common that they must not have.
CompressJob job_of(CompressArguments& arguments);

/// What is to be said where fewer tokens calibrate than 4 times the model's width: a covariance of D numbers has as
/// many directions, and those that no token shows cost nothing by it. "" where there are enough, or none are needed.
std::string calibration_note(const CompressJob& job);

/// "--rank 16", "--keep 0.5": how the ranks were asked for.
std::string rank_option(const CompressArguments& arguments);

}  // namespace headroom::experiments
