#include "experiments/compress/size_note.h"

#include <fmt/format.h>

#include "models/convert/convert.h"
#include "models/export/write_compact.h"
#include "models/files/file_size.h"

namespace headroom::experiments {
namespace {

using models::ExportFormat, models::WeightType;

/// The bytes of the base's tensors, as they lie in its files.
int64_t tensor_bytes(const models::ModelFiles& base) {
  const models::ModelEdit none{base.description().config, {}};
  return models::compact_bytes(base, none, std::nullopt);
}

std::string why(const CompressArguments& arguments, const CompressJob& job, const ModelAccount& before,
                const ModelAccount& after) {
  if (job.format != ExportFormat::compact)
    return fmt::format(
        "--format {} {}{}", arguments.format,
        job.format == ExportFormat::compat ? "keeps every matrix at its full shape" : "has one width for all heads",
        arguments.dtype.empty() && after.bytes > before.bytes ? ", here in more bits than before" : "");
  if (after.parameters >= before.parameters)
    return "at these ranks the factors have as many numbers as the matrices, or more";
  return fmt::format("what has changed is written in {}",
                     arguments.dtype.empty() ? "f32, where --dtype says nothing" : arguments.dtype);
}

}  // namespace

std::string size_note(const CompressArguments& arguments, const CompressJob& job, const models::ModelEdit& edit,
                      const ModelAccount& before, const ModelAccount& after) {
  if (after.bytes < before.bytes) return "";
  const std::string reason =
      fmt::format("the new files are no smaller than the model's: {}", why(arguments, job, before, after));
  // Of two models, all but the tensors (the tokenizer above all) is taken to be as large.
  const int64_t rest = static_cast<int64_t>(before.bytes) - tensor_bytes(*job.base);
  const bool is_compact = job.format == ExportFormat::compact;
  std::optional<WeightType> given;
  if (!arguments.dtype.empty()) given = models::weight_type_named(arguments.dtype);
  for (const std::optional<WeightType> type :
       {given, std::optional(WeightType::bf16), std::optional(WeightType::q8_0)}) {
    if (is_compact && type == given) continue;
    const int64_t bytes = rest + models::compact_bytes(*job.base, edit, type);
    // Estimates of less than a hundredth promise nothing.
    if (static_cast<double>(bytes) > 0.99 * static_cast<double>(before.bytes)) continue;
    const std::string options =
        fmt::format("{}{}{}", is_compact ? "" : "--format compact", is_compact || !type ? "" : " ",
                    type ? fmt::format("--dtype {}", models::name_of(*type)) : "");
    return fmt::format("{}; {} would make about {}{}", reason, options, models::size_text(static_cast<uint64_t>(bytes)),
                       is_compact ? "" : ", which loads here only");
  }
  return fmt::format(
      "{}, and no --format or --dtype would make them smaller by a hundredth; a lower rank would, or quantising the "
      "whole model",
      reason);
}

}  // namespace headroom::experiments
