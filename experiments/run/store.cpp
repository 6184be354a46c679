#include "experiments/run/store.h"

#include <nlohmann/json.hpp>

#include "experiments/run/store/schema.h"

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

void write_scores(const Database& database, const std::string& id, const char* split,
                  const std::map<std::string, double>& scores) {
  Statement insert(database, "INSERT INTO scores (trial, split, metric, value) VALUES (?, ?, ?, ?)");
  for (const auto& [metric, value] : scores) insert.bind(id, split, metric, value).run();
}

/// Everything of a trial but its row in `trials`.
void write_details(const Database& database, const TrialRecord& trial) {
  for (const char* sql : {"DELETE FROM scores WHERE trial = ?", "DELETE FROM metrics WHERE trial = ?",
                          "DELETE FROM predictions WHERE trial = ?"})
    Statement(database, sql).bind(trial.id).run();
  write_scores(database, trial.id, "validation", trial.validation);
  write_scores(database, trial.id, "test", trial.test);
  Statement point(database, "INSERT INTO metrics (trial, step, split, metric, value) VALUES (?, ?, ?, ?, ?)");
  for (const HistoryPoint& p : trial.history) point.bind(trial.id, p.step, p.split, p.metric, p.value).run();
  Statement pair(database, "INSERT INTO predictions (trial, position, target, output) VALUES (?, ?, ?, ?)");
  int64_t position = 0;
  for (const auto& [target, output] : trial.predictions) pair.bind(trial.id, position++, target, output).run();
}

void read_details(const Database& database, TrialRecord& trial) {
  Statement scores(database, "SELECT split, metric, value FROM scores WHERE trial = ?");
  for (scores.bind(trial.id); scores.step();)
    (scores.text(0) == "test" ? trial.test : trial.validation)[scores.text(1)] = scores.real(2);
  Statement points(database,
                   "SELECT step, split, metric, value FROM metrics WHERE trial = ? ORDER BY step, split, metric");
  for (points.bind(trial.id); points.step();)
    trial.history.push_back({points.integer(0), points.text(1), points.text(2), points.real(3)});
  Statement pairs(database, "SELECT target, output FROM predictions WHERE trial = ? ORDER BY position");
  for (pairs.bind(trial.id); pairs.step();) trial.predictions.emplace_back(pairs.real(0), pairs.real(1));
}

RunStore::Known known_of(const Database& database, const std::string& id) {
  Statement select(database, "SELECT attempts, status, data FROM trials WHERE id = ?");
  if (!select.bind(id).step()) return {};
  return {select.integer(0), select.text(1) == "finished", map_from<std::string>(select.text(2))};
}

constexpr const char* lease_columns =
    "SELECT trial, label, owner, machine, pid, started, heartbeat, step, steps, loss FROM leases";

Lease lease_from(const Statement& row) {
  return {row.text(0), row.text(1),    {row.text(2), row.text(3), row.integer(4), row.text(5)},
          row.real(6), row.integer(7), row.integer(8),
          row.real(9)};
}

}  // namespace

RunStore::RunStore(const std::filesystem::path& path, Access access) : database_(path, access == Access::read) {
  if (access == Access::write) upgrade(database_);
  else check_version(database_);
}

std::optional<TrialRecord> RunStore::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  Statement select(database_,
                   "SELECT config, code, data, status, message, steps, parameters, flops, seconds, "
                   "strftime('%s', ended_at) FROM trials WHERE id = ?");
  if (!select.bind(id).step()) return std::nullopt;
  TrialRecord trial;
  trial.id = id;
  trial.config = select.text(0);
  trial.code = select.text(1);
  trial.data = map_from<std::string>(select.text(2));
  trial.status = select.text(3) == "finished" ? TrialStatus::finished : TrialStatus::failed;
  trial.message = select.text(4);
  trial.steps = select.integer(5);
  trial.parameters = select.integer(6);
  trial.flops = select.real(7);
  trial.seconds = select.real(8);
  trial.ended = select.real(9);
  read_details(database_, trial);
  return trial;
}

std::vector<std::string> RunStore::ids() const {
  const std::lock_guard lock(mutex_);
  Statement rows(database_, "SELECT id FROM trials ORDER BY id");
  std::vector<std::string> ids;
  while (rows.step()) ids.push_back(rows.text(0));
  return ids;
}

