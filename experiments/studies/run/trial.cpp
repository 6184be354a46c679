#include "experiments/studies/run/trial.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <optional>

#include "engine/context.h"
#include "engine/cpu/kernel_level.h"
#include "engine/device_stream.h"
#include "engine/error.h"
#include "engine/isa.h"
#include "engine/transfer.h"
#include "experiments/studies/run/phase_timer.h"
#include "experiments/studies/run/work_pool.h"
#include "experiments/version.h"
#include "models/weights/sources.h"
#include "tasks/theory/model_costs.h"
#include "tasks/training/evaluation.h"
#include "tasks/training/trainer.h"

namespace headroom::experiments {
namespace {

constexpr const char* best_prefix = "best.";
constexpr int64_t losses_of_a_history = 100;

/// One line: the CLI and the store show it in a row.
std::string joined_lines(std::string text) {
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n')) text.replace(at, 1, ",");
  return text;
}

/// What a checkpoint belongs to: the trial's id and the hashes of its data.
std::string identity_of(const TrialConfig& config, const tasks::Task& task) {
  std::string identity = trial_id(config);
  for (const auto& [path, hash] : task.data_hashes()) identity += " " + hash;
  return identity;
}

/// A model on the trial's device, with weights from the stream "init" or from a checkpoint.
models::Transformer model_of(const TrialConfig& config, const tasks::Task& task, engine::Rng& rng,
                             const tasks::Checkpoint* checkpoint) {
  const engine::DeviceScope scope(config.train.device);
  if (!checkpoint) return {model_for(config, task), rng};
  models::NamedWeights weights(checkpoint->weights());
  return {model_for(config, task), weights};
}

/// A new model with what training starts from.
const models::Transformer& started(const models::Transformer& model, const TrialConfig& config,
                                   const tasks::Task& task) {
  if (config.train.start != Start::drawn)
    task.construct(model, config.train.start == Start::slopes ? tasks::Construct::slopes : tasks::Construct::weights);
  return model;
}

/// On a device, which runs ahead of the host, the host looks only now and then.
tasks::TrainerConfig trainer_config(const TrainConfig& train, tasks::Ranks* ranks,
                                    const std::function<void(const std::string&)>& note) {
  constexpr int64_t steps_ahead = 16;
  tasks::TrainerConfig config = train;
  if (!train.device.is_cpu()) config.read_every = steps_ahead;
  config.bf16_weights = tasks::has_bf16_weights(train.precision, train.device);
  config.ranks = ranks;
  config.note = note;
  return config;
}

/// A model and what trains it, from the start or from a checkpoint.
struct Training {
  engine::Rng rng;
  const models::Transformer model;
  tasks::Trainer trainer;

  using Note = std::function<void(const std::string&)>;
  Training(const TrialConfig& config, const tasks::Task& task, tasks::Ranks* ranks, const Note& note,
           const tasks::Checkpoint* checkpoint = nullptr)
      : rng(static_cast<uint64_t>(config.seed)),
        model(model_of(config, task, rng, checkpoint)),
        trainer(checkpoint ? model : started(model, config, task), task, trainer_config(config.train, ranks, note),
                rng) {
    if (checkpoint) trainer.restore(*checkpoint);
  }
};

double flops_of_training(const TrialConfig& config, const tasks::Task& task) {
  return 3 * static_cast<double>(config.train.steps) *
         models::forward_flops(model_for(config, task), config.train.batch, task.model_interface().length);
}

/// What f() returns, or a failed trial where it throws.
template <class F>
TrialRecord outcome_of(const F& f, bool has_ranks = false) {
  TrialRecord failed;
  try {
    return f();
  } catch (const Error& error) {
    if (has_ranks || engine::device_is_lost()) throw;  // no trial of this process will get any further
    failed.message = "failed: " + joined_lines(error.what());
  } catch (const std::bad_alloc&) {
    if (has_ranks) throw;
    failed.message = "failed: not enough memory";
  }
  failed.status = TrialStatus::failed;
  return failed;
}

class Trial {
 public:
  Trial(const TrialConfig& config, const tasks::Task& task, const StepHook& on_step, const TrialFiles& files)
      : config_(config),
        train_(config.train),
        task_(task),
        on_step_(on_step),
        files_(files),
        precision_(train_.precision),
        stream_(train_.device),
        on_stream_(stream_.handle()),
        validation_(task.evaluation(tasks::Split::validation, train_.eval_sequences)),
        test_(task.evaluation(tasks::Split::test, train_.eval_sequences)) {
    if (train_.timed)
      on_phase_ = [this](tasks::Phase phase) {
        engine::synchronize(train_.device);
        timer_.end(phase);
      };
    if (train_.tf32) tf32_.emplace();
    start_over();
    if (!is_led()) resume(files_.checkpoint);
    if (files_.ranks) begin_together();
    if (!training_) training_ = std::make_unique<Training>(config, task, files.ranks, note());
  }

