#include "experiments/studies/run/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "engine/cuda/sdpa.h"
#include "engine/error.h"
#include "engine/excerpt.h"
#include "engine/isa.h"
#include "engine/ops/attention/attention_cuda.h"
#include "engine/transfer.h"
#include "experiments/output/number.h"
#include "experiments/output/units.h"
#include "experiments/studies/run/trial.h"
#include "models/positions.h"
#include "models/transformer.h"
#include "models/validate.h"
#include "tasks/data/locate.h"
#include "tasks/training/trainer.h"

namespace headroom::experiments {
namespace {

using tasks::Task;

/// Sets as a trial takes them, of one sequence each.
void check_sets(const Task& task) {
  for (const tasks::Split split : {tasks::Split::validation, tasks::Split::test}) task.evaluation(split, 1);
}

/// Runs the task's and the trainer's checks of the config without training: the model that a construction needs, and
/// patterns, which are compared with the model's own names.
void check_start(const TrialConfig& config, const Task& task) {
  const TrainConfig& wanted = config.train;
  require(!wanted.steps_to || task.meter()->result().count(wanted.steps_to->metric) > 0,
          "train.steps_to.metric: '{}' is no metric of a validation of this task",
          wanted.steps_to ? wanted.steps_to->metric : "");
  const bool is_drawn = wanted.start == Start::drawn;
  if (is_drawn && wanted.decay.empty() && wanted.no_decay.empty() && wanted.optimizer.adamw_matrices.empty()) return;
  engine::Rng rng(0);
  models::TransformerConfig model = model_for(config, task);
  const models::Transformer transformer(model, rng);
  if (!is_drawn)
    task.construct(transformer, wanted.start == Start::slopes ? tasks::Construct::slopes : tasks::Construct::weights);
  tasks::TrainerConfig train = config.train;
  train.device = engine::cpu;
  const tasks::Trainer trainer(transformer, task, train, rng);
}

/// Everything that decides a trial except its seed.
std::string record_of(const TrialConfig& config) {
  return config.task_record + config.model_record + config.train_record;
}

/// Number of bytes of data that a task generates before training.
struct DataBytes {
  double operator()(const tasks::NextTokenConfig& config) const { return of(config.corpus); }
  double operator()(const tasks::MaskedConfig& config) const { return of(config.corpus); }
  double operator()(const tasks::InductionHeadConfig& config) const {
    return sizeof(int64_t) * static_cast<double>(config.train_sequences) *
           static_cast<double>(config.length + config.repeats);
  }
  template <class Other>
  double operator()(const Other&) const {
    return 0;
  }
  static double of(const tasks::CorpusConfig& corpus) {
    return corpus.source == "markov" ? sizeof(int32_t) * static_cast<double>(corpus.markov.tokens) : 0;
  }
};

void check_trial(const TrialConfig& config, WorkPool& pool, const MemoryLimit& limit) {
  engine::check_device(config.train.device);
  check_precision(config.train);
  const double data = std::visit(DataBytes{}, config.task);
  require(data <= limit.bytes, "the task's data need {} of memory, and {} is {}", bytes_text(data), limit.source,
          bytes_text(limit.bytes));
  const tasks::Work work = pool.get(config);
  if (const Task* const task = task_of(work)) models::validate(model_for(config, *task));
  else std::get<std::shared_ptr<const tasks::Measurement>>(work)->check();
}

/// Calls f with one trial of each record. Throws ConfigError with each message of an Error once.
template <class F>
void for_each_record(const std::vector<const PlannedTrial*>& trials, const F& f) {
  constexpr size_t most_lines = 20;
  std::set<std::string> seen;
  std::map<std::string, int64_t> count;  // of records, by message
  std::vector<std::pair<std::string, std::string>> lines;
  for (const PlannedTrial* trial : trials) {
    if (!seen.insert(record_of(trial->config)).second) continue;
    try {
      f(trial->config);
    } catch (const Error& error) {
      if (++count[error.what()] == 1 && lines.size() < most_lines) lines.emplace_back(error.what(), trial->label);
    }
  }
  std::vector<std::string> problems;
  for (const auto& [message, label] : lines) {
    const int64_t more = count.at(message) - 1;
    problems.push_back(
        fmt::format("{} (trial \"{}\"{})", message, excerpt(label), more > 0 ? fmt::format(" and {} more", more) : ""));
  }
  if (!problems.empty()) throw ConfigError(std::move(problems));
}

/// True if a trial's need in that place fits into the given bytes.
struct Fits {
  engine::Device::Kind where;
  double bytes;
  bool operator()(const TrialConfig& config, const tasks::Work& work) const {
    return need_on(where, memory_need(config, work), config.train.device).total() <= bytes;
  }
};

/// The smallest number of parts of a batch that lets a trial fit; 0 if none does, or its parts are of another kind.
int64_t parts_that_fit(TrialConfig config, const tasks::Work& work, const Fits& fits) {
  if (config.train.parts > 1) return 0;
  for (const int64_t batch = config.train.batch; config.train.accumulate <= batch; config.train.accumulate *= 2)
    if (fits(config, work)) return config.train.accumulate;
  return 0;
}

/// Describes a variant of the trial that would fit.
std::string advice(const TrialConfig& config, const tasks::Work& work, const MemoryNeed& need, const Fits& fits) {
  if (need.state > fits.bytes) {
    const double parameters = static_cast<double>(models::parameter_count(model_for(config, *task_of(work))));
    return fmt::format("a model of at most {}parameters would fit, it has {}",
                       count_text(parameters * fits.bytes / need.state), count_text(parameters));
  }
  if (const int64_t parts = parts_that_fit(config, work, fits))
    return fmt::format("train.accumulate = {} would fit", parts);
  TrialConfig recomputing = config;
  recomputing.model.checkpoint_blocks = true;
  if (const int64_t parts = parts_that_fit(recomputing, work, fits))
    return fmt::format("model.checkpoint_blocks = true with train.accumulate = {} would fit", parts);
  if (need.sets > fits.bytes / 2) return "fewer train.eval_sequences would fit";
  return "shorter sequences or a narrower model would fit";
}

std::string parts_text(const MemoryNeed& need, engine::Device::Kind where) {
  std::string text = fmt::format("weights, gradients and moments {}, activations {}", bytes_text(need.state),
                                 bytes_text(need.activations));
  if (where == engine::Device::Kind::cpu) text += fmt::format(", validation and test set {}", bytes_text(need.sets));
  return text;
}

/// Bytes of workspace for attention's gradient on a GPU, for the heads that need most. In bf16, of cuDNN's newest
/// version; in f32, for heads whose probabilities are stored.
double attention_workspace(const models::TransformerConfig& model, int64_t batch, int64_t length, bool is_bf16) {
  constexpr int64_t newest = 999999;
  constexpr int capability = 90;
  const bool has_slopes = !models::scheme_of(model).has_plain_scores();
  int64_t most = 0;
  models::for_each_layer(model, [&](const models::LayerConfig& layer, int64_t number) {
    for (const models::HeadGroup& group : layer.groups) {
      if (!is_bf16) {
        const engine::AttentionProblem problem{.batch = batch,
                                               .queries = length,
                                               .keys = length,
                                               .heads = group.heads,
                                               .kv_heads = group.key_value_heads(),
                                               .qk_dim = group.key_dim(),
                                               .v_dim = group.v_dim,
                                               .causal = model.causal,
                                               .scale = 1,
                                               .dropout = model.dropout,
                                               .dropout_key = {},
                                               .key_mask = {},
                                               .window = models::window_of(model, number)};
        if (!has_slopes) most = std::max(most, engine::cuda::stored_share(problem).bytes);
        continue;
      }
      const engine::cuda::SdpaProblem problem{.batch = batch,
                                              .queries = length,
                                              .keys = length,
                                              .heads = group.heads,
                                              .kv_heads = group.key_value_heads(),
                                              .qk_dim = group.key_dim(),
                                              .v_dim = group.v_dim,
                                              .causal = model.causal,
                                              .has_slopes = has_slopes,
                                              .has_dropout = model.dropout > 0};
      if (!engine::cuda::sdpa_rule_against(problem, engine::cuda::SdpaPass::backward, newest, capability).empty())
        continue;
      most = std::max(most, engine::cuda::sdpa_workspace(batch, group.heads, length, length));
    }
  });
  return static_cast<double>(most);
}

}  // namespace

tasks::ModelCosts costs_of_batch(const TrialConfig& config, const Task& task, int64_t sequences) {
  const bool has_copies = tasks::has_bf16_weights(config.train.precision, config.train.device);
  const tasks::NumberWidths narrow{.weight = 2, .activation = 2};
  return tasks::model_costs(model_for(config, task), sequences, task.model_interface().length,
                            has_copies ? narrow : tasks::widths_of(4));
}

MemoryNeed memory_need(const TrialConfig& config, const tasks::Work& work) {
  MemoryNeed need;
  const Task* const task = task_of(work);
  if (!task) return need;
  const TrainConfig& train = config.train;
  const models::TransformerConfig model = model_for(config, *task);
  const tasks::ModelInterface io = task->model_interface();
  const int64_t parts = std::max(train.accumulate, train.parts), part = (train.batch + parts - 1) / parts;
  const bool has_copies = tasks::has_bf16_weights(train.precision, train.device);
  const tasks::ModelCosts costs = costs_of_batch(config, *task, part);
  const double weights = 4 * static_cast<double>(costs.parameters);  // bytes, of masters where there are copies
  const bool has_moments = train.optimizer.kind != "sgd";
  const double moments = has_moments ? 2 : train.optimizer.momentum > 0 ? 1 : 0;
  const double waiting = std::log2(static_cast<double>(train.parts));  // gradients, in the tree
  need.state =
      weights * (1 + 1 + waiting + moments + (train.keep_weights ? 1 : 0)) + (has_copies ? costs.weight_bytes : 0);
  need.activations = model.checkpoint_blocks ? costs.recompute_bytes : costs.activation_bytes;
  if (!train.device.is_cpu()) need.activations += attention_workspace(model, part, io.length, has_copies);
  if (io.input_dim > 0)  // sequences of tokens are as many as the text has
    need.sets = 2 * 4 * static_cast<double>(train.eval_sequences) * static_cast<double>(io.length * io.input_dim);
  return need;
}

MemoryNeed need_on(engine::Device::Kind where, const MemoryNeed& need, engine::Device device) {
  const bool is_here = where == engine::Device::Kind::cpu;
  if (device.is_cpu()) return is_here ? need : MemoryNeed{};
  return is_here ? MemoryNeed{.sets = need.sets} : MemoryNeed{.state = need.state, .activations = need.activations};
}

namespace {

using Hashes = std::map<std::string, std::string>;

/// Compares only the last part of a path: data folders may move.
void compare_hashes(const Hashes& trained_on, const Hashes& present) {
  const auto name = [](const std::string& path) { return std::filesystem::path(path).filename(); };
  for (const auto& [path, hash] : trained_on) {
    std::string other;
    bool is_there = false;
    for (const auto& [now, now_hash] : present) {
      if (name(now) != name(path)) continue;
      is_there = is_there || now_hash == hash;
      other = now_hash;
    }
    require(
        is_there || other.empty(),
        "{}: has SHA-256 {}, but finished trials of this study were trained on {}; --out names a folder for the new "
        "data",
        path, other, hash);
  }
}

/// Empty if the data cannot be read: a finished study no longer needs them.
Hashes present_hashes(const TrialConfig& config, WorkPool& pool) {
  try {
    return tasks::data_hashes(pool.get(config));
  } catch (const Error&) {
    return {};
  }
}

/// The number of trials that fit at once in one memory, the host's or a device's: see check_before_training().
int jobs_that_fit(const std::vector<const PlannedTrial*>& trials, WorkPool& pool, int wanted, bool is_asked_for,
                  engine::Device::Kind where, const MemoryLimit& limit) {
  std::map<std::string, MemoryNeed> known;
  std::vector<double> needs;
  for (const PlannedTrial* trial : trials) {
    const TrialConfig& config = trial->config;
    const auto [at, is_new] = known.try_emplace(record_of(config) + config.train.device.str());
    if (is_new) at->second = need_on(where, memory_need(config, pool.get(config)), config.train.device);
    const MemoryNeed& need = at->second;
    needs.push_back(need.total());
    if (need.total() > limit.bytes)
      fail("trial \"{}\" needs at least {} of memory ({}), and {} is {}: {}", excerpt(trial->label),
           bytes_text(need.total()), parts_text(need, where), limit.source, bytes_text(limit.bytes),
           advice(config, pool.get(config), need, {where, limit.bytes}));
  }
  const auto largest_at_once = [&](int jobs) {
    double largest = 0, sum = 0;
    for (size_t i = 0; i < needs.size(); ++i) {
      sum += needs[i];
      if (i >= static_cast<size_t>(jobs)) sum -= needs[i - static_cast<size_t>(jobs)];
      largest = std::max(largest, sum);
    }
    return largest;
  };
  int jobs = wanted;
  while (jobs > 1 && largest_at_once(jobs) > limit.bytes) --jobs;
  if (jobs < wanted && is_asked_for)
    fail("--jobs {}: so many trials at once need at least {} of memory, and {} is {}: --jobs {} would fit", wanted,
         bytes_text(largest_at_once(wanted)), limit.source, bytes_text(limit.bytes), jobs);
  return jobs;
}

}  // namespace

LeftOut without_model(const std::vector<const PlannedTrial*>& trials, WorkPool& pool) {
  LeftOut out;
  std::map<std::string, std::string> known;  // record → message
  std::map<std::string, int64_t> count;      // number of trials, by message
  for (const PlannedTrial* trial : trials) {
    const auto [at, is_new] = known.try_emplace(record_of(trial->config));
    if (is_new) {
      try {
        const tasks::Work work = pool.get(trial->config);
        if (!task_of(work)) std::get<std::shared_ptr<const tasks::Measurement>>(work)->check();
      } catch (const tasks::MissingModel& error) {
        at->second = error.what();
      } catch (const Error&) {  // check_before_training() reports it
      }
    }
    if (at->second.empty()) continue;
    out.trials.insert(trial->id);
    ++count[at->second];
  }
  if (out.trials.size() == trials.size()) return {};
  for (const auto& [message, trials_of] : count)
    out.notes.push_back(fmt::format("headroom: {} left out: {}", counted(trials_of, "trial"), message));
  return out;
}

int check_before_training(const std::vector<const PlannedTrial*>& trials, WorkPool& pool, int wanted, bool is_asked_for,
                          const MemoryLimit& limit) {
  if (trials.empty()) return wanted;
  engine::active_isa();
  for_each_record(trials, [&](const TrialConfig& config) { check_trial(config, pool, limit); });
  int jobs = jobs_that_fit(trials, pool, wanted, is_asked_for, engine::Device::Kind::cpu, limit);
  const auto on_device = std::find_if(trials.begin(), trials.end(),
                                      [](const PlannedTrial* trial) { return !trial->config.train.device.is_cpu(); });
  if (on_device != trials.end()) {
    const engine::Device device = (*on_device)->config.train.device;
    jobs = jobs_that_fit(trials, pool, jobs, is_asked_for, device.kind, device_memory_limit(device));
  }
  for_each_record(trials, [&](const TrialConfig& config) {
    const tasks::Work work = pool.get(config);
    const Task* const task = task_of(work);
    if (!task) return;
    check_sets(*task);
    check_start(config, *task);
  });
  return jobs;
}

void check_same_data(const Study& study, const std::unordered_map<std::string, RunStore::Known>& all, WorkPool& pool) {
  std::set<std::pair<std::string, Hashes>> seen;
  for (const PlannedTrial& trial : study.trials) {
    const auto found = all.find(trial.id);
    if (found == all.end()) continue;
    const RunStore::Known& known = found->second;
    if (!known.is_finished || known.data.empty()) continue;
    if (seen.emplace(trial.config.task_record, known.data).second)
      compare_hashes(known.data, present_hashes(trial.config, pool));
  }
}

}  // namespace headroom::experiments
