#include <regex>

#include "experiments/studies/config/bind.h"
#include "experiments/studies/config/tasks/registry.h"
#include "experiments/studies/toml/reader.h"
#include "models/validate.h"

namespace headroom::experiments {
namespace {

/// Where the deepest key of a path stands that the file has: of "model.groups[0].qk_dim" maybe model.groups.
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

/// The file's key for a field of a config.
std::string key_of(const Value& model, std::string field) {
  static const std::regex only_group(R"(groups\[0\]\.)"), layers(R"(unequal_layers\[)");
  if (!model.find("groups") && !model.find("layer")) field = std::regex_replace(field, only_group, "");
  return "model." + std::regex_replace(field, layers, "layer[");
}

}  // namespace

void check_model(const Value& root, const models::TransformerConfig& model, Complaints& problems) {
  try {
    models::validate(model);
  } catch (const models::InvalidConfig& error) {
    const std::string key = key_of(root.find("model")->value, error.field);
    problems.add(place_of(root, key), key, error.problem);
  } catch (const Error& error) {
    problems.add(root.find("model")->place, "model", error.what());
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
  models::TransformerConfig model = config.model;  // with placeholders for fields that the task decides
  (model.tied ? model.vocab : model.input_dim) = 1;
  model.output_dim = 1;
  check_model(root, model, problems);
  return config;
}

}  // namespace headroom::experiments
