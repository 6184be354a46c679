#include "experiments/studies/run/dry_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/allocator.h"
#include "engine/context.h"
#include "engine/error.h"
#include "engine/parallel.h"
#include "experiments/output/units.h"
#include "experiments/studies/run/foreseen.h"
#include "experiments/studies/run/jobs.h"
#include "experiments/studies/run/preflight.h"
#include "experiments/studies/run/progress.h"
#include "experiments/studies/run/rounds.h"
#include "experiments/studies/run/side_by_side.h"
#include "experiments/studies/run/trial.h"
#include "experiments/studies/run/work_pool.h"
#include "models/transformer.h"

namespace headroom::experiments {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int64_t most_timed_steps = 200;

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

/// Multiply-adds of products, and about forty operations per attention weight: exponentials and memory traffic, which
/// FLOPs leave out but which dominate narrow heads.
double work_of_step(const models::TransformerConfig& model, int64_t batch, int64_t length) {
  double heads = 0;
  models::for_each_layer(model, [&](const models::LayerConfig& layer, int64_t times) {
    heads += static_cast<double>(times * layer.heads());
  });
  const double weights = static_cast<double>(batch * length * length) * heads;
  return 3 * models::forward_flops(model, batch, length) + 40 * weights;
}

/// The record of [train] without its learning rate, which does not affect cost.
std::string without_rate(std::string record) {
  const size_t begin = record.find("\"lr\":");
  if (begin == std::string::npos) return record;
  return record.erase(begin, record.find_first_of(",}", begin) - begin);
}

/// The key of a trial's cost: everything except its seed, its learning rate and its data's content.
std::string cost_key(const TrialConfig& config, const tasks::Task* task) {
  const tasks::ModelInterface io = task ? task->model_interface() : tasks::ModelInterface{};
  return fmt::format("{}|{}|{}|{}|{}|{}|{}", config.model_record, without_rate(config.train_record), io.length,
                     io.vocab, io.input_dim, io.output_dim, config.task.index());
}

/// Groups trials by their cost; result.trials of them are of the first round.
void group_trials(const std::vector<const PlannedTrial*>& trials, WorkPool& pool, DryRun& result) {
  std::map<std::string, size_t> known;
  for (const PlannedTrial* trial : trials) {
    const tasks::Work work = pool.get(trial->config);
    const tasks::Task* const task = task_of(work);
    const auto [at, is_new] = known.emplace(cost_key(trial->config, task), result.groups.size());
    if (is_new) {
      CostGroup& group = result.groups.emplace_back(CostGroup{.sample = trial});
      if (task) {
        const models::TransformerConfig model = model_for(trial->config, *task);
        group.parameters = models::parameter_count(model);
        group.flops = training_flops(trial->config, work);
        group.work = work_of_step(model, trial->config.train.batch, task->model_interface().length);
      }
    }
    ++result.groups[at->second].most;
    if (std::ssize(result.group_of) < result.trials) ++result.groups[at->second].trials;
    result.group_of.push_back(at->second);
  }
}

/// Chooses the groups to time: all, or a spread from the least to the most work.
std::vector<size_t> choose_samples(const std::vector<CostGroup>& groups, size_t most_groups) {
  std::vector<size_t> order(groups.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return groups[a].work < groups[b].work; });
  if (order.size() <= most_groups) return order;
  std::vector<size_t> chosen;
  for (size_t i = 0; i < most_groups; ++i) chosen.push_back(order[i * (order.size() - 1) / (most_groups - 1)]);
  return chosen;
}

bool is_stopped(const RunOptions& options) { return options.stop && *options.stop; }

/// Trains some steps of one trial. A step is timed from one call of the hook to the next; the time after the last call
/// is one more step and the two fixed sets. Means nothing once the run is stopped.
TrialTimes time_trial(TrialConfig config, const tasks::Work& work, const RunOptions& options,
                      const DryRunEffort& effort) {
  const int64_t steps = std::min(config.train.steps, most_timed_steps);
  config.train.steps = steps;
  config.train.eval_every = 0;
  std::vector<double> calls;
  const SteadyClock::time_point begin = SteadyClock::now();
  // Enough steps are found on the way: a trial that was stopped has no evaluation, so the last run is a second one.
  const TrialRecord first = run_trial(config, work,
                                      [&](int64_t, double) {
                                        calls.push_back(seconds_since(begin));
                                        const bool is_enough =
                                            static_cast<int64_t>(calls.size()) > effort.fewest_steps &&
                                            calls.back() - calls[1] > effort.seconds;
                                        return !is_enough && !is_stopped(options);
                                      },
                                      {.stop = options.stop});
  // A diverging trial has timed its steps up to there, and may diverge in the study, too.
  require(first.status != TrialStatus::failed || calls.size() > 1, "{}", first.message);
  TrialTimes timing;
  timing.setup = calls.empty() ? 0 : calls[0];
  if (first.status == TrialStatus::failed && calls.size() == 2) timing.step = calls[1] - calls[0];
  else if (calls.size() > 2) timing.step = (calls.back() - calls[1]) / static_cast<double>(calls.size() - 2);
  else timing.step = seconds_since(begin) - timing.setup;
  if (const auto* const measurement = std::get_if<std::shared_ptr<const tasks::Measurement>>(&work)) {
    // All of it was timed, or the steps of one that trains: the first stage stands for all.
    if (!calls.empty()) timing.step = timing.setup + static_cast<double>((*measurement)->steps()) * timing.step;
    return timing;
  }
  if (calls.empty() || is_stopped(options)) return timing;
  config.train.steps = 1;
  double last = 0;
  const SteadyClock::time_point again = SteadyClock::now();
  run_trial(config, work, [&](int64_t, double) {
    last = seconds_since(again);
    return !is_stopped(options);
  });
  timing.measure = std::max(0.0, (seconds_since(again) - last - timing.step) / 2);
  return timing;
}

