#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/context.h"
#include "engine/device_stream.h"
#include "engine/error.h"
#include "engine/excerpt.h"
#include "engine/parallel.h"
#include "engine/quantized/block_format.h"
#include "engine/read_number.h"
#include "engine/transfer.h"
#include "experiments/program/command_line/arguments.h"
#include "models/cache_types.h"
#include "models/checkpoints/model_files.h"

namespace headroom::experiments {

/// What every command that runs a trained model takes.
struct ModelArguments {
  std::string path;
  std::string weights = "stored";
  std::string dtype = "f32";
  std::string device = "cpu";
  int thread_count = 0;
  bool exact = false;
  std::string cache_dtype = "f32";  ///< of commands with add_cache_option(); "" for what fits the others

  /// --cache-dtype; where that is "" and the model runs in f32 on the CPU, not exactly, "model" if its heads name the
  /// types of their cache, else f16.
  std::string cache_name(const models::TransformerConfig& config) const;
  /// How --cache-dtype holds keys and values; "model": as its heads name them, f16 where they do not. Throws Error on
  /// another device than the CPU.
  models::CacheTypes cache_types(const models::TransformerConfig& config) const;
  /// Why logits are not numbers though the weights, which load() looks at, are: what is likely, and what to type.
  std::string overflow(const models::TransformerConfig& config) const;
  /// The model on --device.
  std::unique_ptr<models::Transformer> load(const models::ModelFiles& files) const;
};

/// In force while a command runs its model: threads (0: all), how activations are rounded, and a stream of the device.
class ModelScope {
 public:
  /// Throws Error where the device cannot be used.
  ModelScope(int threads, const std::string& device, engine::Activations activations)
      : threads_(threads > 0 ? threads : engine::num_threads()),
        activations_(activations),
        stream_(engine::device_of(device)),
        on_stream_(stream_.handle()) {}
  explicit ModelScope(const ModelArguments& a)
      : ModelScope(a.thread_count, a.device, a.exact ? engine::Activations::exact : engine::Activations::int8) {}

 private:
  engine::ThreadScope threads_;
  engine::ActivationsScope activations_;
  engine::DeviceStream stream_;
  engine::StreamScope on_stream_;
};

/// MODEL, of which `path` is made.
void add_model_argument(Command command, std::string& path);
/// MODEL, --weights, --dtype, --device and --threads.
void add_model_options(Command command, ModelArguments& arguments);
/// --exact, of commands that may round.
void add_exact_option(Command command, ModelArguments& arguments);
/// --cache-dtype, of commands that keep keys and values; its default is what `arguments` has.
void add_cache_option(Command command, ModelArguments& arguments);
/// --threads, of which 0 is the default.
void add_threads_option(Command command, int& threads);

/// Calls f(), which runs the model of that path. What the engine says of rows that it cannot pack for the cache names
/// it.
template <class F>
void with_model(const std::string& path, const F& f) {
  try {
    f();
  } catch (const Error& error) {
    if (!std::string_view(error.what()).starts_with("pack rows: ")) throw;
    throw error.in(path);
  }
}

/// "4,8,16" as numbers. Throws Error naming `option` and what was `wanted`.
template <class T>
std::vector<T> numbers_of(std::string_view text, const std::string& option, const char* wanted) {
  std::vector<T> numbers;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, comma);
    const auto number = read_number<T>(item);
    require(number.has_value(), "{}: '{}' is not {}", option, excerpt(item, 40), wanted);
    numbers.push_back(*number);
    if (comma == text.size()) return numbers;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace headroom::experiments
