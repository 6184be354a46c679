#pragma once
#include <cstdint>
#include <string>
#include <vector>

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

/// The ids of a text file, which is taken as it is. No token is added. Throws Error naming the file when it cannot be
/// read, is empty or is not UTF-8.
std::vector<int32_t> tokens_of_file(const std::string& path, const models::Tokenizer& tokenizer);

/// MODEL, --weights, --dtype and --threads.
void add_model_options(Command command, ModelArguments& arguments);

}  // namespace headroom::experiments