/// The mean of `jobs` copies running side by side, as a study's trials do.
TrialTimes time_side_by_side(const TrialConfig& config, const tasks::Work& work, int jobs, int threads_each,
                             const RunOptions& options, const DryRunEffort& effort) {
  std::mutex mutex;
  TrialTimes sum;
  std::exception_ptr error;
  const int started = side_by_side(jobs, [&](int) {
    try {
      const engine::ThreadScope scope(threads_each);
      const TrialTimes timing = time_trial(config, work, options, effort);
      const std::lock_guard lock(mutex);
      sum.setup += timing.setup;
      sum.step += timing.step;
      sum.measure += timing.measure;
    } catch (...) {
      const std::lock_guard lock(mutex);
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
  return {sum.setup / started, sum.step / started, sum.measure / started};
}

/// Steps, validations after every eval_every of them, and the test set each time the weights are the best so far.
double trial_seconds(const CostGroup& group) {
  if (group.work == 0) return group.times.step;  // a measurement
  const TrainConfig& train = group.sample->config.train;
  const double validations =
      train.eval_every > 0 ? std::ceil(static_cast<double>(train.steps) / static_cast<double>(train.eval_every)) : 1;
  const double tests = train.judged == Judged::best ? std::ceil(validations / 2) : 1;
  return group.times.setup + static_cast<double>(train.steps) * group.times.step +
         (validations + tests) * group.times.measure;
}

/// Scales untimed groups from the nearest timed one by work.
void scale_untimed(std::vector<CostGroup>& groups) {
  for (CostGroup& group : groups) {
    if (group.is_timed) continue;
    const auto ratio_to = [&](const CostGroup& other) { return (group.work + 1) / (other.work + 1); };
    const CostGroup* nearest = nullptr;
    for (const CostGroup& other : groups)
      if (other.is_timed && (!nearest || std::abs(std::log(ratio_to(other))) < std::abs(std::log(ratio_to(*nearest)))))
        nearest = &other;
    const double ratio = ratio_to(*nearest);
    group.times = {nearest->times.setup * ratio, nearest->times.step * ratio, nearest->times.measure * ratio};
  }
}

/// Time until the last of `jobs` workers finishes the first trials, each taking the next one as soon as it is free.
double makespan(const DryRun& plan, int64_t trials) {
  std::vector<double> busy(static_cast<size_t>(plan.jobs));
  for (size_t i = 0; i < static_cast<size_t>(trials); ++i)
    *std::min_element(busy.begin(), busy.end()) += plan.groups[plan.group_of[i]].trial_seconds;
  return *std::max_element(busy.begin(), busy.end());
}

}  // namespace

std::optional<DryRun> dry_run(const Study& study, const RunOptions& options, const DryRunEffort& effort) {
  const SteadyClock::time_point begin = SteadyClock::now();
  WorkPool pool(options.data);
  std::vector<const PlannedTrial*> trials = distinct_trials(study), most = largest_plan(study);
  require(!trials.empty(), "{}: the study has no trials", study.head.id);
  const int threads = threads_of(options);
  DryRun result;
  result.left_out = without_model(trials, pool);
  for (auto* plan : {&trials, &most})
    std::erase_if(*plan, [&](const PlannedTrial* trial) { return result.left_out.trials.contains(trial->id); });
  const int wanted = wanted_jobs(trials, options, pool);
  result.trials = std::ssize(trials);
  result.most = std::ssize(most);
  result.jobs = check_before_training(trials, pool, static_cast<int>(std::min<int64_t>(wanted, result.trials)),
                                      options.jobs > 0, memory_limit());
  group_trials(most, pool, result);
  engine::reset_peak();
  for (const size_t index : choose_samples(result.groups, effort.groups)) {
    CostGroup& group = result.groups[index];
    const tasks::Work work = pool.get(group.sample->config);
    group.times =
        time_side_by_side(group.sample->config, work, result.jobs, std::max(1, threads / wanted), options, effort);
    if (is_stopped(options)) return std::nullopt;
    group.is_timed = true;
  }
  result.peak_bytes = engine::allocator_stats().peak;
  scale_untimed(result.groups);
  result.least_parameters = result.groups[0].parameters;
  for (CostGroup& group : result.groups) {
    group.trial_seconds = trial_seconds(group);
    result.flops += group.flops * static_cast<double>(group.trials);
    result.least_parameters = std::min(result.least_parameters, group.parameters);
    result.most_parameters = std::max(result.most_parameters, group.parameters);
  }
  result.seconds = makespan(result, result.trials);
  result.most_seconds = makespan(result, result.most);
  const auto costliest =
      std::max_element(result.groups.begin(), result.groups.end(),
                       [](const CostGroup& a, const CostGroup& b) { return a.trial_seconds < b.trial_seconds; });
  result.costliest = static_cast<size_t>(costliest - result.groups.begin());
  result.timed_seconds = seconds_since(begin);
  return result;
}

std::string dry_run_text(const Study& study, const DryRun& result) {
  const bool has_rounds = result.most > result.trials;
  std::string out = fmt::format(
      "{} · {} · {} trials{}, {} at once\n\n", study.head.id, study.run, result.trials,
      has_rounds ? fmt::format(" in the first round, at most {} in all rounds", result.most) : "", result.jobs);
  out += fmt::format("{:>6}  {:>10}  {:>10}  {:>9}  {:>9}  like\n", "trials", "parameters", "FLOPs each", "ms a step",
                     "each");
  for (const CostGroup& group : result.groups) {
    out +=
        fmt::format("{:>6}  {:>10}  {:>10}  {:>8.3g}{}  {:>9}  {}\n", group.trials,
                    count_text(static_cast<double>(group.parameters)), count_text(group.flops), 1e3 * group.times.step,
                    group.is_timed ? " " : "*", clock_text(group.trial_seconds), group.sample->name());
  }
  const auto timed =
      std::count_if(result.groups.begin(), result.groups.end(), [](const CostGroup& group) { return group.is_timed; });
  out += fmt::format("\nparameters  {} to {}\n", count_text(static_cast<double>(result.least_parameters)),
                     count_text(static_cast<double>(result.most_parameters)));
  out += fmt::format("FLOPs       {}\n", count_text(result.flops));
  out += fmt::format("memory      {} for {} trials at once\n", bytes_text(static_cast<double>(result.peak_bytes)),
                     result.jobs);
  const CostGroup& costliest = result.groups[result.costliest];
  out += fmt::format("costliest   {} a trial: {}\n", clock_text(costliest.trial_seconds), costliest.sample->name());
  out += fmt::format("time        {}: a few steps of {} of {} kinds of trial were timed{}, in {}\n",
                     clock_text(result.seconds), timed, result.groups.size(),
                     static_cast<size_t>(timed) < result.groups.size() ? " (*: scaled from the nearest)" : "",
                     clock_text(result.timed_seconds));
  if (has_rounds)
    out += fmt::format("at most     {} with every round that there may be\n", clock_text(result.most_seconds));
  for (const std::string& note : result.left_out.notes) out += note + "\n";
  for (const std::string& line : undecidable(study)) out += line + "\n";
  return out;
}

std::string dry_run_json(const Study& study, const DryRun& result) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::array();
  for (const CostGroup& group : result.groups)
    groups.push_back({{"series", group.sample->series},
                      {"label", group.sample->label},
                      {"trials", group.trials},
                      {"most_trials", group.most},
                      {"parameters", group.parameters},
                      {"flops", group.flops},
                      {"setup_seconds", group.times.setup},
                      {"step_seconds", group.times.step},
                      {"measure_seconds", group.times.measure},
                      {"trial_seconds", group.trial_seconds},
                      {"timed", group.is_timed}});
  const nlohmann::ordered_json event{{"event", "dry-run"},
                                     {"study", study.head.id},
                                     {"profile", study.run},
                                     {"trials", result.trials},
                                     {"most_trials", result.most},
                                     {"jobs", result.jobs},
                                     {"flops", result.flops},
                                     {"bytes", result.peak_bytes},
                                     {"seconds", result.seconds},
                                     {"most_seconds", result.most_seconds},
                                     {"costliest", result.costliest},
                                     {"left_out", result.left_out.notes},
                                     {"undecidable", undecidable(study)},
                                     {"groups", groups}};
  return event.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace headroom::experiments
