#include "experiments/studies/run/runner.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/context.h"
#include "engine/cpu/kernel_level.h"
#include "engine/error.h"
#include "engine/isa.h"
#include "engine/parallel.h"
#include "experiments/studies/config/seal.h"
#include "experiments/studies/run/jobs.h"
#include "experiments/studies/run/known_heads.h"
#include "experiments/studies/run/own_trials.h"
#include "experiments/studies/run/preflight.h"
#include "experiments/studies/run/progress.h"
#include "experiments/studies/run/rounds.h"
#include "experiments/studies/run/side_by_side.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/run/store/shared_folder.h"
#include "experiments/studies/run/trial.h"
#include "experiments/studies/run/work_pool.h"
#include "experiments/version.h"

namespace headroom::experiments {
namespace {

/// Throws as check_before_training() does for a study that was never begun.
void check_plan(std::vector<const PlannedTrial*> trials, const LeftOut& left_out, const RunOptions& options,
                WorkPool& pool) {
  std::erase_if(trials, [&](const PlannedTrial* trial) { return left_out.trials.contains(trial->id); });
  const int jobs = std::min(wanted_jobs(trials, options, pool), static_cast<int>(trials.size()));
  check_before_training(trials, pool, jobs, options.jobs > 0, memory_limit());
}

/// Keeps a trial without curve and predictions.
void keep(TrialRecord trial, Records& records) {
  trial.history.clear();
  trial.predictions.clear();
  std::string id = trial.id;
  records.insert_or_assign(std::move(id), std::move(trial));
}

/// Every trial of the study that came to an end, without curve and predictions.
Records stored_records(const Study& study, const RunStore& store) {
  Records records;
  std::set<std::string> ids;
  for (const auto* trials : {&study.trials, &study.later})
    for (const PlannedTrial& trial : *trials) ids.insert(trial.id);
  store.each([&](TrialRecord&& trial) {
    if (ids.contains(trial.id)) keep(std::move(trial), records);
  });
  return records;
}

/// What rounds are planned from; nothing of a study whose one round asks nothing.
Records records_of(const Study& study, const RunStore& store) {
  return study.later.empty() ? Records() : stored_records(study, store);
}

/// The trials of a round still to run, each id once, handed to workers in the order of the plan. Other processes may
/// work on the same store: what they hold is passed over, and looked at again when nothing else is left.
class Sweeper {
 public:
  /// Those of `done` are left alone: this run has had them, or they are left out.
  Sweeper(const Rounds& rounds, const std::set<std::string>& done, const LeftOut& left_out, const RunOptions& options,
          RunStore& store, WorkPool& pool)
      : options_(options),
        rounds_(rounds),
        folder_(study_folder(rounds.study, options.out)),
        store_(store),
        pool_(pool),
        leases_(store),
        files_(folder_, store, leases_.owner()),
        pending_(pending_trials(rounds.study, done)),
        progress_(scope_of(rounds.study, left_out), options.output) {
    if (options.after_series && rounds.study.series.size() > 1) count_series();
    for (const std::string& note : left_out.notes) progress_.say(note);
    say_again(KeptWeights::missing, "no weights in {}, which train.keep_weights asks for");
    say_again(KeptWeights::changed, "weights in {} that are not those of their rows (wrong checksum)");
  }

  /// False when it was stopped.
  bool run() {
    std::vector<const PlannedTrial*> trials;
    for (const Pending& pending : pending_) trials.push_back(pending.trial);
    const int wanted = wanted_jobs(trials, options_, pool_), most = std::min(wanted, static_cast<int>(pending_.size()));
    const int jobs = check_before_training(trials, pool_, most, options_.jobs > 0, memory_limit());
    if (jobs < most) progress_.say(fmt::format("{} trials at once, not {}: there is no memory for more", jobs, most));
    side_by_side(jobs, [this, each = std::max(1, threads_of(options_) / wanted)](int i) { work(i, each); });
    files_.tidy();
    if (error_) std::rethrow_exception(error_);
    return !is_stopped();
  }

 private:
  struct Pending {
    const PlannedTrial* trial;
    RunStore::Known known;  ///< when this run began
    KeptWeights weights = KeptWeights::sound;
    double cost = 0;
  };

