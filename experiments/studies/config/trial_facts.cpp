#include "experiments/studies/config/trial_facts.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "experiments/studies/config/tasks/kernel.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> number_of(const Json& table, const char* key) {
  const auto found = table.find(key);
  return found != table.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::string text_of(const Json& table, const char* key) {
  const auto found = table.find(key);
  return found != table.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// Every leaf; tables in a list are numbered.
void flatten(const Json& node, const std::string& path, TrialFacts& facts) {
  const bool is_list_of_tables = node.is_array() && !node.empty() && node[0].is_object();
  if ((node.is_object() || is_list_of_tables) && !node.empty()) {
    for (const auto& item : node.items())
      flatten(item.value(), path.empty() ? item.key() : path + "." + item.key(), facts);
    return;
  }
  facts.settings[path] = node.is_string() ? node.get<std::string>() : dump(node);
  if (node.is_number()) facts.numbers[path] = node.get<double>();
}

/// What the kernel of a sum of earlier tokens gives each lag; empty where the program knows no such kernel.
std::vector<double> decay_of(const Json& task) {
  const Json& given = task_part(task, "kernel");
  const tasks::KernelConfig kernel = kernel_of(given);
  const auto& kinds = tasks::kernel_kinds();
  const bool is_known = std::find(kinds.begin(), kinds.end(), kernel.kind) != kinds.end();
  if (!is_known || kernel.kind == "list" || given.contains("ranks")) return {};
  const auto last = static_cast<int64_t>(number_of(task, "length").value_or(1)) - 1;
  if (last < 1) return {};
  std::vector<double> decay = tasks::kernel_values(kernel, last);
  for (double& value : decay) value = std::abs(value);
  decay.resize(static_cast<size_t>(last));
  return decay;
}

void read_task(const Json& task, TrialFacts& facts) {
  facts.task = text_of(task, "kind");
  facts.kernel = text_of(task_part(task, "kernel"), "kind");
  try {
    if (!facts.task.empty()) facts.words = task_words(task);
    if (facts.task == "linear-functional") facts.decay = decay_of(task);
  } catch (const Error&) {  // values that this version does not take: the rest of the record says what it can
  }
  facts.source = text_of(task, "source");
  facts.tokenizer = text_of(task, "tokenizer");
  facts.loss = text_of(task, "loss");
  facts.studied_model = text_of(task, "model");
  facts.has_length = task.contains("length");
  facts.token_dim = number_of(task, "token_dim").value_or(0);
  facts.first_position = number_of(task, "first_position");
}

void read_training(const Json& task, Json model, const Json& train, TrialFacts& facts) {
  facts.is_trained = true;
  facts.width = number_of(model, "width");
  facts.layers = number_of(model, "layers");
  facts.feed_forward = number_of(model, "ffn_width");
  facts.heads = number_of(model, "heads").value_or(0);
  facts.qk_dim = number_of(model, "qk_dim").value_or(0);
  facts.v_dim = number_of(model, "v_dim").value_or(0);
  facts.positions = text_of(model, "positions");
  facts.norm = text_of(model, "norm");
  facts.has_scores = number_of(model, "logit_scale").value_or(1) > 1e-6;
  facts.steps = number_of(train, "steps");
  facts.batch = number_of(train, "batch");
  facts.rate = number_of(task_part(train, "optimizer"), "lr");
  facts.optimizer = text_of(task_part(train, "optimizer"), "kind");
  for (const char* key : {"heads", "kv_heads", "qk_dim", "v_dim"}) model.erase(key);
  facts.setting = dump({task, std::move(model), facts.batch.value_or(0), text_of(train, "start")});
}

}  // namespace

TrialFacts trial_facts(const std::string& config) {
  TrialFacts facts;
  const Json json = Json::parse(config, nullptr, false);
  if (!json.is_object()) return facts;
  flatten(json, "", facts);
  const Json &task = task_part(json, "task"), &train = task_part(json, "train");
  read_task(task, facts);
  facts.is_timed = train.contains("timed") && train["timed"] == true;
  if (json.contains("model") && json.contains("train")) read_training(task, task_part(json, "model"), train, facts);
  return facts;
}

}  // namespace headroom::experiments
