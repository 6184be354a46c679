#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/context.h"
#include "experiments/cli/arguments.h"
#include "models/pretrained/model_files.h"

namespace headroom::experiments {

/// What every command that runs a trained model takes.
struct ModelArguments {
  std::string path;
  std::string weights = "stored";
  std::string dtype = "f32";
  int thread_count = 0;
  bool exact = false;

  models::LoadOptions options() const;
  /// Threads of parallel loops: as given, else all.
  int threads() const;
};

/// In force while a command runs its model: threads, and 8-bit activations unless they are to be exact.
class ModelScope {
 public:
  explicit ModelScope(const ModelArguments& arguments)
      : threads_(arguments.threads()),
        activations_(arguments.exact ? engine::Activations::exact : engine::Activations::int8) {}

 private:
  engine::ThreadScope threads_;
  engine::ActivationsScope activations_;
};

/// MODEL, --weights, --dtype, --threads and --exact.
void add_model_options(Command command, ModelArguments& arguments);

}  // namespace headroom::experiments
