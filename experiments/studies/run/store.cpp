#include "experiments/studies/run/store.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "experiments/studies/run/store/rows.h"
#include "experiments/studies/run/store/schema.h"

namespace headroom::experiments {
namespace {

using nlohmann::json;

template <class T>
std::map<std::string, T> map_from(const std::string& text) {
  const json object = json::parse(text, nullptr, false);
  std::map<std::string, T> map;
  if (!object.is_object()) return map;
  for (const auto& [name, value] : object.items()) {
    const bool fits = std::is_same_v<T, double> ? value.is_number() : value.is_string();
    if (fits) map[name] = value.template get<T>();
  }
  return map;
}

RunStore::Known known_of(TrialRecord&& trial) {
  return {trial.attempts, trial.status == TrialStatus::finished, std::move(trial.data), std::move(trial.weights)};
}

RunStore::Known known_of(const Database& database, const std::string& id) {
  TrialRecord trial;
  if (!read_trial(database, id, Depth::row, trial)) return {};
  return known_of(std::move(trial));
}

/// In a transaction of the caller's.
void write_plan(Database& database, const std::map<std::string, std::string>& study,
                const std::vector<PlanEntry>& plan) {
  database.run("DELETE FROM plan; DELETE FROM study");
  Statement fact(database, "INSERT INTO study (key, value) VALUES (?, ?)");
  for (const auto& [key, value] : study) fact.bind(key, value).run();
  Statement insert(database,
                   "INSERT INTO plan (position, trial, series, label, x, choice, seed) VALUES (?, ?, ?, ?, ?, ?, ?)");
  int64_t position = 0;
  for (const PlanEntry& entry : plan)
    insert.bind(position++, entry.id, entry.series, entry.label, entry.x, json(entry.choice).dump(), entry.seed).run();
  seal_plan(database);
}

constexpr const char* lease_columns =
    "SELECT trial, label, owner, machine, pid, started, heartbeat, step, steps, loss FROM leases";

Lease lease_from(const Statement& row) {
  return {row.text(0), row.text(1),    {row.text(2), row.text(3), row.integer(4), row.text(5)},
          row.real(6), row.integer(7), row.integer(8),
          row.real(9)};
}

std::vector<Lease> read_leases(const Database& database) {
  std::vector<Lease> leases;
  Statement rows(database, (std::string(lease_columns) + " ORDER BY label, trial").c_str());
  while (rows.step()) leases.push_back(lease_from(rows));
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

std::optional<TrialRecord> RunStore::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const Snapshot snapshot(database_);
  TrialRecord trial;
  if (!read_trial(database_, id, Depth::whole, trial)) return std::nullopt;
  return trial;
}

void RunStore::each(const std::function<void(TrialRecord&&)>& f) const {
  const std::lock_guard lock(mutex_);
  const Snapshot snapshot(database_);
  for_each_trial(database_, Depth::whole, f);
}

void RunStore::each_outcome(const std::function<void(TrialRecord&&)>& f) const {
  const std::lock_guard lock(mutex_);
  const Snapshot snapshot(database_);
  for_each_trial(database_, Depth::row, f);
}

RunStore::Known RunStore::known(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return known_of(database_, id);
}

std::unordered_map<std::string, RunStore::Known> RunStore::known() const {
  const std::lock_guard lock(mutex_);
  const Snapshot snapshot(database_);
  std::unordered_map<std::string, Known> all;
  for_each_trial(database_, Depth::row, [&](TrialRecord&& trial) {
    std::string id = trial.id;
    all.emplace(std::move(id), known_of(std::move(trial)));
  });
  return all;
}

int64_t RunStore::unchecked() const {
  const std::lock_guard lock(mutex_);
  return count_unchecked(database_);
}

bool RunStore::put(const TrialRecord& trial, const Owner* owner, const std::function<void()>& publish) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  if (owner) {
    if (!is_held(database_, trial.id, *owner)) return false;
    Statement(database_, "DELETE FROM leases WHERE trial = ?").bind(trial.id).run();
  }
  write_trial(database_, trial, known_of(database_, trial.id).attempts + 1);
  erase_live_points(database_, trial.id);
  if (publish) publish();
  transaction.commit();
  return true;
}

RunStore::TakenOver RunStore::take_over(const Others& others) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  TakenOver count;
  others.each_trial([&](const TrialRecord& trial) {
    const Known here = known_of(database_, trial.id);
    const bool is_better = trial.status == TrialStatus::finished && !here.is_finished;
    if (here.attempts > 0 && !is_better) {
      ++count.there;
      return;
    }
    write_trial(database_, trial, here.attempts + trial.attempts, trial.ended);
    erase_live_points(database_, trial.id);
    ++count.added;
  });
  if (database_.number("SELECT count(*) FROM study") == 0) write_plan(database_, others.study, others.plan);
  const std::vector<Note> here = read_notes(database_);
  for (const Note& note : others.notes)
    if (std::none_of(here.begin(), here.end(), [&](const Note& n) { return n.at == note.at && n.text == note.text; }))
      write_note_row(database_, note.text, note.at);
  for (const std::string& tag : others.tags) write_tag(database_, tag);
  transaction.commit();
  return count;
}

