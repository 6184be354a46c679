#include "experiments/studies/run/store.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "experiments/studies/run/store/rows.h"
#include "experiments/studies/run/store/schema.h"

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

}  // namespace

bool is_alive(const Lease& lease) {
  return std::abs(wall_clock() - lease.heartbeat) < lease_seconds && !is_gone(lease.owner);
}

RunStore::RunStore(const std::filesystem::path& path, Access access) : database_(path, access == Access::read) {
  if (access == Access::read) {
    if (is_empty(database_)) {
      database_.stand_in_memory();
      upgrade(database_);
    }
    check_version(database_);
    return;
  }
  upgrade(database_);
  add_annotation_tables(database_);
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
  return at_one_moment(read_trial, id, Depth::whole, DamageHook());
}

void RunStore::each(const std::function<void(TrialRecord&&)>& f) const {
  at_one_moment(for_each_trial, Depth::whole, f, DamageHook());
}

void RunStore::each_outcome(const std::function<void(TrialRecord&&)>& f) const {
  at_one_moment(for_each_trial, Depth::row, f, DamageHook());
}

RunStore::Known RunStore::known(const std::string& id) const { return locked(read_known, id); }

std::unordered_map<std::string, RunStore::Known> RunStore::known() const {
  std::unordered_map<std::string, Known> all;
  each_outcome([&](TrialRecord&& trial) { all.emplace(trial.id, known_of(trial)); });
  return all;
}

int64_t RunStore::unchecked() const { return locked(count_unchecked); }

bool RunStore::put(const TrialRecord& trial, const Owner* owner, const std::function<void()>& publish) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
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
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  int64_t added = 0, there = 0;
  each_trial([&](const TrialRecord& trial) {
    const Known here = read_known(database_, trial.id);
    const bool is_better = trial.status == TrialStatus::finished && !here.is_finished;
    if (here.attempts > 0 && !is_better) {
      ++there;
      return;
    }
    write_trial(database_, trial, here.attempts + trial.attempts, trial.ended);
    erase_live_points(database_, trial.id);
    ++added;
  });
  if (database_.number("SELECT count(*) FROM study") == 0) write_plan(database_, others.facts, others.plan);
  const std::vector<Note> here = read_notes(database_, Changed::complain);
  for (const Note& note : others.notes)
    if (std::none_of(here.begin(), here.end(), [&](const Note& n) { return n.at == note.at && n.text == note.text; }))
      write_note(database_, {0, note.at, note.text});
  for (const std::string& tag : others.tags) write_tag(database_, tag);
  transaction.commit();
  return {added, there};
}

LeaseResult RunStore::acquire(const std::string& id, const std::string& label, const Owner& owner, const Known& known,
                              double now, double steady) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  const Known present = read_known(database_, id);
  if ((present.is_finished && !known.is_finished) || present.attempts > known.attempts) return LeaseResult::done;
  for (const Lease& lease : read_leases(database_, id))
    if (is_held_by_other(lease, owner, now, steady)) return LeaseResult::held;
  Statement take(database_,
                 "INSERT OR REPLACE INTO leases (trial, label, owner, machine, pid, started, heartbeat, step, steps, "
                 "loss) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, NULL)");
  take.bind(id, label, owner.name, owner.machine, owner.pid, owner.started, now).run();
  transaction.commit();
  return LeaseResult::taken;
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
  const std::lock_guard lock(mutex_);
  const Transaction transaction(database_);  // for its lock: nothing is written
  if (!is_held(database_, id, owner)) return false;
  f();
  return true;
}

void RunStore::while_leases_stand(const std::function<void(const std::vector<Lease>&)>& f) {
  const std::lock_guard lock(mutex_);
  const Transaction transaction(database_);  // for its lock: nothing is written
  f(read_leases(database_, ""));
}

std::vector<std::string> RunStore::renew(const std::vector<Lease>& leases, double now) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lost;
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
  const std::lock_guard lock(mutex_);
  Statement(database_, "DELETE FROM leases WHERE trial = ? AND owner = ?").bind(id, owner.name).run();
}

std::vector<Lease> RunStore::leases() const { return locked(read_leases, ""); }
std::vector<LivePoint> RunStore::live_points() const { return locked(read_live_points); }

std::vector<Note> RunStore::notes() const { return locked(read_notes, Changed::complain); }
std::vector<std::string> RunStore::tags() const { return locked(read_tags, Changed::complain); }
void RunStore::add_note(const std::string& text) { locked(write_note, Note{0, "", text}); }
bool RunStore::remove_note(int64_t id) { return locked(erase_note, id); }
void RunStore::add_tag(const std::string& tag) { locked(write_tag, tag); }
bool RunStore::remove_tag(const std::string& tag) { return locked(erase_tag, tag); }

void RunStore::set_plan(const std::map<std::string, std::string>& study, const std::vector<PlanEntry>& plan) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  write_plan(database_, study, plan);
  transaction.commit();
}

std::vector<PlanEntry> RunStore::plan() const { return at_one_moment(read_plan); }
std::map<std::string, std::string> RunStore::study() const { return at_one_moment(read_study); }
RunFacts RunStore::facts() const { return {study(), plan(), tags(), notes()}; }

}  // namespace headroom::experiments
