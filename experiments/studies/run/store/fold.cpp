// What a RunStore does with the shards of a shared folder.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "engine/error.h"
#include "experiments/studies/config/trial_facts.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/run/store/digest.h"
#include "experiments/studies/run/store/reading_line.h"
#include "experiments/studies/run/store/rows.h"
#include "experiments/studies/run/store/schema.h"
#include "experiments/studies/run/store/shared_folder.h"

namespace headroom::experiments {
namespace {

/// Whether a trial measures how fast this host is: then no two of its results are alike.
bool is_timed(const TrialRecord& trial) { return trial_facts(trial.config).is_timed; }

/// All that one config gives on one instruction set, whoever trains it.
std::string digest_of_results(const TrialRecord& trial) {
  Digest digest;
  digest.add(trial.steps, trial.parameters, trial.flops);
  for (const auto* scores : {&trial.validation, &trial.test})
    for (const auto& [metric, value] : *scores) digest.add(metric, value);
  for (const auto& [metric, values] : trial.test_parts) {
    digest.add(metric);
    for (const double value : values) digest.add(value);
  }
  for (const HistoryPoint& point : trial.history) digest.add(point.step, point.split, point.metric, point.value);
  for (const auto& [target, output] : trial.predictions) digest.add(target, output);
  for (const auto& [file, hash] : trial.data) digest.add(file, hash);
  return digest.hex();
}

/// "test mse 0.1 and 0.2", where two results of a trial differ.
std::string difference(const TrialRecord& a, const TrialRecord& b) {
  for (const auto& [split, mine, other] :
       {std::tuple{"test", &a.test, &b.test}, std::tuple{"validation", &a.validation, &b.validation}})
    for (const auto& [metric, value] : *mine) {
      const auto found = other->find(metric);
      const double theirs = found == other->end() ? std::nan("") : found->second;
      if (value != theirs && !(std::isnan(value) && std::isnan(theirs)))
        return fmt::format("{} {} {} and {}", split, metric, value, theirs);
    }
  return a.data == b.data ? "their curves, predictions or weights" : "the files of their data";
}

/// Whether two results of a trial may stand side by side. The checksum of weights covers the program's version, too.
bool agree(const TrialRecord& a, const std::string& digest_a, const TrialRecord& b, const std::string& digest_b) {
  const bool has_other_weights = !a.weights.empty() && !b.weights.empty() && a.weights != b.weights && a.code == b.code;
  return digest_a == digest_b && !has_other_weights;
}

}  // namespace

std::string Fault::text() const {
  return line > 0 ? fmt::format("{}:{}: {}", file.string(), line, what) : fmt::format("{}: {}", file.string(), what);
}

void say_faults(const RunStore& store) {
  constexpr size_t most = 5;
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  std::vector<std::string> lines;
  for (const Fault& fault : store.faults())
    if (std::string line = fault.text(); said.insert(line).second) lines.push_back(std::move(line));
  for (size_t i = 0; i < lines.size() && i < most; ++i) fmt::print(stderr, "headroom: warning: {}\n", lines[i]);
  if (!lines.empty())
    fmt::print(stderr, "headroom: warning: {} left out; 'headroom doctor {} --repair' sets aside what cannot be read\n",
               lines.size() == 1 ? "that is" : fmt::format("these and others, {}, are", lines.size()),
               store.folder().string());
}

/// Brings trials and database to what the shared folder holds; nothing to do elsewhere.
void RunStore::fold() const {
  if (!shared_) return;
  const std::lock_guard lock(mutex_);
  if (is_behind_) start_over();
  is_behind_ = true;
  Transaction transaction(database_);
  ReadingLine reading(database_.path().string(), 0, isatty(STDERR_FILENO) != 0 ? stderr : nullptr);
  shared_->shards.each_new([&](ShardLine&& line) {
    reading.step();
    take_line(std::move(line));
  });
  if (const std::optional<RunFacts> facts = shared_->shards.new_facts()) {
    write_plan(database_, facts->facts, facts->plan);
    database_.run("DELETE FROM notes; DELETE FROM tags");
    for (const Note& note : facts->notes) write_note(database_, {0, note.at, note.text});
    for (const std::string& tag : facts->tags) write_tag(database_, tag);
  }
  transaction.commit();
  is_behind_ = false;
  folded_at_ = steady_clock();
}

/// Forgets what was folded: the shards are read from their first lines.
void RunStore::start_over() const {
  shared_->shards.forget();
  folded_.clear();
  results_.clear();
  differing_.clear();
  database_.stand_in_memory();
  upgrade(database_);
  add_annotation_tables(database_);
}

/// What the trials come to does not depend on the order of the lines: of two results the one that finished stays, of
/// several that finished the one that settle() finds, of two that failed the last; the latest weights.
void RunStore::take_line(ShardLine&& line) const {
  TrialRecord& trial = line.trial;
  trial.is_checked = true;
  Origin origin{line.shard, line.level, line.number, trial.ended};
  const auto at = folded_.find(trial.id);
  if (at == folded_.end()) {
    std::string id = trial.id;
    folded_.emplace(std::move(id), Folded{std::move(origin), std::move(trial)});
    return;
  }
  auto& [there, here] = at->second;
  const int64_t attempts = here.attempts + trial.attempts;
  const bool has_results = results_.contains(trial.id);
  const bool is_finished = trial.status == TrialStatus::finished,
             was_finished = has_results || here.status == TrialStatus::finished;
  if (is_finished && was_finished && !is_timed(trial)) {
    const std::string id = trial.id;
    std::vector<Result>& results = results_[id];
    if (!has_results) results.push_back({there, digest_of_results(here), std::move(here)});
    results.push_back({std::move(origin), digest_of_results(trial), std::move(trial)});
    return settle(id, attempts);
  }
  const bool is_later = std::pair(trial.ended, origin.place()) > std::pair(here.ended, there.place());
  const bool is_taken = is_finished != was_finished ? is_finished : is_later != is_finished;
  // The file of weights is that of whoever wrote it last.
  const bool are_weights_older = !here.weights.empty() && trial.ended < there.weights_at;
  const bool keeps_weights = trial.weights.empty() || are_weights_older;
  const std::string weights = keeps_weights ? here.weights : trial.weights;
  const double weights_at = keeps_weights ? there.weights_at : trial.ended;
  if (is_taken) there = origin;
  there.weights_at = weights_at;
  if (is_taken) here = std::move(trial);
  here.weights = weights;
  here.attempts = attempts;
}

/// Which of a trial's results counts: the first of those on which most lines agree. Where as many agree on another one,
/// none does.
void RunStore::settle(const std::string& id, int64_t attempts) const {
  std::vector<Result>& results = results_.at(id);
  std::sort(results.begin(), results.end(), [](const Result& a, const Result& b) {
    return std::pair(a.trial.ended, a.origin.place()) < std::pair(b.trial.ended, b.origin.place());
  });
  const auto lines_for = [&](const Result& one) {
    return std::count_if(results.begin(), results.end(),
                         [&](const Result& other) { return agree(one.trial, one.digest, other.trial, other.digest); });
  };
  const Result* best = &results[0];
  for (const Result& one : results)
    if (lines_for(one) > lines_for(*best)) best = &one;
  bool is_undecided = false;
  std::vector<Fault>& faults = differing_[id];
  faults.clear();
  TrialRecord kept = best->trial;
  double weights_at = -1e300;
  for (const Result& one : results) {
    const bool agrees = agree(one.trial, one.digest, best->trial, best->digest);
    is_undecided = is_undecided || (!agrees && lines_for(one) == lines_for(*best));
    if (agrees && !one.trial.weights.empty() && one.trial.ended >= weights_at)
      std::tie(kept.weights, weights_at) = std::pair(one.trial.weights, one.trial.ended);
    if (!agrees)
      faults.push_back({shared_->shards.folder() / one.origin.shard, one.origin.number,
                        fmt::format("trial {} has two results that differ: {} in {} and in {}", id,
                                    difference(best->trial, one.trial), text_of(best->origin), text_of(one.origin))});
  }
  if (is_undecided) {
    kept.status = TrialStatus::failed;
    kept.message = faults[0].what.substr(faults[0].what.find("has two results"));
    for (const Result& one : results)
      if (agree(one.trial, one.digest, best->trial, best->digest))
        faults.push_back({shared_->shards.folder() / one.origin.shard, one.origin.number, faults[0].what});
    kept.validation.clear();
    kept.test.clear();
    kept.test_parts.clear();
    kept.history.clear();
    kept.predictions.clear();
  }
  kept.attempts = attempts;
  folded_[id] = {best->origin, std::move(kept)};
}

std::string RunStore::text_of(const Origin& origin) const {
  return fmt::format("{}:{} ({})", (shared_->shards.folder() / origin.shard).string(), origin.number, origin.level);
}

std::vector<Fault> RunStore::faults() const {
  if (!shared_) return {};
  const std::lock_guard lock(mutex_);
  std::vector<Fault> all = shared_->shards.faults();
  for (const auto& [trial, lines] : differing_) all.insert(all.end(), lines.begin(), lines.end());
  if (has_store_file(database_.path().parent_path()))
    all.push_back({database_.path(), 0, "lies beside shards: the next run takes along what they lack"});
  return all;
}

bool RunStore::has_lost() const {
  const std::lock_guard lock(mutex_);
  return shared_ && shared_->shards.has_lost();
}

}  // namespace headroom::experiments
