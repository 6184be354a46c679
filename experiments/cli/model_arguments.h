#pragma once
#include <string>

#include "experiments/cli/arguments.h"
#include "models/pretrained/model_files.h"

namespace headroom::experiments {

/// What every command that runs a trained model takes.
struct ModelArguments {
  std::string path;
  std::string weights = "stored";
  std::string dtype = "f32";
  int thread_count = 0;

  models::LoadOptions options() const;
  /// Threads of parallel loops: as given, else all.
  int threads() const;
};

/// MODEL, --weights, --dtype and --threads.
void add_model_options(Command command, ModelArguments& arguments);

}  // namespace headroom::experiments
