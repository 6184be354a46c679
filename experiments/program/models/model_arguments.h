#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/context.h"
#include "engine/device_stream.h"
#include "engine/transfer.h"
#include "experiments/program/command_line/arguments.h"
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

  models::LoadOptions options() const;
  /// The model on --device.
  std::unique_ptr<models::Transformer> load(const models::ModelFiles& files) const;
  /// Threads of parallel loops: as given, else all.
  int threads() const;
};

/// In force while a command runs its model: threads, 8-bit activations unless they are to be exact, and a stream of the
/// device.
class ModelScope {
 public:
  explicit ModelScope(const ModelArguments& arguments)
      : threads_(arguments.threads()),
        activations_(arguments.exact ? engine::Activations::exact : engine::Activations::int8),
        stream_(engine::device_of(arguments.device)),
        on_stream_(stream_.handle()) {}

 private:
  engine::ThreadScope threads_;
  engine::ActivationsScope activations_;
  engine::DeviceStream stream_;
  engine::StreamScope on_stream_;
};

/// MODEL, --weights, --dtype, --device and --threads.
void add_model_options(Command command, ModelArguments& arguments);
/// --exact, of commands that may round.
void add_exact_option(Command command, ModelArguments& arguments);

}  // namespace headroom::experiments