  TrialRecord run() {
    bool has_ended = (is_unjudged() && !judge()) || at_.record.steps >= train_.steps || is_stale(at_.stale);
    show_curve();
    while (!has_ended) {
      if (!goes_on()) {
        at_.record.status = TrialStatus::stopped;
        break;
      }
      const size_t points = at_.record.history.size();
      has_ended = !advance();
      if (at_.record.history.size() > points) show_curve();
    }
    return finish();
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Seconds of this process.
  double clock() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  /// Whether another rank says where to begin and when to stop.
  bool is_led() const { return files_.ranks && !files_.ranks->is_first(); }

  /// Saves where that is due. False when the trial stops before its next step.
  bool goes_on() {
    bool is_to = true;
    if (!is_led()) {
      const bool is_stopped = on_step_ && !on_step_(at_.record.steps, at_.last_loss);
      const bool is_due = is_stopped || clock() - saved_at_ >= train_.save_every;
      is_to = !(is_due && !save()) && !is_stopped;
    }
    return files_.ranks ? tasks::decided_by_first(*files_.ranks, is_to, tasks::patience_of_a_step) : is_to;
  }

  /// The ranks agree on what they train, and begin where the first one's checkpoint is.
  void begin_together() {
    tasks::Ranks& ranks = *files_.ranks;
    tasks::check_same(ranks, fmt::format("{}, {}, trial and data {}", version_text(), tasks::kernels_of(train_.device),
                                         identity_of(config_, task_)));
    const tasks::FileOfFirst file(ranks, training_ ? files_.checkpoint : std::filesystem::path());
    if (is_led()) resume(file.path());
  }

  void start_over() {
    at_ = {};
    best_.clear();
  }

  void warn(const std::string& line) const {
    if (files_.warn) files_.warn(joined_lines(line));
  }

  void show_curve() const {
    if (files_.on_curve) files_.on_curve(at_.record.history);
  }

  Training::Note note() const {
    return [this](const std::string& line) { warn(line); };
  }

  void resume(const std::filesystem::path& path) {
    if (train_.timed || path.empty() || !std::filesystem::exists(path)) return;
    try {
      const tasks::Checkpoint checkpoint = tasks::load_checkpoint(path, identity_of(config_, task_));
      training_ = std::make_unique<Training>(config_, task_, files_.ranks, note(), &checkpoint);
      at_ = progress_from_json(checkpoint.more);
      require(at_.record.steps <= train_.steps, "{}: has {} steps of {}", path.string(), at_.record.steps,
              train_.steps);
      const std::string& level = checkpoint.level;
      require(!level.empty() && engine::may_be_alike(level, engine::kernel_level()),
              "{}: was begun with kernels {}, whose bits differ from those of {}", path.string(),
              level.empty() ? "unknown" : level, engine::kernel_level());
      for (const auto& [name, tensor] : checkpoint.tensors)
        if (name.rfind(best_prefix, 0) == 0) best_.emplace_back(name.substr(std::string(best_prefix).size()), tensor);
      const bool lacks_weights = train_.keep_weights && best_.empty() && !at_.record.validation.empty();
      require(!lacks_weights, "{}: was begun without train.keep_weights", path.string());
    } catch (const Error& error) {
      if (is_led() || engine::device_is_lost()) throw;
      warn(fmt::format("{}; the trial starts over", error.what()));
      training_.reset();  // what was restored is gone
      start_over();
    }
    seconds_before_ = at_.record.seconds;
  }

  /// False when the trial is another process's now.
  bool save() {
    saved_at_ = clock();
    if (train_.timed || files_.checkpoint.empty()) return true;  // a trial is timed in one go
    at_.record.seconds = seconds_before_ + clock();
    tasks::Checkpoint checkpoint = training_->trainer.checkpoint();
    checkpoint.more = to_json(at_);
    checkpoint.level = engine::kernel_level();  // of the data, too, where the training is on a GPU
    for (const auto& [name, tensor] : best_) checkpoint.tensors.emplace_back(best_prefix + name, tensor);
    const auto write = [&](const std::filesystem::path& path) {
      tasks::save_checkpoint(path, identity_of(config_, task_), checkpoint);
    };
    try {
      if (files_.keep) return files_.keep(write);
      write(files_.checkpoint);
    } catch (const Error& error) {
      warn(fmt::format("no checkpoint: {}; the training goes on", error.what()));
    }
    return true;
  }

  /// One update, and what is due after it. False when that was the last.
  bool advance() {
    if (at_.record.steps == warm_up_steps) {
      if (train_.timed) measured_peak();  // and again at the end: it keeps the better one
      timer_.reset();
    }
    tasks::Trainer& trainer = training_->trainer;
    trainer.step(on_phase_);
    const int64_t step = at_.record.steps + 1;
    const bool is_last = step == train_.steps;
    const int64_t log_every = train_.log_every > 0 ? train_.log_every : (train_.steps - 1) / losses_of_a_history + 1;
    const bool is_logged = is_last || step % log_every == 0;
    const bool is_due = is_judged_at(step);
    if ((is_logged || is_due) && trainer.state().step != step) trainer.read_state();
    const engine::StepState& update = trainer.state();
    if (update.step == step && !check(update)) return false;
    at_.record.steps = step;
    if (is_logged) at_.record.history.push_back({step, "train", "loss", update.loss});
    if (is_due && !judge()) return false;
    return !is_last && !is_stale(at_.stale);
  }

  /// Notes how the latest step went. False, and the trial has failed, when it changed nothing; also when an earlier one
  /// did that was not looked at.
  bool check(const engine::StepState& update) {
    if (std::isfinite(update.loss)) {
      at_.last_loss = update.loss;
      at_.gradient_norm = update.gradient_norm;
    }
    if (const char* const problem = tasks::problem_of(update)) return fail_with(problem);
    return update.updates == update.step || fail_with("loss or gradient was not finite");
  }

  bool is_stale(int64_t stale) const { return train_.patience > 0 && stale >= train_.patience; }

  bool is_judged_at(int64_t step) const {
    return step == train_.steps || (train_.eval_every > 0 && step > 0 && step % train_.eval_every == 0);
  }

  /// Whether a process was stopped while it measured the present weights.
  bool is_unjudged() const {
    const std::vector<HistoryPoint>& history = at_.record.history;
    return is_judged_at(at_.record.steps) && std::none_of(history.begin(), history.end(), [&](const HistoryPoint& p) {
             return p.step == at_.record.steps && p.split == "validation";
           });
  }

  bool fail_with(const char* what) {
    at_.record.status = TrialStatus::failed;
    at_.record.message = fmt::format("failed at step {}: {} (last finite loss {:.4g}, gradient norm {:.3g})",
                                     at_.record.steps, what, at_.last_loss, at_.gradient_norm);
    return false;
  }

  /// Empty when the trial is to stop meanwhile.
  tasks::Evaluation evaluated(const tasks::Batch& set) const {
    return evaluate(training_->model, task_, set, train_.batch, files_.ranks ? nullptr : files_.goes_on);
  }

  /// Ends the trial's process here.
  bool stop() {
    save();
    at_.record.status = TrialStatus::stopped;
    return false;
  }

  /// Measures the present weights. False when their error is not finite, and when the trial is to stop meanwhile: then
  /// nothing is changed, so that they can be measured again.
  bool judge() {
    const tasks::Metrics validation = evaluated(validation_).metrics;
    if (validation.empty()) return stop();
    const double value = validation.at(task_.criterion());
    const double error = tasks::larger_is_better(task_.criterion()) ? 1 - value : value;
    const bool is_best = error < at_.best;
    const int64_t stale = is_best ? 0 : at_.stale + 1;
    const bool ends_here = at_.record.steps == train_.steps || is_stale(stale);
    const bool is_tested = std::isfinite(error) && (train_.judged == Judged::best ? is_best : ends_here);
    tasks::Evaluation test;
    if (is_tested) test = evaluated(test_);
    if (is_tested && test.metrics.empty()) return stop();
    for (const auto& [metric, number] : validation)
      at_.record.history.push_back({at_.record.steps, "validation", metric, number});
    if (!std::isfinite(error)) return fail_with("validation error is not finite");
    training_->trainer.observe(error);
    at_.best = std::min(at_.best, error);
    at_.stale = stale;
    if (!is_tested) return true;
    at_.record.validation = validation;
    at_.record.test = std::move(test.metrics);
    at_.record.test_parts = std::move(test.parts);
    at_.record.test.merge(task_.probes(training_->model, test_.slice(0, std::min(test_.input.dim(0), train_.batch))));
    at_.record.predictions = std::move(test.predictions);
    if (!train_.keep_weights) return true;
    best_.clear();
    for (const auto& [name, weight] : training_->trainer.weights())
      best_.emplace_back(name, weight.clone().to(engine::cpu));
    return true;
  }

  /// The first validated step at which the metric was as good as the value; one more than were done where none was.
  double steps_to(const StepsTo& wanted) const {
    const bool larger = tasks::larger_is_better(wanted.metric);
    for (const HistoryPoint& point : at_.record.history) {
      if (point.split != "validation" || point.metric != wanted.metric) continue;
      if (larger ? point.value >= wanted.value : point.value <= wanted.value) return static_cast<double>(point.step);
    }
    return static_cast<double>(at_.record.steps + 1);
  }

  void add_times() {
    const models::TransformerConfig& model = training_->model.config();
    const int64_t length = task_.model_interface().length;
    tasks::Metrics times = timer_.metrics(models::forward_flops(model, train_.batch, length), measured_peak());
    models::TransformerConfig deeper = model;
    ++deeper.layers;
    const models::LayerConfig first = models::first_layer(model);
    if (!deeper.unequal_layers.empty()) deeper.unequal_layers.push_back(first);
    times["layer_gflop"] = (models::forward_flops(deeper, 1, length) - models::forward_flops(model, 1, length)) * 1e-9;
    double formula = 0;  // the feed-forward network once, each group's heads on top
    for (const models::HeadGroup& group : first.groups)
      formula += tasks::layer_flops(length, model.width, group.heads, group.qk_dim, group.v_dim,
                                    &group == first.groups.data() ? first.ffn_width : 0);
    times["formula_gflop"] = formula * 1e-9;
    at_.record.validation.insert(times.begin(), times.end());
    at_.record.test.insert(times.begin(), times.end());
  }

  TrialRecord finish() {
    TrialRecord& record = at_.record;
    record.seconds = seconds_before_ + clock();
    if (record.status == TrialStatus::failed) {
      record.validation.clear();
      record.test.clear();
      record.test_parts.clear();
      record.predictions.clear();
      best_.clear();
    } else if (record.status == TrialStatus::finished) {
      if (train_.timed) add_times();
      if (train_.steps_to) record.validation["steps_to"] = record.test["steps_to"] = steps_to(*train_.steps_to);
    }
    record.parameters = training_->model.parameter_count();
    record.flops =
        flops_of_training(config_, task_) / static_cast<double>(train_.steps) * static_cast<double>(record.steps);
    if (files_.weights) *files_.weights = std::move(best_);
    return std::move(record);
  }

  const Clock::time_point begin_ = Clock::now();
  const TrialConfig& config_;
  const TrainConfig& train_;
  const tasks::Task& task_;
  const StepHook& on_step_;
  const TrialFiles& files_;
  const engine::PrecisionScope precision_;
  const engine::DeviceStream stream_;
  const engine::StreamScope on_stream_;
  std::optional<engine::Tf32Scope> tf32_;
  std::unique_ptr<Training> training_;
  const tasks::Batch validation_, test_;
  TrialProgress at_;
  models::NamedTensors best_;  ///< the judged weights so far, where they are to be kept
  PhaseTimer timer_;
  std::function<void(tasks::Phase)> on_phase_;  ///< none unless the trial is timed
  double seconds_before_ = 0, saved_at_ = 0;
};

}  // namespace

void check_precision(const TrainConfig& train) {
  require(train.precision == engine::Precision::f32 || train.allow_emulation ||
              tasks::has_bf16_weights(train.precision, train.device),
          "train.precision: bf16 would be emulated on this CPU ({}, without AVX512-BF16): f32 kernels on operands "
          "rounded to bf16, slower than f32; train.allow_emulation = true does that",
          engine::name_of(engine::active_isa()));
}

models::TransformerConfig model_for(const TrialConfig& config, const tasks::Task& task) {
  const tasks::ModelInterface wanted = task.model_interface();
  require(!wanted.predicts || config.model.causal,
          "model.causal: is false, but the task's targets are the next tokens, which such a model would read; "
          "expected model.causal = true");
  models::TransformerConfig model = config.model;
  model.max_length = wanted.length;
  model.vocab = wanted.vocab;
  model.input_dim = wanted.input_dim;
  model.output_dim = wanted.output_dim;
  if (wanted.pooled) model.pooling = models::Pooling::mean;
  return model;
}

double training_flops(const TrialConfig& config, const tasks::Work& work) {
  const tasks::Task* const task = task_of(work);
  return task ? flops_of_training(config, *task) : 0;
}

TrialRecord run_trial(const TrialConfig& config, const tasks::Task& task, const StepHook& on_step,
                      const TrialFiles& files) {
  return outcome_of(
      [&] {
        check_precision(config.train);
        return Trial(config, task, on_step, files).run();
      },
      files.ranks != nullptr);
}

TrialRecord run_trial(const TrialConfig& config, const tasks::Work& work, const StepHook& on_step,
                      const TrialFiles& files) {
  if (const tasks::Task* const task = task_of(work)) return run_trial(config, *task, on_step, files);
  return outcome_of([&] {
    const auto begin = std::chrono::steady_clock::now();
    const auto& measurement = *std::get<std::shared_ptr<const tasks::Measurement>>(work);
    TrialRecord record;
    const engine::DeviceStream stream(config.train.device);
    const engine::StreamScope on_stream(stream.handle());
    const engine::StopScope stops(files.stop);
    std::optional<tasks::Metrics> metrics;
    try {
      metrics = measurement.run(static_cast<uint64_t>(config.seed), {.folder = files.stages,
                                                                     .on_step = on_step,
                                                                     .device = config.train.device,
                                                                     .note = files.warn,
                                                                     .validation = &record.validation,
                                                                     .parts = &record.test_parts});
    } catch (const engine::Stopped&) {
    }
    if (metrics) record.test = *metrics;
    else record.status = TrialStatus::stopped;
    if (record.validation.empty()) record.validation = record.test;
    record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return record;
  });
}

}  // namespace headroom::experiments
