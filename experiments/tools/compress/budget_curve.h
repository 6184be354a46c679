#pragma once
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/output/plot/plot.h"
#include "experiments/tools/compress/job.h"
#include "tasks/compression/cache_budget.h"
#include "tasks/measure/perplexity.h"

namespace headroom::experiments {

/// What is being done, and the share of it that is.
using CompressProgress = std::function<void(const std::string& what, double share)>;

/// One way to hold the cache, measured on --eval.
struct CurvePoint {
  std::string plain{};             ///< "q8_0": all rows as they are in it; "": what the budget `allowed` buys
  int64_t allowed = 0, bytes = 0;  ///< of a token
  tasks::Perplexity measured{};
};

/// What --budget bought.
struct SpentBudget {
  tasks::CompressionPlan plan{};
  int64_t bytes = 0, original = 0;  ///< of a token: after it, and before in f16
  double expected_kl = 0,
         measured_kl = 0;           ///< on the calibration's texts: losses of single heads added up, all at once
  std::vector<CurvePoint> curve{};  ///< with --curve: the plain formats, then budgets from the largest
};

/// Spends the job's budget, and with --curve measures other budgets and the plain formats, and draws them.
SpentBudget spend(const CompressArguments& arguments, const CompressJob& job, const models::Transformer& base,
                  const tasks::HeadDecompositions& heads, const tasks::CacheBudget& budget,
                  const CompressProgress& progress);

/// Where a mix loses less than a plain format of no fewer bytes, and where it does not: by KL, as perplexity may fall
/// by chance. "" without a plain format that both are measured at.
std::string sentence_of(const std::vector<CurvePoint>& curve);
/// Perplexity over the original's against bytes, in lines of plain formats and of mixes.
Plot curve_plot(const std::vector<CurvePoint>& curve);

/// The sentence, what was chosen, and a table of the curve.
std::string text_of(const CompressArguments& arguments, const SpentBudget& spent);
nlohmann::ordered_json json_of(const CompressArguments& arguments, const SpentBudget& spent);

}  // namespace headroom::experiments