  std::vector<Pending> pending_trials(const Study& study, const std::set<std::string>& done) const {
    const auto all = store_.known();
    check_same_data(study, all, pool_);
    std::vector<Pending> pending;
    std::set<std::string> seen = done;
    for (const PlannedTrial& trial : study.trials) {
      if (!seen.insert(trial.id).second) continue;
      const auto found = all.find(trial.id);
      const RunStore::Known known = found == all.end() ? RunStore::Known{} : found->second;
      const KeptWeights weights = known.is_finished && trial.config.train.keep_weights
                                      ? files_.look_at_weights(trial.id, known.weights)
                                      : KeptWeights::sound;
      if (!known.is_finished || weights != KeptWeights::sound) pending.push_back({&trial, known, weights});
    }
    return pending;
  }

  /// `what` has a place for the folder.
  void say_again(KeptWeights weights, fmt::format_string<std::string> what) {
    const auto again =
        std::count_if(pending_.begin(), pending_.end(), [&](const Pending& p) { return p.weights == weights; });
    if (again > 0)
      progress_.say(fmt::format("headroom: {} finished {} {}: trained again", again,
                                again == 1 ? "trial has" : "trials have",
                                fmt::format(what, (folder_ / "weights").string())));
  }

  ProgressScope scope_of(const Study& study, const LeftOut& left_out) {
    std::set<std::string> ids;
    for (const PlannedTrial& trial : study.trials)
      if (!left_out.trials.contains(trial.id)) ids.insert(trial.id);
    const int64_t total = std::ssize(ids);
    ProgressScope scope{.study = study.head.id,
                        .profile = study.run,
                        .total = total,
                        .done = total - std::ssize(pending_),
                        .metric = study.head.report.y_metric};
    for (Pending& pending : pending_) {
      const TrialConfig& config = pending.trial->config;
      scope.cost += pending.cost = training_flops(config, pool_.get(config));
    }
    for (const PlannedTrial* trial : largest_plan(study))
      if (!ids.contains(trial->id) && left_out.trials.empty())  // models that are missing have no costs
        scope.later += training_flops(trial->config, pool_.get(trial->config));
    return scope;
  }

  void count_series() {
    std::set<std::string> ids;
    for (const Pending& pending : pending_)
      if (!pending.known.is_finished) ids.insert(pending.trial->id);
    for (const PlannedTrial& trial : rounds_.study.trials)
      if (ids.contains(trial.id)) left_of_[trial.series].insert(trial.id);
  }

  /// Says what has become of the series of which this trial, that any process trained, was the last.
  void after_trial(const std::string& id) {
    const std::lock_guard lock(series_mutex_);
    if (left_of_.empty()) return;
    try {
      if (!ended_) {  // one that failed before and is to be trained again has not ended
        ended_ = stored_records(rounds_.study, store_);
        for (const auto& [series, ids] : left_of_)
          for (const std::string& left : ids) ended_->erase(left);
      }
      if (std::optional<TrialRecord> trial = store_.find(id)) keep(std::move(*trial), *ended_);
      std::vector<std::string> whole;
      for (auto& [series, ids] : left_of_)
        if (ids.erase(id) > 0 && ids.empty()) whole.push_back(series);
      if (whole.empty()) return;
      const Analysis so_far = analyse(round_results(rounds_, *ended_));
      for (const std::string& series : whole)
        for (const std::string& line : options_.after_series(so_far, series)) progress_.say(line);
    } catch (const Error& error) {
      progress_.say(fmt::format("headroom: warning: no verdicts before the end of the round: {}", error.what()));
      left_of_.clear();
    }
  }

  bool is_stopped() const { return abandoned_ || (options_.stop && *options_.stop); }

  void work(int worker, int threads) {
    try {
      const engine::ThreadScope scope(threads);
      while (Pending* pending = next()) run_one(worker, *pending);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      abandoned_ = true;
    }
  }

