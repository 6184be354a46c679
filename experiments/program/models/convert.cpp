#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/context.h"
#include "engine/parallel.h"
#include "experiments/program/command_line/commands.h"
#include "models/files/file_size.h"
#include "models/write/convert.h"
#include "models/write/export.h"
#include "tasks/data/locate.h"

namespace headroom::experiments {
namespace {

struct ConvertArguments {
  std::string model, out, format, dtype;
  bool force = false;
  int threads = 0;
};

models::Conversion converted(const ConvertArguments& arguments, const models::ConvertOptions& options) {
  if (arguments.format.empty()) return models::convert_model(arguments.model, arguments.out, options);
  const auto source = models::ModelFiles::open(arguments.model);
  return models::export_model(*source, {source->description().config, {}},
                              models::export_format_named(arguments.format), arguments.out,
                              {.type = options.type, .force = options.force, .progress = options.progress});
}

/// What is to be said of files that are larger than the model's by a hundredth, with the dtype that makes the smallest
/// ones where that is another; "" where they are not.
std::string growth_note(const ConvertArguments& arguments, const std::optional<models::WeightType>& type,
                        uint64_t after) {
  constexpr double hundredth = 0.01;
  const uint64_t before = models::model_bytes(arguments.model);
  if (static_cast<double>(after) < (1 + hundredth) * static_cast<double>(before)) return "";
  const std::string note =
      fmt::format("the new files have {}, the model's {}", models::size_text(after), models::size_text(before));
  const auto source = models::ModelFiles::open(arguments.model);
  const auto bytes_in = [&](std::optional<models::WeightType> other) {
    const auto format = models::export_format_named(arguments.format.empty() ? "compat" : arguments.format);
    return export_bytes(*source, {source->description().config, {}}, format, arguments.out, other);
  };
  const bool holds_blocks =
      std::filesystem::path(arguments.out).extension() == ".gguf" || arguments.format == "compact";
  const models::WeightType least = holds_blocks ? models::WeightType::q8_0 : models::WeightType::bf16;
  const int64_t saved = bytes_in(type) - bytes_in(least);
  if (static_cast<double>(saved) < hundredth * static_cast<double>(after)) return note;
  return fmt::format("{}; --dtype {} would make about {}", note, models::name_of(least),
                     models::size_text(after - static_cast<uint64_t>(saved)));
}

void convert(const ConvertArguments& arguments) {
  const engine::ThreadScope threads(arguments.threads > 0 ? arguments.threads : engine::num_threads());
  models::ConvertOptions options;
  if (!arguments.dtype.empty()) options.type = models::weight_type_named(arguments.dtype);
  options.force = arguments.force;
  if (isatty(STDERR_FILENO) != 0)
    options.progress = [](size_t done, size_t all) {
      fmt::print(stderr, "\r{} of {} tensors{}", done, all, done == all ? "\n" : "");
    };
  const models::Conversion c = converted(arguments, options);
  for (const std::string& note : c.notes) fmt::print("note     {}\n", note);
  if (const std::string growth = growth_note(arguments, options.type, c.bytes); !growth.empty())
    fmt::print("note     {}\n", growth);
  fmt::print(
      "compared logits of the new files with the source's: they differ by at most {:.2g}, the largest is {:.3g}\n",
      c.logit_error, c.largest_logit);
  fmt::print("written  {}: {}, {}{}\n", arguments.out, c.written, models::size_text(c.bytes),
             c.rounded ? "" : ", nothing rounded");
}

}  // namespace

void add_convert_command(Command app) {
  const Command command = app.command("convert", "write a trained model as a GGUF file or a Hugging Face folder");
  const auto arguments = std::make_shared<ConvertArguments>();
  command.option("MODEL", arguments->model, "a GGUF file, or a folder with config.json and safetensors")
      .path_by(tasks::named_model)
      .required();
  command.option("-o,--out", arguments->out, "FILE.gguf, or the folder to be made")
      .value_name("OUT")
      .required()
      .output_apart();
  command
      .option("--format", arguments->format,
              "compat: as other software has it (default); compact: a folder for headroom; plain: a compact model's "
              "narrower heads for other software")
      .one_of({"compat", "compact", "plain"});
  command
      .option("--dtype", arguments->dtype,
              "of its matrices (default: as the source has them; a folder of quantised ones: f32)")
      .one_of({"f32", "f16", "bf16", "q8_0"});
  command.flag("--force", arguments->force, "overwrite what is there");
  command.option("--threads", arguments->threads, "default: HEADROOM_THREADS, else all cores").range(1, 4096);
  command.action([arguments] { convert(*arguments); });
}

}  // namespace headroom::experiments
