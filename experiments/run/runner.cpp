#include "experiments/run/runner.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "engine/error.h"
#include "engine/parallel.h"
#include "experiments/run/progress.h"
#include "experiments/run/provenance.h"
#include "experiments/run/store.h"
#include "experiments/run/task_pool.h"
#include "experiments/run/trial.h"

namespace headroom::experiments {
namespace {

/// The trials still to run, each id once, handed to workers in the order of the plan.
class Sweeper {
 public:
  Sweeper(const Study& study, const RunOptions& options, RunStore& store)
      : options_(options),
        store_(store),
        pool_(options.data),
        pending_(pending_trials(study, store)),
        distinct_(count_distinct(study)),
        progress_(distinct_, distinct_ - static_cast<int64_t>(pending_.size()), total_cost(), options.quiet) {}

  /// False when it was stopped.
  bool run() {
    const int threads = options_.threads > 0 ? options_.threads : engine::num_threads();
    const int wanted = options_.jobs > 0 ? options_.jobs : threads;
    const int jobs = std::min(wanted, static_cast<int>(pending_.size()));
    std::vector<std::thread> workers;
    for (int i = 0; i < jobs; ++i)
      workers.emplace_back([this, i, each = std::max(1, threads / wanted)] { work(i, each); });
    for (std::thread& worker : workers) worker.join();
    if (error_) std::rethrow_exception(error_);
    return !is_stopped();
  }

 private:
  static int64_t count_distinct(const Study& study) {
    std::set<std::string> ids;
    for (const PlannedTrial& trial : study.trials) ids.insert(trial.id);
    return static_cast<int64_t>(ids.size());
  }

  static std::vector<const PlannedTrial*> pending_trials(const Study& study, const RunStore& store) {
    std::vector<const PlannedTrial*> pending;
    std::set<std::string> seen;
    for (const PlannedTrial& trial : study.trials) {
      if (!seen.insert(trial.id).second) continue;
      const auto known = store.find(trial.id);
      if (!known || known->status != TrialStatus::finished) pending.push_back(&trial);
    }
    return pending;
  }

  double total_cost() {
    double cost = 0;
    for (const PlannedTrial* trial : pending_) cost += training_flops(trial->config, *pool_.get(trial->config));
    return cost;
  }

  bool is_stopped() const { return abandoned_ || (options_.stop && *options_.stop); }

  void work(int worker, int threads) {
    try {
      const engine::ThreadScope scope(threads);
      for (size_t i = next_++; i < pending_.size() && !is_stopped(); i = next_++) run_one(worker, *pending_[i]);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      abandoned_ = true;
    }
  }

  void run_one(int worker, const PlannedTrial& trial) {
    const std::shared_ptr<const tasks::Task> task = pool_.get(trial.config);
    const double cost = training_flops(trial.config, *task);
    const TrialOutcome outcome = run_trial(trial.config, *task, [&](int64_t step, double loss) {
      progress_.update(worker, {trial.label, step, trial.config.train.steps, loss, cost});
      return !is_stopped();
    });
    if (outcome.stopped) return;
    TrialRecord record;
    record.id = trial.id;
    record.status = outcome.status;
    record.message = outcome.message;
    record.validation = outcome.validation;
    record.test = outcome.test;
    record.parameters = outcome.parameters;
    record.flops = outcome.flops;
    record.seconds = outcome.seconds;
    record.config = canonical_json(trial.config);
    record.code = version();
    record.data = task->data_hashes();
    store_.put(record);
    progress_.finish_trial(worker, cost);
    if (outcome.status == TrialStatus::failed)
      progress_.say(fmt::format("trial {} ({}{}{}) {}; the others go on", trial.id.substr(0, 8), trial.series,
                                trial.series.empty() ? "" : ": ", trial.label, outcome.message));
  }

  const RunOptions& options_;
  RunStore& store_;
  TaskPool pool_;
  const std::vector<const PlannedTrial*> pending_;
  const int64_t distinct_;
  Progress progress_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> abandoned_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

std::filesystem::path store_path(const Study& study, const std::filesystem::path& out) {
  return study_folder(study, out) / "store.sqlite";
}

}  // namespace

std::filesystem::path study_folder(const Study& study, const std::filesystem::path& out) {
  return out / study.head.id / study.profile;
}

bool run_trials(const Study& study, const RunOptions& options) {
  RunStore store(store_path(study, options.out));
  return Sweeper(study, options, store).run();
}

StudyResults collect_results(const Study& study, const std::filesystem::path& out) {
  const std::filesystem::path path = store_path(study, out);
  require(std::filesystem::exists(path), "{}: there is no run store; run the study first", path.string());
  const RunStore store(path, RunStore::Access::read);
  StudyResults results;
  results.id = study.head.id;
  results.title = study.head.title;
  results.paper = study.head.paper;
  results.profile = study.profile;
  results.report = study.head.report;
  if (study.series != std::vector<std::string>{""}) results.series = study.series;
  results.claims = study.head.claims;
  results.planned = static_cast<int64_t>(study.trials.size());
  results.resolved_config = study.resolved;
  double seconds = 0;
  for (const PlannedTrial& planned : study.trials) {
    std::optional<TrialRecord> trial = store.find(planned.id);
    if (!trial) continue;
    trial->series = planned.series;
    trial->x = planned.x;
    trial->choice = planned.choice;
    trial->seed = planned.seed;
    seconds += trial->seconds;
    results.data.insert(trial->data.begin(), trial->data.end());
    results.trials.push_back(std::move(*trial));
  }
  results.provenance = provenance();
  results.provenance["time of all trials"] = fmt::format("{:.0f} s on one thread each", seconds);
  return results;
}

}  // namespace headroom::experiments
