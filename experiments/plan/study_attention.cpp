#include <algorithm>

#include "engine/error.h"
#include "engine/rng.h"
#include "experiments/plan/study_run.h"
#include "experiments/run/trial.h"
#include "models/load_parameters.h"
#include "models/safetensors/safetensors.h"
#include "models/transformer.h"
#include "tasks/attention_lags.h"

namespace headroom::experiments {
namespace {

constexpr int64_t most_sequences = 256;

/// The weights that a trial kept, into a model of its config. Throws Error naming the file and what does not fit.
void load_weights(const models::Transformer& model, const std::filesystem::path& path) {
  const models::SafetensorsFile file(path);
  models::NamedTensors tensors;
  for (const std::string& name : file.names()) {
    tensors.emplace_back(name, file.tensor(name));
    const engine::Tensor& weights = tensors.back().second;
    require(weights.dtype() == engine::DType::f32, "{}: weights '{}' are {}, want f32", path.string(), name,
            weights.str());
  }
  try {
    models::load_parameters(model, tensors);
  } catch (const Error& error) {
    fail("{}: {}", path.string(), error.what());
  }
}

}  // namespace

std::vector<double> measure_attention(const TrialConfig& config, const std::filesystem::path& weights, int64_t terms,
                                      const tasks::DataRoots& roots) {
  require(terms >= 1, "--terms: wants >= 1, got {}", terms);
  require(config.model.causal, "{}: the model looks ahead: attention by lag wants a causal one", weights.string());
  const std::unique_ptr<tasks::Task> task = tasks::make_task(config.task, roots);
  engine::Rng rng(static_cast<uint64_t>(config.seed));
  const models::Transformer model(model_for(config, *task), rng);
  load_weights(model, weights);
  const int64_t wanted = std::min(config.train.eval_sequences, most_sequences);
  const tasks::Batch set = task->evaluation(tasks::Split::validation, wanted);
  const int64_t sequences = set.input.dim(0), last = std::min(terms, set.input.dim(1) / 2);
  require(sequences > 0 && last >= 1, "{}: its task's validation set is too short for a lag", weights.string());
  std::vector<double> heads(static_cast<size_t>(last), 0.0);
  for (int64_t begin = 0; begin < sequences; begin += config.train.batch) {
    const int64_t end = std::min(begin + config.train.batch, sequences);
    const tasks::Metrics part = tasks::attention_by_lag(model, set.slice(begin, end), last, model.config().layers);
    for (int64_t lag = 1; lag <= last; ++lag)
      heads[static_cast<size_t>(lag - 1)] += part.at(fmt::format("attention_at_lag_{}", lag)) *
                                             static_cast<double>(end - begin) / static_cast<double>(sequences);
  }
  return heads;
}

}  // namespace headroom::experiments
