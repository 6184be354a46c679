#include "experiments/tools/compress/size_note.h"

#include <fmt/format.h>

#include "models/files/file_size.h"
#include "models/write/convert.h"

namespace headroom::experiments {
namespace {

using models::ExportFormat, models::WeightType;

/// Whether some rank has fewer parameters.
bool saves_parameters(const CompressJob& job) {
  const tasks::CompressionRequest& request = job.request;
  if (request.removed) return true;
  const tasks::HeadCosts costs(job.description().config, request.plan.qk, request.plan.vo, request.layers);
  return costs.least(tasks::BudgetOf::parameters) < costs.full(tasks::BudgetOf::parameters);
}

std::string why(const CompressArguments& arguments, const CompressJob& job, const ModelAccount& before,
                const ModelAccount& after) {
  if (job.format == ExportFormat::compat || (job.format == ExportFormat::plain && !job.request.removed))
    return fmt::format(
        "--format {} {}{}", arguments.format,
        job.format == ExportFormat::compat ? "keeps every matrix at its full shape" : "has one width for all heads",
        arguments.dtype.empty() && after.bytes > before.bytes ? ", here in more bits than before" : "");
  if (after.parameters >= before.parameters)
    return saves_parameters(job) ? "at these ranks the factors have as many numbers as the matrices, or more"
                                 : fmt::format("{} saves no parameters at any rank", arguments.method);
  return fmt::format("what has changed is written in {}",
                     arguments.dtype.empty() ? "f32, as no --dtype is given" : arguments.dtype);
}

/// Another way to write the model.
struct Choice {
  ExportFormat format;
  std::optional<WeightType> type;
};

/// In this order: the same format in fewer bits, what other software loads too, then what loads here only.
std::vector<Choice> other_choices(const CompressArguments& arguments, const CompressJob& job,
                                  const models::TransformerConfig& config) {
  std::optional<WeightType> given;
  if (!arguments.dtype.empty()) given = models::weight_type_named(arguments.dtype);
  std::vector<ExportFormat> formats = {job.format};
  for (const ExportFormat format : {ExportFormat::plain, ExportFormat::compact})
    if (format != job.format) formats.push_back(format);
  std::vector<Choice> choices;
  for (const ExportFormat format : formats) {
    // A compact model is a folder, whatever the name that was given.
    if (format != ExportFormat::compact && !refusal_of(format, job.base->files(), config, arguments.out).empty())
      continue;
    for (const std::optional<WeightType> type :
         {given, std::optional(WeightType::bf16), std::optional(WeightType::q8_0)}) {
      const bool is_taken = format == job.format && type == given;
      if (!is_taken && (holds_blocks(format, arguments.out) || type != WeightType::q8_0))
        choices.push_back({format, type});
    }
  }
  return choices;
}

}  // namespace

std::string size_note(const CompressArguments& arguments, const CompressJob& job, const models::ModelEdit& edit,
                      const ModelAccount& before, const ModelAccount& after) {
  if (after.bytes < before.bytes) return "";
  const std::string reason =
      fmt::format("the new files are no smaller than the model's: {}", why(arguments, job, before, after));
  // All but the tensors (the tokenizer above all) is taken to be as large in both models.
  const models::ModelEdit none{job.description().config, {}};
  const int64_t rest = static_cast<int64_t>(before.bytes) -
                       export_bytes(job.base->files(), none, ExportFormat::compact, arguments.out, std::nullopt);
  for (const auto& [format, type] : other_choices(arguments, job, edit.config)) {
    const int64_t bytes = rest + export_bytes(job.base->files(), edit, format, arguments.out, type);
    // Estimates of less than a hundredth promise nothing.
    if (static_cast<double>(bytes) > 0.99 * static_cast<double>(before.bytes)) continue;
    const bool is_other = format != job.format;
    return fmt::format("{}; {}{}{} would make about {}{}", reason,
                       is_other ? fmt::format("--format {}", name_of(format)) : "", is_other && type ? " " : "",
                       type ? fmt::format("--dtype {}", models::name_of(*type)) : "",
                       models::size_text(static_cast<uint64_t>(bytes)),
                       is_other && format == ExportFormat::compact ? ", a folder that loads here only" : "");
  }
  return fmt::format(
      "{}, and no --format or --dtype would make them smaller than the model's by a hundredth; {}quantising the whole "
      "model would",
      reason,
      job.request.removed     ? "removing more or "
      : saves_parameters(job) ? "a lower rank or "
                              : "");
}

bool holds_blocks(ExportFormat format, const std::filesystem::path& to) {
  return format == ExportFormat::compact || to.extension() == ".gguf";
}

std::string growth_note(uint64_t before, uint64_t after, std::optional<WeightType> type, bool has_blocks,
                        const std::function<int64_t(std::optional<WeightType>)>& bytes_in) {
  constexpr double hundredth = 0.01;
  if (static_cast<double>(after) < (1 + hundredth) * static_cast<double>(before)) return "";
  const std::string note =
      fmt::format("the new files have {}, the model's {}", models::size_text(after), models::size_text(before));
  const WeightType least = has_blocks ? WeightType::q8_0 : WeightType::bf16;
  const int64_t saved = bytes_in(type) - bytes_in(least);
  if (static_cast<double>(saved) < hundredth * static_cast<double>(after)) return note;
  return fmt::format("{}; --dtype {} would make about {}", note, models::name_of(least),
                     models::size_text(after - static_cast<uint64_t>(saved)));
}

}  // namespace headroom::experiments
