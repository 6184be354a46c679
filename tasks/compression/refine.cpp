#include "tasks/compression/refine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/error.h"
#include "engine/name_table.h"
#include "tasks/data/sha256.h"
#include "tasks/distillation/distillation.h"
#include "tasks/finetune/text_windows.h"
#include "tasks/training/trainer.h"

namespace headroom::tasks {
namespace {

using models::HeadGroup;
using models::LayerConfig;

constexpr NameTable<RefineTarget, 3> target_table{
    {{RefineTarget::attention, "attention"}, {RefineTarget::hidden, "hidden"}, {RefineTarget::logits, "logits"}}};

/// Which maps of a group of heads are of another shape than the base's.
struct ChangedMaps {
  bool scores = false, values = false;
};

ChangedMaps changed_maps(const HeadGroup& group, const HeadGroup& base) {
  return {.scores = group.q_head_rank != base.q_head_rank || group.k_head_rank != base.k_head_rank ||
                    group.score_dim != base.score_dim || group.qk_dim != base.qk_dim,
          .values = group.v_dim != base.v_dim};
}

/// Names of the edit's weights that its smaller maps consist of, and the layers that they are in.
struct Trained {
  std::set<std::string> names;
  std::vector<int64_t> layers;
  bool has_fewer_heads = false;  ///< some layer, which leaves some attention without its like
};

Trained trained_part(const models::TransformerConfig& base, const models::ModelEdit& edit) {
  Trained trained;
  const std::vector<LayerConfig> before = models::layers_of(base), after = models::layers_of(edit.config);
  require(before.size() == after.size(), "refine: the base has {} layers, the edit {}", before.size(), after.size());
  for (size_t layer = 0; layer < after.size(); ++layer) {
    const HeadGroup& original = before[layer].groups.at(0);
    const std::string attention = fmt::format("blocks.{}.attention.", layer);
    const bool has_fewer = after[layer].heads() < original.heads;
    trained.has_fewer_heads |= has_fewer;
    std::vector<std::string> maps;
    for (size_t group = 0; group < after[layer].groups.size(); ++group) {
      ChangedMaps changed = changed_maps(after[layer].groups[group], original);
      if (has_fewer) changed = {.scores = true, .values = true};
      const std::string path = fmt::format("{}{}.", attention, group);
      if (changed.scores)
        for (const char* map : {"q_proj.weight", "k_proj.weight", "q_score", "k_score"}) maps.push_back(path + map);
      if (changed.values) maps.push_back(path + "v_proj.weight"), maps.push_back(attention + "o_proj.weight");
    }
    if (maps.empty()) continue;
    trained.layers.push_back(static_cast<int64_t>(layer));
    for (const auto& [name, tensor] : edit.weights)
      for (const std::string& map : maps)
        if (name == map || name == map + "_a" || name == map + "_b") trained.names.insert(name);
  }
  return trained;
}

DistillationConfig objective_of(RefineTarget target, const std::vector<int64_t>& layers) {
  switch (target) {
    case RefineTarget::attention:
      return {.weights = {.attention = 1}, .attention_layers = layers};
    case RefineTarget::hidden:
      return {.weights = {.hidden = 1}, .hidden = HiddenStates::all};
    case RefineTarget::logits:
      break;
  }
  return {.weights = {.kl = 1}};
}

TrainerConfig training_of(const RefineConfig& config) {
  TrainerConfig training;
  training.optimizer = {.kind = "adam", .lr = config.lr};
  training.schedule = {{.kind = "warmup", .warmup = config.warmup},
                       {.kind = "cosine",
                        .steps = std::max<int64_t>(1, config.steps - config.warmup),
                        .start = config.warmup,
                        .final_factor = 0.1}};
  training.clip = config.clip;
  training.batch = config.batch;
  return training;
}

/// The edit with the trained values of its weights.
models::ModelEdit with_values(const models::ModelEdit& edit, const models::Transformer& model) {
  models::ModelEdit out = edit;
  std::map<std::string, Tensor> values;
  for (const models::Parameter& parameter : model.parameters()) values[parameter.name] = parameter.var.value();
  for (auto& [name, tensor] : out.weights)
    if (const auto found = values.find(name); found != values.end()) tensor = found->second.to(engine::cpu).clone();
  return out;
}

/// What a checkpoint belongs to: settings, the text, and the weights that the training began with.
std::string owner_of(const models::ModelEdit& edit, const std::vector<int32_t>& tokens, const RefineConfig& config) {
  Sha256 hash;
  hash.add(tokens.data(), tokens.size() * sizeof(int32_t));
  for (const auto& [name, tensor] : edit.weights) {
    hash.add(name + "\n" + tensor.str());
    hash.add(tensor.contiguous().raw(), static_cast<size_t>(tensor.numel() * engine::size_of(tensor.dtype())));
  }
  return fmt::format("refinement by {}, {} steps of {} x {}{}, lr {}, warm-up {}, clip {}, seed {}, of {}",
                     name_of(config.target), config.steps, config.batch, config.context,
                     config.bos ? fmt::format(" behind token {}", *config.bos) : "", config.lr, config.warmup,
                     config.clip, config.seed, hash.hex());
}

/// The mean loss over the first and the last few steps of a training.
class LossLog {
 public:
  explicit LossLog(int64_t steps) : few_(std::min<int64_t>(10, steps)), steps_(steps) {}
  void add(int64_t step, double loss) {
    if (step < few_) first_ += loss / static_cast<double>(few_);
    if (step >= steps_ - few_) last_ += loss / static_cast<double>(few_);
  }
  double first() const { return first_; }
  double last() const { return last_; }
  std::string json() const { return nlohmann::json{{"first_loss", first_}, {"last_loss", last_}}.dump(); }
  void read(const std::string& text) {
    const nlohmann::json state = nlohmann::json::parse(text);
    first_ = state.at("first_loss").get<double>(), last_ = state.at("last_loss").get<double>();
  }

