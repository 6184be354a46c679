#include "experiments/config/bind.h"
#include "experiments/config/tasks/registry.h"
#include "experiments/toml/reader.h"
#include "models/validate.h"

namespace headroom::experiments {

void bind_trial(Reader& in, TrialConfig& config) {
  const bool has_task = in.optional_table("task", "what is learnt, and from which data", [&](Reader& task) {
    config.task = bind_task(task);
    config.task_record = task.record();
  });
  if (!has_task) in.complain("task", "missing table");
  const bool trains = tasks::trains(config.task);
  for (const char* key : {"model", "train"}) {
    if (trains && !in.has(key)) in.complain(key, "missing table");
    if (!trains && in.has(key)) in.complain(key, "the task is a formula: there is nothing to train");
  }
  in.when(trains, "", [&] {
    in.optional_table("model", "the Transformer", [&](Reader& model) {
      config.model = bind_model(model);
      config.model_record = model.record();
    });
    in.optional_table("train", "how it is trained", [&](Reader& train) {
      config.train = bind_train(train);
      config.train_record = train.record();
    });
  });
}

TrialConfig bind_trial(const Value& root, int64_t seed, Problems& problems, Numbers* numbers) {
  TrialConfig config;
  config.seed = seed;
  Reader in(root, "", problems);
  bind_trial(in, config);
  *numbers = in.numbers();
  if (!problems.empty() || !tasks::trains(config.task)) return config;
  models::TransformerConfig model = config.model;  // with stand-ins for what the task decides
  (model.tied ? model.vocab : model.input_dim) = 1;
  model.output_dim = 1;
  in.attempt("model", [&] { models::validate(model); });
  return config;
}

}  // namespace headroom::experiments
