#include "experiments/studies/config/bind.h"
#include "experiments/studies/config/tasks/registry.h"
#include "experiments/studies/toml/reader.h"
#include "models/validate.h"

namespace headroom::experiments {
namespace {

void replace(std::string& text, const std::string& old, const std::string& with) {
  for (size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + with.size()))
    text.replace(at, old.size(), with);
}

/// Where the deepest key of a path stands that the file has: of "model.groups[0].q_rank" maybe model.groups.
Place place_of(const Value& root, const std::string& path) {
  Place place = root.place;
  const Value* at = &root;
  for (const std::string& part : split_path(path)) {
    const Entry* entry = at->find(part.substr(0, part.find('[')));
    if (!entry) break;
    place = entry->place;
    at = &entry->value;
  }
  return place;
}

/// What models::validate() says, "model.groups[0].q_rank is 9; …", in the words of the file.
void complain_of_model(const Value& root, std::string message, Complaints& problems) {
  const Entry* model = root.find("model");
  if (!model->value.find("groups") && !model->value.find("layer")) replace(message, "groups[0].", "");
  replace(message, "unequal_layers[", "layer[");
  const size_t end = message.starts_with("model.") ? message.find(' ') : std::string::npos;
  if (end == std::string::npos) return problems.add(model->place, "model", message);
  const std::string path = message.substr(0, end);
  problems.add(place_of(root, path), path, message.substr(end + 1));
}

}  // namespace

void check_model(const Value& root, const models::TransformerConfig& model, Complaints& problems) {
  try {
    models::validate(model);
  } catch (const Error& error) {
    complain_of_model(root, error.what(), problems);
  }
}

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

TrialConfig bind_trial(const Value& root, int64_t seed, Complaints& problems, Numbers* numbers) {
  TrialConfig config;
  config.seed = seed;
  Reader in(root, "", problems);
  bind_trial(in, config);
  *numbers = in.numbers();
  if (!problems.empty() || !tasks::trains(config.task)) return config;
  models::TransformerConfig model = config.model;  // with stand-ins for what the task decides
  (model.tied ? model.vocab : model.input_dim) = 1;
  model.output_dim = 1;
  check_model(root, model, problems);
  return config;
}

}  // namespace headroom::experiments
