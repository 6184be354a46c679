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

/// The arguments of every command that runs a trained model.
struct ModelArguments {
  std::string path;
  std::string adapter;  ///< "" = none
  std::string weights = "stored";
  std::string dtype = "f32";
  std::string device = "cpu";
  int thread_count = 0;
  bool exact = false;
  std::string cache_dtype = "f32";  ///< for commands with add_cache_option(); "" chooses by the others

  /// --cache-dtype. If that is "" and the model runs in f32, not exactly: "model" if its heads name their cache's
  /// types, else f16.
  std::string cache_name(const models::TransformerConfig& config) const;
  /// The types of keys and values under --cache-dtype; "model": as the heads name them, else f16. Throws Error if
  /// the model runs in f64, or if a format's blocks do not fill some head's rows.
  models::CacheTypes cache_types(const models::TransformerConfig& config) const;
  /// Explains non-finite logits of finite weights, which load() checks: the likely cause and what to type.
  std::string overflow(const models::TransformerConfig& config) const;
  /// The model on --device, with --adapter.
  std::unique_ptr<models::Transformer> load(const models::ModelFiles& files) const;
};

/// While a command runs its model, sets threads (0: all), rounding of activations, and a stream of the device.
class ModelScope {
 public:
  /// Throws Error if the device cannot be used.
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

/// Adds MODEL, read into `path`.
void add_model_argument(Command command, std::string& path);
/// Adds MODEL, --adapter, --weights, --dtype, --device and --threads.
void add_model_options(Command command, ModelArguments& arguments);
/// Adds --adapter, read into `path`.
void add_adapter_option(Command command, std::string& path);
/// Adds --exact, for commands that may round.
void add_exact_option(Command command, ModelArguments& arguments);
/// Adds --cache-dtype, for commands that cache keys and values; its default is the value in `arguments`.
void add_cache_option(Command command, ModelArguments& arguments);
/// Adds --text, read into `text` and returned, and --max-tokens.
Option add_text_options(Command command, std::string& text, int64_t& max_tokens);
/// Adds --calibrate, which `help` describes, and --calibrate-tokens.
void add_calibration_options(Command command, std::string& text, std::string& tokens, const std::string& help);
/// Adds --out, the model to be written.
void add_written_model_option(Command command, std::string& path);
/// Adds --threads, default 0.
void add_threads_option(Command command, int& threads);

/// Parses "4,8,16" as numbers. Throws Error naming `option` and what was `wanted`.
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