  /// A trial that is now this process's; waits while others hold all that is left. Null when there is nothing to do.
  Pending* next() {
    while (!is_stopped()) {
      {
        const std::lock_guard lock(mutex_);
        while (next_open_ < pending_.size())
          if (Pending& pending = pending_[next_open_++]; acquire(pending)) return &pending;
        for (size_t i = held_.size(); i > 0; --i) {
          Pending& pending = *held_.front();
          held_.pop_front();
          if (acquire(pending)) return &pending;
        }
        if (held_.empty()) return nullptr;
        if (!std::exchange(has_said_it_waits_, true)) progress_.say("waiting for trials that another run has");
      }
      std::this_thread::sleep_for(std::chrono::duration<double>(store_.seconds_between_looks()));
    }
    return nullptr;
  }

  /// Whether the trial is now this process's. One that another holds is looked at again later.
  bool acquire(Pending& pending) {
    const PlannedTrial& trial = *pending.trial;
    const LeaseResult found = store_.acquire(trial.id, trial.label, leases_.owner(), pending.known, wall_clock());
    if (found == LeaseResult::held) held_.push_back(&pending);
    if (found == LeaseResult::done) {
      progress_.finish_elsewhere(pending.cost);
      after_trial(trial.id);
    }
    return found == LeaseResult::taken;
  }

  void run_one(int worker, Pending& pending) {
    const PlannedTrial& trial = *pending.trial;
    const LeaseKeeper::Hold hold(leases_, trial.id);
    files_.prepare(trial.id);
    const tasks::Work own = pool_.get(trial.config);
    const int64_t steps =
        task_of(own) ? trial.config.train.steps : std::get<std::shared_ptr<const tasks::Measurement>>(own)->steps();
    const auto on_step = [&](int64_t step, double loss) {
      progress_.update(worker, {trial.id, trial.label, step, steps, loss, pending.cost});
      return leases_.update(trial.id, step, steps, loss) && !is_stopped();
    };
    const auto say = [this](const std::string& line) { progress_.say(line); };
    const std::unique_ptr<TrialWatcher> watcher = options_.watch ? options_.watch(trial, say) : nullptr;
    TrialFiles files{.checkpoint = files_.checkpoint(trial.id), .warn = say, .stages = files_.stages()};
    files.goes_on = [this] { return !is_stopped(); };
    files.stop = options_.stop;
    files.keep = [&](const auto& write) { return files_.keep_checkpoint(trial.id, write); };
    if (watcher) files.on_curve = [&](const std::vector<HistoryPoint>& curve) { watcher->curve(curve); };
    models::NamedTensors weights;
    files.weights = &weights;
    if (options_.ranks && task_of(own)) {
      files.ranks = options_.ranks;
      tasks::told_by_first(*options_.ranks, trial.id, tasks::endless_patience);
    }
    TrialRecord record = run_trial(trial.config, own, on_step, files);
    if (record.status == TrialStatus::stopped) {
      if (!is_stopped()) leave(pending);
      return;
    }
    record = in_place(std::move(record), trial);
    record.config = canonical_json(trial.config);
    record.code = version_text();
    record.data = tasks::data_hashes(own);
    if (pending.known.is_finished && record.status == TrialStatus::failed) {
      progress_.say(fmt::format("trial {} ({}) lacks its weights: trained again, it {}; what it found before stays",
                                trial.id.substr(0, 8), trial.label, record.message));
      return;
    }
    record.weights = pending.known.weights;
    if (!files_.keep_outcome(record, weights)) return leave(pending);
    if (watcher) watcher->end(record);
    progress_.finish_trial(worker, record, pending.cost);
    after_trial(trial.id);
  }

  /// The trial became another process's while this one had it, stopped for longer than its lease.
  void leave(Pending& pending) {
    progress_.say(fmt::format("trial {} was taken over by another run", pending.trial->id.substr(0, 8)));
    const std::lock_guard lock(mutex_);
    held_.push_back(&pending);
  }

