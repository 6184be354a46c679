#include "experiments/config/bind.h"
#include "experiments/config/reader.h"
#include "experiments/config/tasks/registry.h"

namespace headroom::experiments {

void bind_trial(Reader& in, TrialConfig& config) {
  in.table("task", "what is learnt, and from which data", [&](Reader& task) {
    config.task = bind_task(task);
    config.task_record = task.record();
  });
  in.table("model", "the Transformer", [&](Reader& model) {
    config.model = bind_model(model);
    config.model_record = model.record();
  });
  in.table("train", "how it is trained", [&](Reader& train) {
    config.train = bind_train(train);
    config.train_record = train.record();
  });
}

TrialConfig bind_trial(const Value& root, int64_t seed, Problems& problems) {
  TrialConfig config;
  config.seed = seed;
  Reader in(root, "", problems);
  bool has_all = true;
  for (const char* key : {"task", "model", "train"}) {
    if (in.has(key)) continue;
    in.complain(key, "missing table");
    has_all = false;
  }
  if (!has_all) return config;
  bind_trial(in, config);
  if (!problems.empty()) return config;
  models::TransformerConfig model = config.model;  // with stand-ins for what the task decides
  (model.tied ? model.vocab : model.input_dim) = 1;
  model.output_dim = 1;
  try {
    models::validate(model);
  } catch (const Error& error) {
    in.complain("model", error.what());
  }
  return config;
}

}  // namespace headroom::experiments
