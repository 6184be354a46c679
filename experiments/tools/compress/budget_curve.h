#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/output/plot/plot.h"
#include "experiments/tools/compress/job.h"
#include "tasks/measure/perplexity.h"

namespace headroom::experiments {

/// One way to hold the cache, measured on --eval.
struct CurvePoint {
  std::string plain{};             ///< "q8_0": all rows as they are in it; "": what the budget `allowed` buys
  int64_t allowed = 0, bytes = 0;  ///< of a token
  tasks::Perplexity measured{};
};

/// The plain formats, then budgets from the largest, what was bought among them.
std::vector<CurvePoint> budget_curve(const CompressArguments& arguments, const CompressJob& job,
                                     const tasks::Compressed& made, engine::Device device,
                                     const tasks::CompressionProgress& progress);

/// Where a mix loses less than a plain format of no fewer bytes, and where it does not: by KL, as perplexity may fall
/// by chance. "" without a plain format that both are measured at.
std::string sentence_of(const std::vector<CurvePoint>& curve);
/// Perplexity over the original's against bytes, in lines of plain formats and of mixes.
Plot curve_plot(const std::vector<CurvePoint>& curve);

/// The sentence, what was chosen, and a table of the curve.
std::string text_of(const CompressArguments& arguments, const tasks::Compressed& made,
                    const std::vector<CurvePoint>& curve);
nlohmann::ordered_json json_of(const CompressArguments& arguments, const tasks::Compressed& made,
                               const std::vector<CurvePoint>& curve);

}  // namespace headroom::experiments
