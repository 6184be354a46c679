#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "experiments/tools/compress/accounting.h"
#include "experiments/tools/compress/job.h"

namespace headroom::experiments {

/// What is to be said of a model whose files are no smaller than those that it was made of: why, and what format or
/// dtype would make smaller ones, and about how small; "" where they are smaller.
std::string size_note(const CompressArguments& arguments, const CompressJob& job, const models::ModelEdit& edit,
                      const ModelAccount& before, const ModelAccount& after);

/// Whether such files can have matrices in q8_0.
bool holds_blocks(models::ExportFormat format, const std::filesystem::path& to);

/// The note on files over 1 % larger than the model's `before`, naming the dtype that makes the smallest if it is not
/// `type`; "" for others. `bytes_in`: the bytes of the tensors written in a type.
std::string growth_note(uint64_t before, uint64_t after, std::optional<models::WeightType> type, bool has_blocks,
                        const std::function<int64_t(std::optional<models::WeightType>)>& bytes_in);

}  // namespace headroom::experiments
