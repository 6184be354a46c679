#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "engine/context.h"
#include "engine/parallel.h"
#include "experiments/cli/commands.h"
#include "models/convert/convert.h"
#include "models/export/export.h"

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
  fmt::print(
      "compared logits of the new files with the source's: they differ by at most {:.2g}, the largest is {:.3g}\n",
      c.logit_error, c.largest_logit);
  fmt::print("written  {}: {}{}\n", arguments.out, c.written, c.rounded ? "" : ", nothing rounded");
}

}  // namespace

void add_convert_command(Command app) {
  const Command command = app.command("convert", "write a trained model as a GGUF file or a Hugging Face folder");
  const auto arguments = std::make_shared<ConvertArguments>();
  command.option("MODEL", arguments->model, "a GGUF file, or a folder with config.json and safetensors").required();
  command.option("-o,--out", arguments->out, "FILE.gguf, or the folder to be made").value_name("OUT").required();
  command
      .option("--format", arguments->format,
              "compat: as other software has it (default); compact: a folder for headroom; plain: a compact model's "
              "narrower heads for other software")
      .one_of({"compat", "compact", "plain"});
  command
      .option("--dtype", arguments->dtype,
              "of its matrices (default: as the source has them; a folder of quantised ones: f32)")
      .one_of({"f32", "f16", "bf16", "q8_0"});
  command.flag("--force", arguments->force, "replace what has the name");
  command.option("--threads", arguments->threads, "default: HEADROOM_THREADS, else all cores").range(1, 4096);
  command.action([arguments] { convert(*arguments); });
}

}  // namespace headroom::experiments
