#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/tools/compress/divergence.h"
#include "experiments/tools/compress/job.h"

namespace headroom::experiments {

/// One cache that --budget loss=S tried.
struct TriedCache {
  int64_t bytes = 0;  ///< of a token
  PerplexityRatio ratio{};
  bool is_good = false;  ///< whether the interval's upper end is within the loss
};

/// Makes the job's request accept a model whose perplexity on --eval, of matrices rounded to --dtype, is shown to rise
/// by at most the loss allowed, and notes in `tried` what was measured. Job, arguments and `tried` must outlive the
/// request.
void search_by_loss(const CompressArguments& arguments, CompressJob& job, engine::Device device,
                    std::vector<TriedCache>& tried);

/// Throws Error with the least loss unless something tried is good.
void require_good(const std::vector<TriedCache>& tried, const CompressArguments& arguments, const CompressJob& job);

/// The edit with matrices in --dtype.
models::ModelEdit as_written(const CompressArguments& arguments, const models::ModelEdit& edit);

/// All that was tried from the largest on, what was kept, and what its loss rests on: so many windows of --eval.
std::string text_of(const std::vector<TriedCache>& tried, const CompressJob& job, const tasks::Compressed& made,
                    int64_t windows);
nlohmann::ordered_json json_of(const std::vector<TriedCache>& tried);

}  // namespace headroom::experiments
