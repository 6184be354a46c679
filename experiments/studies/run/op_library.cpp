#include "experiments/studies/run/op_library.h"

#include <fmt/format.h>

#include <mutex>
#include <set>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/studies/toml/complaints.h"
#include "models/op_library/op_library.h"
#include "tasks/data/sha256.h"

namespace headroom::experiments {
namespace {

std::string library_hash(const std::string& file) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(file);
  return found != known.end() ? found->second : known.emplace(file, tasks::sha256_of_file(file)).first->second;
}

}  // namespace

void check_op_library(const TrialConfig& config) {
  const models::TransformerConfig& model = config.model;
  if (model.activation != models::Activation::library) return;
  require(config.train.device.is_cpu(),
          "model.activation: \"{}\" is an op of {}, and ops of libraries run on the CPU only, not on {}",
          excerpt(model.library_op), model.op_library, config.train.device.str());
  const std::vector<std::string> ops = models::library_ops(model.op_library);
  library_hash(model.op_library);  // of what was just loaded
  std::set<std::string> words(ops.begin(), ops.end());
  if (words.contains(model.library_op)) return;
  for (const auto activation : {models::Activation::relu, models::Activation::gelu, models::Activation::gelu_tanh,
                                models::Activation::silu, models::Activation::swiglu})
    words.insert(models::name_of(activation));
  const std::string near = nearest_path(model.library_op, words);
  fail(
      "model.activation: \"{}\" is neither built in (relu, gelu, gelu_tanh, silu, swiglu) nor an op of {} (which has "
      "{}){}",
      excerpt(model.library_op), model.op_library, fmt::join(ops, ", "),
      near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
}

std::map<std::string, std::string> data_hashes(const TrialConfig& config, std::map<std::string, std::string> of_task) {
  if (config.model.activation == models::Activation::library)
    of_task[config.model.op_library] = library_hash(config.model.op_library);
  return of_task;
}

}  // namespace headroom::experiments
