#include <algorithm>

#include "engine/error.h"
#include "experiments/studies/run/trial.h"
#include "experiments/tools/plan/study_run.h"
#include "models/transformer.h"
#include "models/weights/sources.h"
#include "tasks/attention_lags.h"

namespace headroom::experiments {
namespace {

constexpr int64_t most_sequences = 256;

/// A model with the weights that a trial kept. Throws Error naming the file and what does not fit.
models::Transformer load_model(const models::TransformerConfig& config, const std::filesystem::path& path) {
  const auto file = std::make_shared<const models::SafetensorsFile>(path);
  for (const std::string& name : file->names())
    require(file->entry(name).dtype == engine::DType::f32, "{}: weights '{}' are {}, expected f32", path.string(), name,
            engine::name_of(file->entry(name).dtype));
  models::SafetensorsWeights weights(file, {.is_trained = models::none_trained});
  return {config, weights};
}

}  // namespace

std::vector<double> measure_attention(const TrialConfig& config, const std::filesystem::path& weights, int64_t terms,
                                      const tasks::DataRoots& roots) {
  require(terms >= 1, "--terms: expected >= 1, got {}", terms);
  require(config.model.causal, "{}: the model looks ahead: attention by lag needs a causal one", weights.string());
  const std::shared_ptr<const tasks::Task> task = tasks::make_task(config.task, roots);
  const models::Transformer model = load_model(model_for(config, *task), weights);
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
