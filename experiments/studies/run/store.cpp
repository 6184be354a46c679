#include "experiments/studies/run/store.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "experiments/studies/run/store/digest.h"
#include "experiments/studies/run/store/rows.h"
#include "experiments/studies/run/store/schema.h"
#include "experiments/studies/run/store/shared_folder.h"

namespace headroom::experiments {
namespace {

RunStore::Known known_of(const TrialRecord& trial) {
  return {trial.attempts, trial.status == TrialStatus::finished, trial.data, trial.weights};
}

RunStore::Known read_known(const Database& database, const std::string& id) {
  const std::optional<TrialRecord> trial = read_trial(database, id, Depth::row);
  return trial ? known_of(*trial) : RunStore::Known{};
}

/// The lease of one trial, or, of "", all.
std::vector<Lease> read_leases(const Database& database, const std::string& trial) {
  Statement rows(database,
                 "SELECT trial, label, owner, machine, pid, started, heartbeat, step, steps, loss FROM leases "
                 "WHERE trial = ?1 OR ?1 = '' ORDER BY label, trial");
  rows.bind(trial);
  std::vector<Lease> leases;
  while (rows.step()) {
    Lease& one = leases.emplace_back();
    rows.read(one.trial, one.label, one.owner.name, one.owner.machine, one.owner.pid, one.owner.started, one.heartbeat,
              one.step, one.steps, one.loss);
  }
  return leases;
}

bool is_held(const Database& database, const std::string& id, const Owner& owner) {
  Statement mine(database, "SELECT 1 FROM leases WHERE trial = ? AND owner = ?");
  return mine.bind(id, owner.name).step();
}

bool has_ended_since(const RunStore::Known& present, const RunStore::Known& known) {
  return (present.is_finished && !known.is_finished) || present.attempts > known.attempts;
}

std::unique_ptr<SharedFolder> shared_folder_of(const std::filesystem::path& run, RunStore::Access access) {
  if (access == RunStore::Access::read_file) return nullptr;
  const bool is_written = access == RunStore::Access::write;
  if (is_written && (is_shared(run) ? has_store_file(run) : is_on_network(run))) share_run(run);
  return is_shared(run) ? std::make_unique<SharedFolder>(run) : nullptr;
}

}  // namespace

bool is_alive(const Lease& lease) {
  return std::abs(wall_clock() - lease.heartbeat) < lease_seconds && !is_gone(lease.owner);
}

RunStore::RunStore(const std::filesystem::path& path, Access access)
    : shared_(shared_folder_of(path.parent_path(), access)),
      database_(shared_ ? Database::in_memory(path) : Database(path, access != Access::write)) {
  if (access != Access::write && !shared_) {
    if (is_empty(database_)) {
      database_.stand_in_memory();
      upgrade(database_);
    }
    check_version(database_);
    return;
  }
  upgrade(database_);
  add_annotation_tables(database_);
  fold();
}

RunStore::~RunStore() = default;

bool RunStore::exists(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) || is_shared(path.parent_path());
}

/// In a transaction on the run's own file, which share_run() waits for: what it has copied would miss what is written
/// now.
void RunStore::check_is_alone() const {
  require(!is_shared(database_.path().parent_path()),
          "{}: other hosts share its folder since this command began: run it again", database_.path().string());
}

/// f() of the database, by one thread at a time.
template <class F, class... Values>
auto RunStore::locked(const F& f, const Values&... values) const {
  const std::lock_guard lock(mutex_);
  return f(database_, values...);
}

/// The same, where all that f() reads is to be of one moment.
template <class F, class... Values>
auto RunStore::at_one_moment(const F& f, const Values&... values) const {
  return locked([&](const Database& database) {
    const Snapshot snapshot(database);
    return f(database, values...);
  });
}

std::optional<TrialRecord> RunStore::find(const std::string& id) const {
  if (shared_) {
    const std::lock_guard lock(mutex_);
    const auto found = folded_.find(id);
    return found == folded_.end() ? std::nullopt : std::optional(found->second.trial);
  }
  return at_one_moment(read_trial, id, Depth::whole, DamageHook());
}

void RunStore::each(const std::function<void(TrialRecord&&)>& f) const {
  if (!shared_) return at_one_moment(for_each_trial, Depth::whole, f, DamageHook());
  fold();
  const std::lock_guard lock(mutex_);
  for (const auto& [id, folded] : folded_) f(TrialRecord(folded.trial));
}

void RunStore::each_outcome(const std::function<void(TrialRecord&&)>& f) const {
  shared_ ? each(f) : at_one_moment(for_each_trial, Depth::row, f, DamageHook());
}

RunStore::Known RunStore::known(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return known_here(id);
}