RunStore::Known RunStore::known(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return known_of(database_, id);
}

bool RunStore::put(const TrialRecord& trial, const Owner* owner) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  if (owner) {
    Statement mine(database_, "SELECT 1 FROM leases WHERE trial = ? AND owner = ?");
    if (!mine.bind(trial.id, owner->name).step()) return false;
    Statement(database_, "DELETE FROM leases WHERE trial = ?").bind(trial.id).run();
  }
  const int64_t attempts = known_of(database_, trial.id).attempts + 1;
  Statement insert(database_,
                   "INSERT OR REPLACE INTO trials (id, config, code, data, status, message, steps, parameters, flops, "
                   "attempts, seconds) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert
      .bind(trial.id, trial.config, trial.code, json(trial.data).dump(),
            trial.status == TrialStatus::finished ? "finished" : "failed", trial.message, trial.steps, trial.parameters,
            trial.flops, attempts, trial.seconds)
      .run();
  write_details(database_, trial);
  transaction.commit();
  return true;
}

LeaseResult RunStore::acquire(const std::string& id, const std::string& label, const Owner& owner, const Known& known,
                              double now) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  const Known present = known_of(database_, id);
  if (present.is_finished || present.attempts > known.attempts) return LeaseResult::done;
  Statement holder(database_, (std::string(lease_columns) + " WHERE trial = ?").c_str());
  if (holder.bind(id).step()) {
    const Lease lease = lease_from(holder);
    if (lease.owner.name != owner.name && now - lease.heartbeat < lease_seconds && !is_gone(lease.owner))
      return LeaseResult::held;
  }
  Statement take(database_,
                 "INSERT OR REPLACE INTO leases (trial, label, owner, machine, pid, started, heartbeat, step, steps, "
                 "loss) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, NULL)");
  take.bind(id, label, owner.name, owner.machine, owner.pid, owner.started, now).run();
  transaction.commit();
  return LeaseResult::taken;
}

void RunStore::renew(const std::vector<Lease>& leases, double now) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  Statement update(database_,
                   "UPDATE leases SET heartbeat = ?, step = ?, steps = ?, loss = ? WHERE trial = ? AND owner = ?");
  for (const Lease& lease : leases)
    update.bind(now, lease.step, lease.steps, lease.loss, lease.trial, lease.owner.name).run();
  transaction.commit();
}

void RunStore::release(const std::string& id, const Owner& owner) {
  const std::lock_guard lock(mutex_);
  Statement(database_, "DELETE FROM leases WHERE trial = ? AND owner = ?").bind(id, owner.name).run();
}

std::vector<Lease> RunStore::leases() const {
  const std::lock_guard lock(mutex_);
  std::vector<Lease> leases;
  Statement rows(database_, (std::string(lease_columns) + " ORDER BY label, trial").c_str());
  while (rows.step()) leases.push_back(lease_from(rows));
  return leases;
}

void RunStore::set_plan(const std::map<std::string, std::string>& study, const std::vector<PlanEntry>& plan) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  database_.run("DELETE FROM plan; DELETE FROM study");
  Statement fact(database_, "INSERT INTO study (key, value) VALUES (?, ?)");
  for (const auto& [key, value] : study) fact.bind(key, value).run();
  Statement insert(database_,
                   "INSERT INTO plan (position, trial, series, label, x, choice, seed) VALUES (?, ?, ?, ?, ?, ?, ?)");
  int64_t position = 0;
  for (const PlanEntry& entry : plan)
    insert.bind(position++, entry.trial, entry.series, entry.label, entry.x, json(entry.choice).dump(), entry.seed)
        .run();
  transaction.commit();
}

std::vector<PlanEntry> RunStore::plan() const {
  const std::lock_guard lock(mutex_);
  std::vector<PlanEntry> plan;
  Statement rows(database_, "SELECT trial, series, label, x, choice, seed FROM plan ORDER BY position");
  while (rows.step())
    plan.push_back(
        {rows.text(0), rows.text(1), rows.text(2), rows.real(3), map_from<double>(rows.text(4)), rows.integer(5)});
  return plan;
}

std::map<std::string, std::string> RunStore::study() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::string> facts;
  Statement rows(database_, "SELECT key, value FROM study");
  while (rows.step()) facts[rows.text(0)] = rows.text(1);
  return facts;
}

}  // namespace headroom::experiments