  const RunOptions& options_;
  const Rounds& rounds_;
  const std::filesystem::path folder_;
  RunStore& store_;
  WorkPool& pool_;
  LeaseKeeper leases_;
  OwnedFiles files_;
  std::vector<Pending> pending_;
  size_t next_open_ = 0;       ///< of pending_: those before it were leased, here or by another
  std::deque<Pending*> held_;  ///< by other processes, when they were last looked at
  std::mutex series_mutex_;
  std::map<std::string, std::set<std::string>> left_of_{};  ///< series → trials that have still to end
  std::optional<Records> ended_{};                          ///< what has, once after_trial() needs it
  Progress progress_;
  bool has_said_it_waits_ = false;
  std::atomic<bool> abandoned_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

/// `whole`: with all that further rounds may add.
void keep_plan(const Rounds& rounds, const Study& whole, RunStore& store) {
  const Study& study = rounds.study;
  const std::vector<PlanEntry> plan(study.trials.begin(), study.trials.end());
  store.set_plan({{"id", study.head.id},
                  {"title", study.head.title},
                  {"profile", study.run},
                  {"overrides", fmt::format("{}", fmt::join(study.head.overrides, "\n"))},
                  {"config", study.resolved},
                  {"round", fmt::format("{}", rounds.round)},
                  {"most_rounds", fmt::format("{}", most_rounds(whole))},
                  {"most_trials", fmt::format("{}", largest_plan(whole).size())}},
                 plan);
}

std::filesystem::path store_path(const Study& study, const std::filesystem::path& out) {
  return study_folder(study, out) / "store.sqlite";
}

/// The store of the study as its file has it.
std::filesystem::path written_store_path(const Study& study, const std::filesystem::path& out) {
  return out / study.head.id / study.profile / "store.sqlite";
}

/// Where results are read from: under settings that train nothing, the store of the study as its file has it.
std::filesystem::path path_to_read(const Study& study, const std::filesystem::path& out) {
  const std::filesystem::path path = store_path(study, out);
  return RunStore::exists(path) ? path : written_store_path(study, out);
}

/// Settings train only what they change: what the study's own store has of the plan is copied, but for trials that are
/// to keep their weights, which lie in its folder.
void copy_finished(const Study& study, const std::filesystem::path& out, RunStore& store) {
  const std::filesystem::path written = written_store_path(study, out);
  if (study.head.overrides.empty() || !RunStore::exists(written)) return;
  const RunStore source(written, RunStore::Access::read);
  const auto there = source.known(), here = store.known();
  for (const auto* trials : {&study.trials, &study.later})
    for (const PlannedTrial& trial : *trials) {
      const auto found = there.find(trial.id);
      if (found == there.end() || !found->second.is_finished || here.contains(trial.id)) continue;
      if (trial.config.train.keep_weights) continue;
      std::optional<TrialRecord> record = source.find(trial.id);
      if (!record) continue;
      record->weights.clear();
      store.put(*record);
    }
}

/// What a result depends on beside its config: version and commit, compiler, CPU, instruction set, threads, libraries.
std::map<std::string, std::string> provenance() {
#ifdef __clang__
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "g++ " __VERSION__;
#endif
  return {{"headroom", version_text()},
          {"compiler", compiler},
          {"CPU", engine::cpu_name()},
          {"instruction set", engine::name_of(engine::active_isa())},
          {"threads", fmt::format("{} ({})", engine::num_threads(), engine::parallel_backend())},
          {"products", engine::products()},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
          {"SQLite", sqlite3_libversion()}};
}

}  // namespace

std::filesystem::path study_folder(const Study& study, const std::filesystem::path& out) {
  return out / study.head.id / study.run;
}

void follow_trials(const Study& study, const RunOptions& options) {
  WorkPool pool(options.data);
  const engine::ThreadScope threads(threads_of(options));
  while (true) {
    const std::string id = tasks::told_by_first(*options.ranks, "", tasks::endless_patience);
    if (id.empty()) return;
    const PlannedTrial* found = nullptr;
    for (const auto* trials : {&study.trials, &study.later})
      for (const PlannedTrial& trial : *trials)
        if (trial.id == id) found = &trial;
    require(found, "rank {} has another study than rank 0: no trial {}", options.ranks->rank(), id);
    run_trial(found->config, pool.get(found->config), {}, {.checkpoint = {}, .warn = {}, .ranks = options.ranks});
  }
}

bool run_trials(const Study& written, const RunOptions& options) {
  WorkPool pool(options.data);
  const std::vector<const PlannedTrial*> trials = distinct_trials(written);
  const LeftOut left_out = without_model(trials, pool);
  if (options.ranks)
    for (const PlannedTrial* trial : largest_plan(written))
      if (!left_out.trials.contains(trial->id) && task_of(pool.get(trial->config)))
        tasks::check_shares(trial->config.train.parts, options.ranks->size());
  // A study that cannot be trained leaves nothing behind.
  if (!RunStore::exists(store_path(written, options.out))) check_plan(trials, left_out, options, pool);
  if (options.is_shared) share_run(study_folder(written, options.out));
  RunStore store(store_path(written, options.out));
  say_faults(store);
  Study study = written;
  find_known_heads(study, store);
  copy_finished(study, options.out, store);
  std::set<std::string> done = left_out.trials;
  std::optional<Rounds> before;
  while (true) {
    const Records records = records_of(study, store);
    const Rounds rounds = plan_rounds(study, records);
    if (before && rounds.round > before->round && options.after_round)
      options.after_round(analyse(round_results(*before, records)), before->round, rounds.notes.back());
    keep_plan(rounds, study, store);
    if (!Sweeper(rounds, done, left_out, options, store, pool).run()) return false;
    const size_t known = done.size();
    for (const PlannedTrial& trial : rounds.study.trials) done.insert(trial.id);
    if (study.later.empty() || done.size() == known) return true;
    before = rounds;
  }
}

StudyResults planned_results(const Study& study) {
  StudyResults results;
  results.id = study.head.id;
  results.given = study.given;
  results.title = study.head.title;
  results.question = study.head.question;
  results.answer = study.head.answer;
  results.guide = study.head.guide;
  results.paper = study.head.paper;
  results.deviations = study.head.deviations;
  results.changes = study.changes;
  results.profile = study.run;
  results.overrides = study.head.overrides;
  results.report = study.head.report;
  if (study.series != std::vector<std::string>{""}) results.series = study.series;
  results.claims = study.head.claims;
  results.planned = std::ssize(distinct_trials(study));
  results.resolved_config = study.resolved;
  return results;
}

bool has_store(const Study& study, const std::filesystem::path& out) {
  return RunStore::exists(path_to_read(study, out));
}

StudyResults collect_results(const Study& written, const std::filesystem::path& out) {
  const std::filesystem::path path = path_to_read(written, out);
  require(RunStore::exists(path), "{}: there is no run store; run the study first", path.string());
  const RunStore store(path, RunStore::Access::read);
  say_faults(store);
  Study study = written;
  find_known_heads(study, store);
  const Records records = records_of(study, store);
  keep_asked_for(study, store.plan(), records);
  const Rounds rounds = plan_rounds(study, records);
  StudyResults results = planned_results(rounds.study);
  results.out = out.string();
  results.looks = rounds.looks;
  results.rounds = rounds.notes;
  const std::vector<PlannedTrial>& plan = rounds.study.trials;
  std::unordered_map<std::string, std::vector<size_t>> places;  // of an id in the plan
  for (size_t i = 0; i < plan.size(); ++i) places[plan[i].id].push_back(i);
  std::vector<std::optional<TrialRecord>> found(plan.size());
  store.each([&](TrialRecord&& trial) {
    const auto at = places.find(trial.id);
    if (at == places.end()) {
      if (study.head.overrides.empty() && trial.status == TrialStatus::finished) ++results.left_out;
      return;
    }
    results.data.insert(trial.data.begin(), trial.data.end());
    for (const size_t i : at->second) found[i] = in_place(trial, plan[i]);
  });
  for (std::optional<TrialRecord>& trial : found)
    if (trial) results.trials.push_back(std::move(*trial));
  for (const Lease& lease : store.leases())
    if (places.count(lease.trial) && is_alive(lease)) ++results.running;
  results.unchecked = store.unchecked();
  apply_seal(seal_in(study_folder(written, out)), study.resolved, results);
  results.provenance = provenance();
  return results;
}

}  // namespace headroom::experiments