/// known() of who holds the mutex.
RunStore::Known RunStore::known_here(const std::string& id) const {
  if (!shared_) return read_known(database_, id);
  const auto found = folded_.find(id);
  return found == folded_.end() ? Known{} : known_of(found->second.trial);
}

std::unordered_map<std::string, RunStore::Known> RunStore::known() const {
  std::unordered_map<std::string, Known> all;
  each_outcome([&](TrialRecord&& trial) { all.emplace(trial.id, known_of(trial)); });
  return all;
}

int64_t RunStore::unchecked() const { return shared_ ? 0 : locked(count_unchecked); }

bool RunStore::put(const TrialRecord& trial, const Owner* owner, const std::function<void()>& publish) {
  if (shared_) {
    if (owner && !shared_->leases.is_held_by(trial.id, *owner)) return false;
    if (publish) publish();
    TrialRecord ended = trial;
    ended.attempts = 1;
    ended.ended = std::floor(wall_clock());
    {
      const std::lock_guard lock(mutex_);
      shared_->shards.append({ended});
    }
    fold();
    if (owner) shared_->leases.release(trial.id, *owner);
    return true;
  }
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  check_is_alone();
  if (owner) {
    if (!is_held(database_, trial.id, *owner)) return false;
    Statement(database_, "DELETE FROM leases WHERE trial = ?").bind(trial.id).run();
  }
  write_trial(database_, trial, read_known(database_, trial.id).attempts + 1);
  erase_live_points(database_, trial.id);
  if (publish) publish();
  transaction.commit();
  return true;
}

std::pair<int64_t, int64_t> RunStore::take_over(const RunFacts& others,
                                                const std::function<void(const TakeTrial&)>& each_trial) {
  fold();
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  int64_t added = 0, there = 0;
  std::vector<TrialRecord> taken;  // for a shard
  each_trial([&](const TrialRecord& trial) {
    const Known here = known_here(trial.id);
    const bool is_better = trial.status == TrialStatus::finished && !here.is_finished;
    if (here.attempts > 0 && !is_better) {
      ++there;
      return;
    }
    ++added;
    if (shared_) return taken.push_back(trial);
    write_trial(database_, trial, here.attempts + trial.attempts, trial.ended);
    erase_live_points(database_, trial.id);
  });
  if (database_.number("SELECT count(*) FROM study") == 0) write_plan(database_, others.facts, others.plan);
  const std::vector<Note> here = read_notes(database_, Changed::complain);
  for (const Note& note : others.notes)
    if (std::none_of(here.begin(), here.end(), [&](const Note& n) { return n.at == note.at && n.text == note.text; }))
      write_note(database_, {0, note.at, note.text});
  for (const std::string& tag : others.tags) write_tag(database_, tag);
  if (shared_) {
    shared_->shards.append(taken);
    shared_->shards.keep_plan({read_study(database_), read_plan(database_), {}, {}});
    keep_annotations();
  }
  transaction.commit();
  return {added, there};
}

LeaseResult RunStore::acquire(const std::string& id, const std::string& label, const Owner& owner, const Known& known,
                              double now, double steady) {
  if (shared_)
    return acquire_shared({.trial = id, .label = label, .owner = owner, .loss = std::nan("")}, known, steady);
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  check_is_alone();
  if (has_ended_since(read_known(database_, id), known)) return LeaseResult::done;
  for (const Lease& lease : read_leases(database_, id))
    if (is_held_by_other(lease, owner, now, steady)) return LeaseResult::held;
  Statement take(database_,
                 "INSERT OR REPLACE INTO leases (trial, label, owner, machine, pid, started, heartbeat, step, steps, "
                 "loss) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, NULL)");
  take.bind(id, label, owner.name, owner.machine, owner.pid, owner.started, now).run();
  transaction.commit();
  return LeaseResult::taken;
}

/// acquire() in a shared folder.
LeaseResult RunStore::acquire_shared(const Lease& lease, const Known& known, double steady) {
  // What this process knows already costs no word with the file server, what it does not is asked once the lease is
  // its own: the line of a trial is there before its lease goes.
  if (has_ended_since(this->known(lease.trial), known)) return LeaseResult::done;
  const auto still_counts = [&](const Lease& there, double now) {
    const std::lock_guard lock(mutex_);
    return is_held_by_other(there, lease.owner, now, steady);
  };
  const bool is_taken = shared_->leases.take(lease, still_counts);
  if (is_taken || steady_clock() - folded_at_ > seconds_between_looks()) fold();
  const bool is_done = has_ended_since(this->known(lease.trial), known);
  if (is_taken && is_done) shared_->leases.release(lease.trial, lease.owner);
  return is_done ? LeaseResult::done : is_taken ? LeaseResult::taken : LeaseResult::held;
}

