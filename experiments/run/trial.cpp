#include "experiments/run/trial.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <new>
#include <optional>

#include "autograd/optim/arena.h"
#include "engine/error.h"
#include "engine/rng.h"
#include "models/transformer.h"

namespace headroom::experiments {
namespace {

using autograd::Var;

autograd::ParameterArena arena_of(const models::Transformer& model) {
  std::vector<autograd::ArenaEntry> entries;
  for (const models::Parameter& parameter : model.parameters())
    entries.push_back({parameter.name, parameter.var, parameter.decays});
  return autograd::ParameterArena(std::move(entries));
}

/// One line: the CLI and the store show it in a row.
std::string one_line(std::string text) {
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n')) text.replace(at, 1, ",");
  return text;
}

class Trial {
 public:
  Trial(const TrialConfig& config, const tasks::Task& task)
      : config_(config),
        train_(config.train),
        rng_(static_cast<uint64_t>(config.seed)),
        task_(task),
        model_(model_for(config, task), rng_),
        arena_(arena_of(model_)),
        optimizer_(autograd::make_optimizer(train_.optimizer, arena_)),
        schedule_(autograd::make_schedule(train_.schedule)) {
    validation_ = task_.evaluation(tasks::Split::validation, train_.eval_sequences);
    test_ = task_.evaluation(tasks::Split::test, train_.eval_sequences);
  }

  TrialOutcome run(const StepHook& on_step) {
    TrialOutcome outcome;
    outcome.parameters = model_.parameter_count();
    outcome.flops = training_flops(config_, task_);
    for (int64_t step = 0; step < train_.steps; ++step) {
      if (!advance(step, on_step, outcome)) return outcome;
      const bool is_last = step + 1 == train_.steps;
      if (is_last || (train_.eval_every > 0 && (step + 1) % train_.eval_every == 0)) judge(step, is_last, outcome);
      if (outcome.status == TrialStatus::failed) return outcome;
    }
    return outcome;
  }

 private:
  /// One update. False ends the trial.
  bool advance(int64_t step, const StepHook& on_step, TrialOutcome& outcome) {
    const tasks::Batch batch = task_.train_batch(step, train_.batch, rng_);
    arena_.zero_grad();
    const Var output = model_.forward(
        batch.input, {.training = true, .rng = &rng_, .key_mask = batch.key_mask});  // (B, T, output_dim)
    const Var loss = task_.loss(output, batch);
    const double value = loss.value().item();
    if (!std::isfinite(value)) return fail_at(step, "loss is not finite", outcome);
    last_finite_ = value;
    if (on_step && !on_step(step, value)) {
      outcome.stopped = true;
      return false;
    }
    loss.backward();
    gradient_norm_ = train_.clip > 0 ? arena_.clip_gradient_norm(train_.clip) : arena_.gradient_norm();
    if (!std::isfinite(gradient_norm_)) return fail_at(step, "gradient is not finite", outcome);
    optimizer_->step(train_.optimizer.lr * schedule_->factor(step));
    return true;
  }

  bool fail_at(int64_t step, const char* what, TrialOutcome& outcome) const {
    outcome.status = TrialStatus::failed;
    outcome.message = fmt::format("failed at step {}: {} (last finite loss {:.4g}, gradient norm {:.3g})", step, what,
                                  last_finite_, gradient_norm_);
    return false;
  }

  /// Metrics of a fixed set, in batches of the training's size so that no more memory is needed.
  tasks::Metrics measure(const tasks::Batch& set) const {
    const autograd::NoGrad no_grad;
    const std::unique_ptr<tasks::Meter> meter = task_.meter();
    const int64_t count = set.input.dim(0);
    for (int64_t begin = 0; begin < count; begin += train_.batch) {
      const int64_t end = std::min(count, begin + train_.batch);
      const tasks::Batch part = set.slice(begin, end);  // (≤ B, T, ·)
      meter->add(model_.forward(part.input, {.key_mask = part.key_mask}).value(), part);
    }
    return meter->result();
  }

  void judge(int64_t step, bool is_last, TrialOutcome& outcome) {
    const tasks::Metrics validation = measure(validation_);
    const double value = validation.at(task_.criterion());
    if (!std::isfinite(value)) {
      fail_at(step, "validation error is not finite", outcome);
      return;
    }
    schedule_->observe(value);
    const bool is_best = value < best_;
    best_ = std::min(best_, value);
    if (train_.judged == Judged::best ? !is_best : !is_last) return;
    outcome.validation = validation;
    outcome.test = measure(test_);
  }

  const TrialConfig& config_;
  const TrainConfig& train_;
  engine::Rng rng_;
  const tasks::Task& task_;
  models::Transformer model_;
  autograd::ParameterArena arena_;
  std::unique_ptr<autograd::Optimizer> optimizer_;
  std::unique_ptr<autograd::Schedule> schedule_;
  tasks::Batch validation_, test_;
  double last_finite_ = std::numeric_limits<double>::quiet_NaN();
  double gradient_norm_ = std::numeric_limits<double>::quiet_NaN();
  double best_ = std::numeric_limits<double>::infinity();
};

}  // namespace

models::TransformerConfig model_for(const TrialConfig& config, const tasks::Task& task) {
  const tasks::ModelInterface wanted = task.model_interface();
  models::TransformerConfig model = config.model;
  model.max_length = wanted.length;
  model.vocab = wanted.vocab;
  model.input_dim = wanted.input_dim;
  model.output_dim = wanted.output_dim;
  if (wanted.pooled) model.pooling = models::Pooling::mean;
  return model;
}

double training_flops(const TrialConfig& config, const tasks::Task& task) {
  if (task.closed_form()) return 0;
  return 3 * static_cast<double>(config.train.steps) *
         models::forward_flops(model_for(config, task), config.train.batch, task.model_interface().length);
}

TrialOutcome run_trial(const TrialConfig& config, const tasks::Task& task, const StepHook& on_step) {
  const auto begin = std::chrono::steady_clock::now();
  TrialOutcome outcome;
  try {
    if (const std::optional<tasks::Metrics> metrics = task.closed_form()) outcome.validation = outcome.test = *metrics;
    else outcome = Trial(config, task).run(on_step);
  } catch (const Error& error) {
    outcome.status = TrialStatus::failed;
    outcome.message = "failed: " + one_line(error.what());
  } catch (const std::bad_alloc&) {
    outcome.status = TrialStatus::failed;
    outcome.message = "failed: not enough memory";
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

}  // namespace headroom::experiments
