#include "experiments/program/models/model_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>

#include "experiments/program/command_line/standard_streams.h"
#include "experiments/studies/toml/complaints.h"
#include "models/adapters/adapter_files.h"
#include "models/files/entries_of.h"
#include "tasks/data/locate.h"

namespace headroom::experiments {
namespace {

constexpr const char* how_it_is_run = "How the model is run";

/// True if the path can be a model.
bool is_model(const std::filesystem::path& path) {
  std::error_code none;
  return path.extension() == ".gguf" || std::filesystem::exists(path / "config.json", none);
}

/// Throws Error if the path is missing but its folder has a model with a similar name. If none is near, the command
/// says so after its other checks.
void check_model(const std::string& name) {
  const std::filesystem::path path = name;
  std::error_code none;
  if (std::filesystem::exists(path, none)) return;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const auto undotted = [](std::string file) {  // a file, not a path of keys, in which the last word counts
    std::replace(file.begin(), file.end(), '.', '_');
    return file;
  };
  std::map<std::string, std::string> models;
  std::set<std::string> names;
  for (const std::filesystem::path& entry : models::entries_if_any(folder))
    if (const std::string file = entry.filename().string(); is_model(entry))
      models[undotted(file)] = file, names.insert(undotted(file));
  const std::string near = models[nearest_path(undotted(path.filename().string()), names)];
  require(near.empty(), "{}: there is no such model; did you mean {}?", excerpt(path.string()),
          excerpt((path.parent_path() / near).string()));
}

}  // namespace

std::unique_ptr<models::Transformer> ModelArguments::load(const models::ModelFiles& files) const {
  for (const std::string& warning : files.description().warnings) write_note("headroom: warning: " + warning);
  const engine::DeviceScope scope(engine::device_of(device));
  models::LoadOptions options;
  options.keep = weights == "stored" ? models::Keep::stored
                 : weights == "bf16" ? models::Keep::bf16
                                     : models::Keep::computed;
  options.weights.dtype = engine::dtype_named(dtype);
  if (adapter.empty()) return files.load(options);
  return models::load(files, models::read_adapter(adapter, files), files.description().config, options);
}

void add_model_argument(Command command, std::string& path) {
  command.option("MODEL", path, "a GGUF file, or a folder with config.json and safetensors")
      .path_by(tasks::named_model)
      .checked_by(check_model)
      .required();
}

void add_model_options(Command command, ModelArguments& arguments) {
  add_model_argument(command, arguments.path);
  add_adapter_option(command, arguments.adapter);
  const Command machine = command.under(how_it_is_run);
  machine
      .option("--weights", arguments.weights,
              "how matrices are kept in memory: as the file has them, as bf16, or in --dtype")
      .one_of({"stored", "bf16", "computed"});
  machine.option("--dtype", arguments.dtype, "of the computation").one_of({"f32", "f64"});
  machine.option("--device", arguments.device, "cpu or cuda");
  add_threads_option(machine, arguments.thread_count);
}

void add_adapter_option(Command command, std::string& path) {
  command.option("--adapter ADAPTER", path, "a LoRA adapter to apply to MODEL: a PEFT folder or a GGUF file")
      .path_by(tasks::named_model);
}

void add_exact_option(Command command, ModelArguments& arguments) {
  command.under(how_it_is_run)
      .flag("--exact", arguments.exact, "activations in f32, not rounded to 8 bits for products with blocks");
}

void add_cache_option(Command command, ModelArguments& arguments) {
  const std::string help =
      "of cached keys and values: f16 and bf16 take half of the bytes, q8_0 about a quarter, q4_0 a seventh; "
      "model: as a compressed model names them for each head (f16 where it does not)";
  command.under(how_it_is_run)
      .option("--cache-dtype", arguments.cache_dtype,
              arguments.cache_dtype.empty() ? help + " (default: model; f32 with --exact or --dtype f64)" : help)
      .one_of({"f32", "f16", "bf16", "q8_0", "q4_0", "model"});
}

std::string ModelArguments::cache_name(const models::TransformerConfig& config) const {
  if (!cache_dtype.empty()) return cache_dtype;
  if (dtype != "f32" || exact) return "f32";
  return models::names_cache_types(config) ? "model" : "f16";
}

models::CacheTypes ModelArguments::cache_types(const models::TransformerConfig& config) const {
  const std::string name = cache_name(config);
  if (name == "f32") return {};
  require(dtype == "f32", "--cache-dtype {}: with --dtype {} keys and values are not rounded", name, dtype);
  if (name == "model") return {engine::BlockFormat::f16, true};
  const engine::BlockFormat format = engine::block_format_named(name);
  if (const auto partial = models::partial_blocks(config, format))
    fail("--cache-dtype {}: {} has heads with {} of {}, which are no whole blocks of {} numbers; f16 takes any width",
         name, path, partial->what, partial->dim, partial->block);
  return format;
}

std::string ModelArguments::overflow(const models::TransformerConfig& config) const {
  const std::string name = cache_name(config);
  if (name == "f32" || name == "bf16") return "numbers within the model are too large";
  return fmt::format(
      "keys and values may be too large for a cache of {}, whose f16 ends at 65504: --cache-dtype bf16 "
      "or f32 holds them",
      name == "model" ? "the types that the model names" : name);
}

Option add_text_options(Command command, std::string& text, int64_t& max_tokens) {
  const Option option = command.option("--text FILE", text, "a text file, taken as it is").path_by(tasks::named_text);
  command.option("--max-tokens N", max_tokens, "only the first N tokens of the text");
  return option;
}

void add_calibration_options(Command command, std::string& text, std::string& tokens, const std::string& help) {
  command.option("--calibrate FILE", text, help).path_by(tasks::named_text);
  command.option("--calibrate-tokens A:B", tokens,
                 "tokens [A, B) of it, counted as the model's tokenizer does (default: the first 8192)");
}

void add_written_model_option(Command command, std::string& path) {
  command.option("-o,--out OUT", path, "FILE.gguf, or the folder to be made").required().output_apart();
}

void add_threads_option(Command command, int& threads) {
  command.option("--threads", threads, "default: HEADROOM_THREADS, else all cores").range(1, 4096);
}

}  // namespace headroom::experiments
