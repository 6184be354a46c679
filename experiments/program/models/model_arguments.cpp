#include "experiments/program/models/model_arguments.h"

#include <fmt/format.h>

#include "engine/error.h"
#include "engine/parallel.h"
#include "tasks/data/locate.h"

namespace headroom::experiments {
namespace {

constexpr const char* how_it_is_run = "How the model is run";

}  // namespace

models::LoadOptions ModelArguments::options() const {
  models::LoadOptions options;
  options.keep = weights == "stored" ? models::Keep::stored
                 : weights == "bf16" ? models::Keep::bf16
                                     : models::Keep::computed;
  options.weights.dtype = engine::dtype_named(dtype);
  return options;
}

std::unique_ptr<models::Transformer> ModelArguments::load(const models::ModelFiles& files) const {
  for (const std::string& warning : files.description().warnings)
    fmt::print(stderr, "headroom: warning: {}\n", warning);
  const engine::DeviceScope scope(engine::device_of(device));
  return files.load(options());
}

int ModelArguments::threads() const { return thread_count > 0 ? thread_count : engine::num_threads(); }

void add_model_options(Command command, ModelArguments& arguments) {
  command.option("MODEL", arguments.path, "a GGUF file, or a folder with config.json and safetensors")
      .path_by(tasks::named_model)
      .required();
  const Command machine = command.under(how_it_is_run);
  machine
      .option("--weights", arguments.weights,
              "how matrices are kept in memory: as the file has them, as bf16, or in --dtype")
      .one_of({"stored", "bf16", "computed"})
      .show_default();
  machine.option("--dtype", arguments.dtype, "of the computation").one_of({"f32", "f64"}).show_default();
  machine.option("--device", arguments.device, "cpu or cuda").show_default();
  machine.option("--threads", arguments.thread_count, "default: HEADROOM_THREADS, else all cores").range(1, 4096);
}

void add_exact_option(Command command, ModelArguments& arguments) {
  command.under(how_it_is_run)
      .flag("--exact", arguments.exact, "activations in f32, not rounded to 8 bits for products with blocks");
}

}  // namespace headroom::experiments