bool RunStore::is_held_by_other(const Lease& lease, const Owner& owner, double now, double steady) {
  if (lease.owner.name == owner.name || is_gone(lease.owner)) return false;
  if (lease.heartbeat <= now) return now - lease.heartbeat < lease_seconds;
  Sight& sight = sights_[lease.trial];
  const bool is_same = sight.owner == lease.owner.name && sight.heartbeat == lease.heartbeat;
  if (!is_same) sight = {lease.owner.name, lease.heartbeat, steady};
  return steady - sight.since < lease_seconds;
}

bool RunStore::while_held(const std::string& id, const Owner& owner, const std::function<void()>& f) {
  if (shared_) {
    const bool is_held = shared_->leases.is_held_by(id, owner);
    if (is_held) f();
    return is_held;
  }
  const std::lock_guard lock(mutex_);
  const Transaction transaction(database_);  // for its lock: nothing is written
  if (!is_held(database_, id, owner)) return false;
  f();
  return true;
}

void RunStore::while_leases_stand(const std::function<void(const std::vector<Lease>&)>& f) {
  if (shared_) return f(shared_->leases.all());
  const std::lock_guard lock(mutex_);
  const Transaction transaction(database_);  // for its lock: nothing is written
  f(read_leases(database_, ""));
}

std::vector<std::string> RunStore::renew(const std::vector<Lease>& leases, double now) {
  std::vector<std::string> lost;
  if (shared_) {
    for (const Lease& lease : leases)
      if (!shared_->leases.renew(lease)) lost.push_back(lease.trial);
    return lost;
  }
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  Statement update(database_,
                   "UPDATE leases SET heartbeat = ?, step = ?, steps = ?, loss = ? WHERE trial = ? AND owner = ?");
  for (const Lease& lease : leases) {
    const bool is_mine = update.bind(now, lease.step, lease.steps, lease.loss, lease.trial, lease.owner.name).run() > 0;
    if (!is_mine) lost.push_back(lease.trial);
    if (is_mine && lease.steps > 0 && std::isfinite(lease.loss))
      write_live_point(database_, {lease.trial, lease.step, lease.loss, now}, lease.steps);
  }
  transaction.commit();
  return lost;
}

void RunStore::release(const std::string& id, const Owner& owner) {
  if (shared_) return shared_->leases.release(id, owner);
  const std::lock_guard lock(mutex_);
  Statement(database_, "DELETE FROM leases WHERE trial = ? AND owner = ?").bind(id, owner.name).run();
}

std::vector<Lease> RunStore::leases() const {
  if (!shared_) return locked(read_leases, "");
  std::vector<Lease> leases = shared_->leases.all();
  // Whoever dies between a trial's line and the end of its lease leaves the lease.
  std::erase_if(leases, [&](const Lease& lease) { return known(lease.trial).is_finished; });
  return leases;
}

std::vector<LivePoint> RunStore::live_points() const {
  if (!shared_) return locked(read_live_points);
  std::vector<LivePoint> points;
  for (const Lease& lease : leases())
    if (std::isfinite(lease.loss)) points.push_back({lease.trial, lease.step, lease.loss, lease.heartbeat});
  return points;
}

std::vector<Note> RunStore::notes() const { return locked(read_notes, Changed::complain); }
std::vector<std::string> RunStore::tags() const { return locked(read_tags, Changed::complain); }
void RunStore::add_note(const std::string& text) {
  annotate([&](const Database& database) { return write_note(database, Note{0, "", text}), true; });
}
bool RunStore::remove_note(int64_t id) {
  return annotate([&](const Database& database) { return erase_note(database, id); });
}
void RunStore::add_tag(const std::string& tag) {
  annotate([&](const Database& database) { return write_tag(database, tag), true; });
}
bool RunStore::remove_tag(const std::string& tag) {
  return annotate([&](const Database& database) { return erase_tag(database, tag); });
}

/// Changes notes or tags, in a shared folder those that are there; what change() returns.
bool RunStore::annotate(const std::function<bool(const Database&)>& change) {
  fold();
  const std::lock_guard lock(mutex_);
  const bool is_changed = change(database_);
  if (shared_ && is_changed) keep_annotations();
  return is_changed;
}

void RunStore::keep_annotations() const {
  shared_->shards.keep_notes(
      {{}, {}, read_tags(database_, Changed::complain), read_notes(database_, Changed::complain)});
}

void RunStore::set_plan(const std::map<std::string, std::string>& study, const std::vector<PlanEntry>& plan) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  if (shared_) shared_->shards.keep_plan({study, plan, {}, {}});
  write_plan(database_, study, plan);
  transaction.commit();
}

std::vector<PlanEntry> RunStore::plan() const { return at_one_moment(read_plan); }
std::map<std::string, std::string> RunStore::study() const { return at_one_moment(read_study); }
RunFacts RunStore::facts() const {
  fold();
  return {study(), plan(), tags(), notes()};
}

}  // namespace headroom::experiments
