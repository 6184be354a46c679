#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/tools/compress/accounting.h"
#include "experiments/tools/compress/budget_curve.h"
#include "experiments/tools/compress/loss_search.h"
#include "experiments/tools/compress/possible_savings.h"

namespace headroom::experiments {

/// A compression from the model read to the files written.
struct Compression {
  tasks::Compressed made;
  std::vector<TriedCache> tried{};  ///< of --budget loss=S
  std::vector<CurvePoint> curve{};  ///< of --curve
  ModelAccount before{}, after{};
  models::Conversion written{};
  std::string calibration_note{}, size_note{}, cache_note{};  ///< what is to be said of them; "" where there is nothing
};

/// What could be saved of the model that the job reads, by any means.
PossibleSavings savings_of(const CompressArguments& arguments, const CompressJob& job);

/// The steps that compress() takes, as tasks::steps_of(), with those of its own.
std::vector<std::string> steps_of(const CompressArguments& arguments, const CompressJob& job);

/// Does the job: makes the smaller heads, measures perplexities before --dtype rounds what changed (--budget loss=S
/// after that), writes the model with its card, reads it back, and measures both models' speeds as `generate` runs
/// them. Measured losses are kept in OUT.losses until the model is written. Throws Error where a file cannot be read or
/// written, or what was written does not compute the same. A plain model that keeps all is compat.
Compression compress(const CompressArguments& arguments, CompressJob& job, const tasks::CompressionProgress& progress);

/// All that came of it, as JSON and as the lines of a terminal.
nlohmann::ordered_json json_of(const CompressArguments& arguments, const CompressJob& job, const Compression& done);
std::string text_of(const CompressArguments& arguments, const CompressJob& job, const Compression& done);

}  // namespace headroom::experiments