LeaseResult RunStore::acquire(const std::string& id, const std::string& label, const Owner& owner, const Known& known,
                              double now, double steady) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  const Known present = known_of(database_, id);
  if ((present.is_finished && !known.is_finished) || present.attempts > known.attempts) return LeaseResult::done;
  Statement holder(database_, (std::string(lease_columns) + " WHERE trial = ?").c_str());
  if (holder.bind(id).step() && is_held_by_other(lease_from(holder), owner, now, steady)) return LeaseResult::held;
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
  f(read_leases(database_));
}

std::vector<std::string> RunStore::renew(const std::vector<Lease>& leases, double now) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lost;
  Transaction transaction(database_);
  Statement update(database_,
                   "UPDATE leases SET heartbeat = ?, step = ?, steps = ?, loss = ? WHERE trial = ? AND owner = ?");
  for (const Lease& lease : leases) {
    update.bind(now, lease.step, lease.steps, lease.loss, lease.trial, lease.owner.name).run();
    const bool is_mine = database_.number("SELECT changes()") > 0;
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

std::vector<Lease> RunStore::leases() const {
  const std::lock_guard lock(mutex_);
  return read_leases(database_);
}

std::vector<LivePoint> RunStore::live_points() const {
  const std::lock_guard lock(mutex_);
  return read_live_points(database_);
}

std::vector<Note> RunStore::notes() const {
  const std::lock_guard lock(mutex_);
  return read_notes(database_);
}

std::vector<std::string> RunStore::tags() const {
  const std::lock_guard lock(mutex_);
  return read_tags(database_);
}

void RunStore::add_note(const std::string& text) {
  const std::lock_guard lock(mutex_);
  write_note_row(database_, text);
}

bool RunStore::remove_note(int64_t id) {
  const std::lock_guard lock(mutex_);
  return erase_note(database_, id);
}

void RunStore::add_tag(const std::string& tag) {
  const std::lock_guard lock(mutex_);
  write_tag(database_, tag);
}

bool RunStore::remove_tag(const std::string& tag) {
  const std::lock_guard lock(mutex_);
  return erase_tag(database_, tag);
}

void RunStore::set_plan(const std::map<std::string, std::string>& study, const std::vector<PlanEntry>& plan) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  write_plan(database_, study, plan);
  transaction.commit();
}

std::vector<PlanEntry> RunStore::plan() const {
  const std::lock_guard lock(mutex_);
  const Snapshot snapshot(database_);
  check_plan(database_);
  std::vector<PlanEntry> plan;
  Statement rows(database_, "SELECT trial, series, label, x, choice, seed FROM plan ORDER BY position");
  while (rows.step())
    plan.push_back(
        {rows.text(0), rows.text(1), rows.text(2), rows.real(3), map_from<double>(rows.text(4)), rows.integer(5)});
  return plan;
}

std::map<std::string, std::string> RunStore::study() const {
  const std::lock_guard lock(mutex_);
  const Snapshot snapshot(database_);
  check_plan(database_);
  std::map<std::string, std::string> facts;
  Statement rows(database_, "SELECT key, value FROM study");
  while (rows.step()) facts[rows.text(0)] = rows.text(1);
  return facts;
}

}  // namespace headroom::experiments
