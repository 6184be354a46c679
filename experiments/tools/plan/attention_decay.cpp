// The decay as trained models show it: their attention by lag, recorded by a run's trials or measured now.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/studies/run/trial.h"
#include "experiments/tools/plan/decay.h"
#include "experiments/tools/plan/study_run.h"
#include "models/transformer.h"
#include "models/weights/sources.h"
#include "tasks/attention_lags.h"

namespace headroom::experiments {
namespace {

constexpr int64_t most_sequences = 256, most_windows = 16;

std::string metric_at(int64_t lag) { return fmt::format("attention_at_lag_{}", lag); }

/// Adds the attention of all layers to lags 1, 2, … of `heads`, for a batch that is `part` of `whole` sequences.
void add_attention(const models::Transformer& model, const tasks::Batch& batch, int64_t part, int64_t whole,
                   std::vector<double>& heads) {
  const tasks::Metrics measured = tasks::attention_by_lag(model, batch, std::ssize(heads), model.config().layers);
  for (int64_t lag = 1; lag <= std::ssize(heads); ++lag)
    heads[static_cast<size_t>(lag - 1)] +=
        measured.at(metric_at(lag)) * static_cast<double>(part) / static_cast<double>(whole);
}

/// In units of the largest; `subject` is for the error where there is none.
Decay attention_decay(std::vector<double> heads, const std::string& subject) {
  const double largest = *std::max_element(heads.begin(), heads.end());
  require(largest > 0, "{}: the model attends to no lag", subject);
  for (double& norm : heads) norm /= largest;
  Decay decay;
  decay.norms = std::move(heads);
  decay.is_estimated = true;
  return decay;
}

/// A model with the weights that a trial kept. Throws Error naming the file and what does not fit.
models::Transformer load_model(const models::TransformerConfig& config, const std::filesystem::path& path) {
  const auto file = std::make_shared<const models::SafetensorsFile>(path);
  for (const std::string& name : file->names())
    require(file->entry(name).dtype == engine::DType::f32, "{}: weights '{}' are {}, expected f32", path.string(), name,
            engine::name_of(file->entry(name).dtype));
  models::SafetensorsWeights weights(file, {.is_trained = models::none_trained});
  return {config, weights};
}

/// The attention that a trial recorded; empty where it recorded none.
std::vector<double> recorded_attention(const TrialRecord& trial) {
  std::vector<double> heads;
  for (int64_t lag = 1;; ++lag) {
    const auto found = trial.test.find(metric_at(lag));
    if (found == trial.test.end()) return heads;
    heads.push_back(found->second);
  }
}

/// The trial with the smallest validation error of those that `is_wanted`; null for none.
const StudyRun::Trial* best_of(const StudyRun& run, const std::function<bool(const StudyRun::Trial&)>& is_wanted) {
  const StudyRun::Trial* best = nullptr;
  for (const StudyRun::Trial& trial : run.trials())
    if (is_wanted(trial) && (!best || validation_error(trial.record) < validation_error(best->record))) best = &trial;
  return best;
}

const tasks::LinearFunctionalConfig* functional_of(const StudyRun::Trial& trial) {
  return trial.config ? std::get_if<tasks::LinearFunctionalConfig>(&trial.config->task) : nullptr;
}

/// Windows of equal length from all over a text, each begun as the model's texts are: i64 (N, T).
tasks::Tensor windows_of(const std::vector<int32_t>& tokens, int64_t length, const models::ModelDescription& model) {
  const std::optional<int64_t> begin = model.text_begin();
  const int64_t taken = begin ? length - 1 : length;
  const int64_t count = std::min<int64_t>(most_windows, std::ssize(tokens) / taken);
  require(count > 0, "--text: {} tokens, expected {} for a window: fewer --terms, or a longer text", tokens.size(),
          taken);
  const int64_t stride = (std::ssize(tokens) - taken) / std::max<int64_t>(1, count - 1);
  std::vector<int64_t> ids;
  for (int64_t window = 0; window < count; ++window) {
    if (begin) ids.push_back(*begin);
    const auto from = tokens.begin() + (count == 1 ? 0 : window * stride);
    ids.insert(ids.end(), from, from + taken);
  }
  return tasks::Tensor::from({count, length}, ids);  // (N, T)
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
    add_attention(model, set.slice(begin, end), end - begin, sequences, heads);
  }
  return heads;
}

Decay decay_of_study(const StudyRun& run, int64_t terms, const tasks::DataRoots& roots) {
  const auto of_model = [&](const StudyRun::Trial& trial, std::vector<double> heads, const char* how) {
    Decay decay = attention_decay(std::move(heads), "--from-study: " + run.name());
    decay.series = trial.record.series;
    if (const auto* task = functional_of(trial)) decay.token_dim = task->token_dim;
    decay.source = fmt::format("{}: {} of trial {} ({}), validation error {}", run.name(), how,
                               trial.record.id.substr(0, 8), trial.label, rounded(validation_error(trial.record)));
    return decay;
  };
  const StudyRun::Trial* best =
      best_of(run, [](const auto& trial) { return !recorded_attention(trial.record).empty(); });
  if (best) return of_model(*best, recorded_attention(best->record), "attention by lag");
  best = best_of(run, [&](const auto& trial) {
    return trial.config && trial.config->model.causal && !run.weights_of(trial).empty();
  });
  if (best) {
    std::vector<double> heads;
    try {
      heads = measure_attention(*best->config, run.weights_of(*best), terms, roots);
    } catch (const Error& error) {
      fail("--from-study: {}", error.what());
    }
    return of_model(*best, std::move(heads), "attention by lag, measured over all layers,");
  }
  best = best_of(run, [](const auto& trial) { return functional_of(trial) != nullptr; });
  require(best != nullptr,
          "--from-study: {}: no finished trial recorded its attention by lag (causal models of an n-gram do), kept the "
          "weights of a causal model (--set train.keep_weights=true), or learnt a linear functional",
          run.name());
  const tasks::LinearFunctionalConfig& task = *functional_of(*best);
  Decay decay;
  decay.norms = tasks::kernel_values(task.kernel, task.length - 1);
  for (double& norm : decay.norms) norm = std::abs(norm);
  decay.token_dim = task.token_dim;
  decay.series = best->record.series;
  decay.source = fmt::format("{}: the target of {}, {}", run.name(), decay.series.empty() ? "the study" : decay.series,
                             tasks::describe(task.kernel));
  check_norms(decay.norms);
  return decay;
}

Decay decay_of_model(const models::ModelFiles& files, const models::Transformer& model,
                     const std::vector<int32_t>& tokens, const std::string& cut, int64_t terms) {
  const models::TransformerConfig& config = model.config();
  const int64_t longest = config.window > 0 ? std::min(config.window, config.max_length) : config.max_length;
  const int64_t length = std::min(longest, std::max<int64_t>(64, 2 * terms)), last = std::min(terms, length / 2);
  require(last >= 1, "--terms: {} lags in a context of {}", terms, longest);
  const tasks::Tensor windows = windows_of(tokens, length, files.description());  // (N, T)
  std::vector<double> heads(static_cast<size_t>(last), 0.0);
  for (int64_t i = 0; i < windows.dim(0); ++i)
    add_attention(model, {.input = windows.slice(0, i, i + 1), .target = {}}, 1, 1, heads);
  Decay decay = attention_decay(std::move(heads), "--from-attention: " + files.path().string());
  decay.source = fmt::format("{}: attention by lag over {} layers, {} windows of {} tokens; {}", files.path().string(),
                             config.layers, windows.dim(0), length, cut);
  check_norms(decay.norms);
  return decay;
}

}  // namespace headroom::experiments