 private:
  int64_t few_, steps_;
  double first_ = 0, last_ = 0;
};

}  // namespace

const char* name_of(RefineTarget target) { return name_in(target_table, target); }
std::vector<std::string> refine_target_names() { return names_in(target_table); }
RefineTarget refine_target_named(const std::string& name) { return named_in(target_table, name, "refine", "target"); }

void validate(const RefineConfig& config) {
  const auto at_least = [](const char* field, int64_t value, int64_t least) {
    require(value >= least, "refine: {}: expected at least {}, got {}", field, least, value);
  };
  at_least("steps", config.steps, 1);
  at_least("batch", config.batch, 1);
  at_least("context", config.context, 2);
  at_least("warmup", config.warmup, 1);
  at_least("save_every", config.save_every, 1);
  require(std::isfinite(config.lr) && config.lr > 0, "refine: lr: expected a number above 0, got {}", config.lr);
  require(std::isfinite(config.clip) && config.clip > 0, "refine: clip: expected a number above 0, got {}",
          config.clip);
}

Refined refine(const models::Transformer& base, const models::ModelEdit& edit, const std::vector<int32_t>& tokens,
               const RefineConfig& config, const std::function<void(int64_t step, double loss)>& progress) {
  validate(config);
  const Trained trained = trained_part(base.config(), edit);
  require(!trained.names.empty(), "refine: no head of the compressed model has another shape than the original's");
  require(config.target != RefineTarget::attention || !trained.has_fewer_heads,
          "refine: by attention each head learns from its own, and some are gone: by hidden or logits");
  models::ModelEdit start = edit;
  start.config.checkpoint_blocks = config.recompute;
  const auto model =
      models::load(base, start, {.is_trained = [&](const std::string& name) { return trained.names.contains(name); }});
  const TextWindows windows(tokens, config.context, config.bos);
  const Distillation objective(base, windows, objective_of(config.target, trained.layers));
  TrainerConfig training = training_of(config);
  training.device = base.device();
  training.note = config.note;
  Trainer trainer(*model, objective, training, engine::Rng(config.seed));
  LossLog log(config.steps);
  const std::string owner = owner_of(edit, tokens, config);
  std::error_code unreadable;
  if (!config.checkpoint.empty() && std::filesystem::exists(config.checkpoint, unreadable)) {
    const Checkpoint saved = trainer.read(config.checkpoint, owner);
    trainer.restore(saved);
    log.read(saved.more);
  }
  while (trainer.steps_done() < config.steps) {
    const int64_t step = trainer.steps_done();
    const engine::StepState& state = trainer.step();
    if (const char* problem = problem_of(state)) fail("refine: step {}: {}", step, problem);
    log.add(step, state.loss);
    if (progress) progress(step + 1, state.loss);
    if (config.checkpoint.empty() || (step + 1) % config.save_every != 0) continue;
    Checkpoint checkpoint = trainer.checkpoint();
    checkpoint.more = log.json();
    save_checkpoint(config.checkpoint, owner, checkpoint);
  }
  Refined out{.edit = with_values(edit, *model), .first_loss = log.first(), .last_loss = log.last()};
  for (const models::Parameter& parameter : model->parameters()) out.trained += parameter.var.value().numel();
  return out;
}

}  // namespace headroom::tasks
