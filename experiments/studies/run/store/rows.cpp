#include "experiments/studies/run/store/rows.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "engine/error.h"
#include "experiments/studies/run/store/digest.h"
#include "experiments/studies/run/store/reading_line.h"

namespace headroom::experiments {
namespace {

using nlohmann::json;

const std::string no_digest(64, '0');

bool has_checksums(const Database& database) {
  return Statement(database, "SELECT 1 FROM pragma_table_info('trials') WHERE name = 'digest'").step();
}

/// The values of a JSON object that are texts, or numbers.
template <class T>
std::map<std::string, T> map_from(const std::string& text) {
  const json object = json::parse(text, nullptr, false);
  std::map<std::string, T> map;
  if (!object.is_object()) return map;
  for (const auto& [name, value] : object.items())
    if (std::is_same_v<T, double> ? value.is_number() : value.is_string()) map[name] = value.template get<T>();
  return map;
}

/// A table of what belongs to a trial beside its row: the columns that tell its rows apart, and those that they hold.
struct DetailTable {
  const char *name, *key, *values;
};
constexpr DetailTable score_table{"scores", "split, metric", "value"},
    part_table{"test_parts", "metric, part", "value"}, history_table{"metrics", "step, split, metric", "value"},
    pair_table{"predictions", "position", "target, output"};

/// The rows of such a table, of one trial or of all in the order of their ids.
class DetailRows {
 public:
  DetailRows(const Database& database, const DetailTable& table, const std::string& id)
      : statement_(database, fmt::format("SELECT trial, {0}, {1} FROM {2} {3} ORDER BY trial, {0}", table.key,
                                         table.values, source(database, table), id.empty() ? "" : "WHERE trial = ?")) {
    if (!id.empty()) statement_.bind(id);
    has_row_ = statement_.step();
  }

  /// Puts the trial's next row into `values`; false where it has no more. Ids must not fall from call to call.
  template <class... Values>
  bool next(const std::string& id, Values&... values) {
    std::string trial;
    for (; has_row_; has_row_ = statement_.step())
      if (trial = statement_.text(0); trial >= id) break;
    if (!has_row_ || trial != id) return false;
    statement_.read(trial, values...);
    has_row_ = statement_.step();
    return true;
  }

 private:
  /// Version 3 of the schema had no parts.
  static std::string source(const Database& database, const DetailTable& table) {
    const std::string name = table.name;
    return name != part_table.name || database.has_table(name)
               ? name
               : "(SELECT '' trial, '' metric, 0 part, 0 value LIMIT 0)";
  }

  Statement statement_;
  bool has_row_ = false;
};

/// Scores, parts, curves and predictions, of one trial or of all in the order of their ids.
class Details {
 public:
  explicit Details(const Database& database, const std::string& id = "")
      : scores_(database, score_table, id),
        parts_(database, part_table, id),
        points_(database, history_table, id),
        pairs_(database, pair_table, id) {}

  /// Puts them into `trial`; ids must not fall from call to call. Returns their SHA-256.
  std::string read(TrialRecord& trial) {
    Digest digest;
    std::string split, metric;
    int64_t number = 0;
    double value = 0, output = 0;
    while (scores_.next(trial.id, split, metric, value)) {
      (split == "test" ? trial.test : trial.validation)[metric] = value;
      digest.add(split, metric, value);
    }
    // Nothing stands for no parts: the checksums of older programs hold.
    while (parts_.next(trial.id, metric, number, value)) {
      trial.test_parts[metric].push_back(value);
      digest.add(metric, value, number);
    }
    digest.add("curve");
    while (points_.next(trial.id, number, split, metric, value)) {
      trial.history.push_back({number, split, metric, value});
      digest.add(number, split, metric, value);
    }
    digest.add("predictions");
    while (pairs_.next(trial.id, number, value, output)) {
      trial.predictions.emplace_back(value, output);
      digest.add(value, output);
    }
    return digest.hex();
  }

 private:
  DetailRows scores_, parts_, points_, pairs_;
};

/// A statement that adds a row to such a table, from trial, key and values.
Statement insert_into(const Database& database, const DetailTable& table) {
  const std::string columns = fmt::format("trial, {}, {}", table.key, table.values);
  std::string marks = "?";
  for (const char c : columns)
    if (c == ',') marks += ", ?";
  return {database, fmt::format("INSERT INTO {} ({}) VALUES ({})", table.name, columns, marks)};
}

/// A statement over rows of `trials`, as TrialRow reads them.
Statement select_rows(const Database& database, const char* where) {
  return {database, fmt::format("SELECT id, config, code, data, status, message, ended_at, {}, steps, parameters, "
                                "attempts, flops, seconds, strftime('%s', ended_at) FROM trials {}",
                                has_checksums(database) ? "weights, details, digest" : "'', '', ''", where)};
}

/// A row of `trials`.
struct TrialRow {
  TrialRecord trial;
  std::string details, digest;  ///< checksums that were kept; "" for none
  std::string found;            ///< SHA-256 of the row as it is

  explicit TrialRow(const Statement& row) {
    std::string data, status, ended_at;
    row.read(trial.id, trial.config, trial.code, data, status, trial.message, ended_at, trial.weights, details, digest,
             trial.steps, trial.parameters, trial.attempts, trial.flops, trial.seconds, trial.ended);
    found = Digest()
                .add(trial.id, trial.config, trial.code, data, status, trial.message, ended_at, trial.weights, details)
                .add(trial.steps, trial.parameters, trial.attempts, trial.flops, trial.seconds)
                .hex();
    trial.data = map_from<std::string>(data);
    trial.status = status == "finished" ? TrialStatus::finished : TrialStatus::failed;
    trial.is_checked = !digest.empty();
  }
};

/// Seconds since 1970 as SQLite's CURRENT_TIMESTAMP has them: "2026-01-02 03:04:05"; "" for 0.
std::string utc_text(double seconds) {
  return seconds == 0 ? "" : fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

/// " (heads=1 seed=2)": what the plan calls it.
std::string label_of(const Database& database, const std::string& id) {
  try {
    Statement label(database, "SELECT label FROM plan WHERE trial = ?");
    return label.bind(id).step() ? fmt::format(" ({})", label.text(0)) : "";
  } catch (const Error&) {
    return "";
  }
}

[[noreturn]] void fail_damaged(const Database& database, const std::string& what) {
  fail("{0}: {1} not what was written (wrong checksum); 'headroom doctor {0}' says what is sound and can be repaired",
       database.path().string(), what);
}

/// Reads what belongs to a row; false, after a report, when one of the two is not as it was written.
bool complete(const Database& database, TrialRow& row, Depth depth, Details& details, const DamageHook& on_damage) {
  const char* damaged = nullptr;
  TrialRecord& trial = row.trial;
  if (trial.is_checked && row.found != row.digest) damaged = "its row is";
  else if (depth == Depth::whole && details.read(trial) != row.details && trial.is_checked)
    damaged = "its scores, curve or predictions are";
  if (damaged && !on_damage)
    fail_damaged(database, fmt::format("trial {}{}: {}", trial.id, label_of(database, trial.id), damaged));
  if (damaged) on_damage(trial.id, damaged);
  return !damaged;
}

struct Seal {
  int64_t count = 0;
  std::string digest = no_digest;

  /// Takes a trial in, or out again.
  void toggle(const std::string& other, int64_t by) {
    const auto value = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    for (size_t i = 0; i < std::min(digest.size(), other.size()); ++i)
      digest[i] = "0123456789abcdef"[(value(digest[i]) ^ value(other[i])) & 15];
    count += by;
  }
  bool operator==(const Seal&) const = default;
};

std::optional<Seal> read_seal(const Database& database, const char* name) {
  Statement row(database, "SELECT count, digest FROM seals WHERE name = ?");
  if (!row.bind(name).step()) return std::nullopt;
  return Seal{row.integer(0), row.text(1)};
}

/// Throws Error when there is none.
Seal seal_of_trials(const Database& database) {
  const std::optional<Seal> seal = read_seal(database, "trials");
  if (!seal) fail_damaged(database, "the seal of its trials is");
  return *seal;
}

void write_seal(const Database& database, const char* name, const Seal& seal) {
  Statement insert(database, "INSERT OR REPLACE INTO seals (name, count, digest) VALUES (?, ?, ?)");
  insert.bind(name, seal.count, seal.digest).run();
}

/// Reads a trial that was just written, and keeps its checksums. Returns that of its row.
std::string seal_row(const Database& database, const std::string& id) {
  TrialRecord details;
  details.id = id;
  const std::string sum = Details(database, id).read(details);
  Statement(database, "UPDATE trials SET details = ? WHERE id = ?").bind(sum, id).run();
  const auto digest_of_row = [&] {
    Statement row = select_rows(database, "WHERE id = ?");
    row.bind(id).step();
    return TrialRow(row).found;
  };
  const std::string digest = digest_of_row();
  Statement(database, "UPDATE trials SET digest = ? WHERE id = ?").bind(digest, id).run();
  return digest;
}

Seal digest_of_plan(const Database& database) {
  Digest digest;
  Seal seal;
  int64_t position = 0, seed = 0;
  double x = 0;
  std::string trial, series, label, choice;
  Statement plan(database, "SELECT position, trial, series, label, x, choice, seed FROM plan ORDER BY position");
  for (; plan.step(); ++seal.count) {
    plan.read(position, trial, series, label, x, choice, seed);
    digest.add(position, trial, series, label, x, choice, seed);
  }
  digest.add("study");
  Statement study(database, "SELECT key, value FROM study ORDER BY key");
  while (study.step()) digest.add(study.text(0), study.text(1));
  seal.digest = digest.hex();
  return seal;
}

}  // namespace

void for_each_trial(const Database& database, Depth depth, const std::function<void(TrialRecord&&)>& f,
                    const DamageHook& on_damage) {
  const Seal kept = has_checksums(database) ? seal_of_trials(database) : Seal{};
  Seal found;
  Statement rows = select_rows(database, "ORDER BY id");
  Details details(database);
  ReadingLine line(database.path().string(), kept.count, isatty(STDERR_FILENO) != 0 ? stderr : nullptr);
  while (rows.step()) {
    line.step();
    TrialRow row(rows);
    const bool is_whole = complete(database, row, depth, details, on_damage);
    if (row.trial.is_checked) found.toggle(row.digest, 1);
    if (is_whole) f(std::move(row.trial));
  }
  if (found == kept) return;
  const std::string what =
      fmt::format("the list of its trials is ({} of {} found with a checksum):", found.count, kept.count);
  if (!on_damage) fail_damaged(database, what);
  on_damage("", what);
}

std::optional<TrialRecord> read_trial(const Database& database, const std::string& id, Depth depth,
                                      const DamageHook& on_damage) {
  Statement select = select_rows(database, "WHERE id = ?");
  if (!select.bind(id).step()) return std::nullopt;
  Details details(database, id);
  TrialRow row(select);
  if (!complete(database, row, depth, details, on_damage)) return std::nullopt;
  return std::move(row.trial);
}

void write_trial(const Database& database, const TrialRecord& trial, int64_t attempts, double ended) {
  Seal seal = seal_of_trials(database);
  Statement old(database, "SELECT digest FROM trials WHERE id = ?");
  if (old.bind(trial.id).step() && !old.text(0).empty()) seal.toggle(old.text(0), -1);
  Statement insert(database,
                   "INSERT OR REPLACE INTO trials (id, config, code, data, status, message, steps, parameters, flops, "
                   "attempts, seconds, ended_at, weights) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                   "coalesce(nullif(?, ''), CURRENT_TIMESTAMP), ?)");
  insert
      .bind(trial.id, trial.config, trial.code, json(trial.data).dump(), name_of(trial.status), trial.message,
            trial.steps, trial.parameters, trial.flops, attempts, trial.seconds, utc_text(ended), trial.weights)
      .run();
  for (const DetailTable& table : {score_table, part_table, history_table, pair_table})
    Statement(database, fmt::format("DELETE FROM {} WHERE trial = ?", table.name)).bind(trial.id).run();
  Statement score = insert_into(database, score_table), part = insert_into(database, part_table);
  for (const auto& [metric, value] : trial.validation) score.bind(trial.id, "validation", metric, value).run();
  for (const auto& [metric, value] : trial.test) score.bind(trial.id, "test", metric, value).run();
  for (const auto& [metric, values] : trial.test_parts)
    for (size_t i = 0; i < values.size(); ++i) part.bind(trial.id, metric, static_cast<int64_t>(i), values[i]).run();
  Statement point = insert_into(database, history_table), pair = insert_into(database, pair_table);
  for (const HistoryPoint& p : trial.history) point.bind(trial.id, p.step, p.split, p.metric, p.value).run();
  int64_t position = 0;
  for (const auto& [target, output] : trial.predictions) pair.bind(trial.id, position++, target, output).run();
  seal.toggle(seal_row(database, trial.id), 1);
  write_seal(database, "trials", seal);
}

void add_checksums(const Database& database) {
  std::vector<std::string> ids;
  {
    Statement rows(database, "SELECT id FROM trials WHERE digest IS NULL");
    while (rows.step()) ids.push_back(rows.text(0));
  }
  Seal seal = read_seal(database, "trials").value_or(Seal{});
  for (const std::string& id : ids) seal.toggle(seal_row(database, id), 1);
  write_seal(database, "trials", seal);
  write_seal(database, "plan", digest_of_plan(database));
}

int64_t count_unchecked(const Database& database) {
  return database.number(has_checksums(database) ? "SELECT count(*) FROM trials WHERE digest IS NULL"
                                                 : "SELECT count(*) FROM trials");
}

void write_plan(const Database& database, const std::map<std::string, std::string>& study,
                const std::vector<PlanEntry>& plan) {
  database.run("DELETE FROM plan; DELETE FROM study");
  Statement fact(database, "INSERT INTO study (key, value) VALUES (?, ?)");
  for (const auto& [key, value] : study) fact.bind(key, value).run();
  Statement insert(database,
                   "INSERT INTO plan (position, trial, series, label, x, choice, seed) VALUES (?, ?, ?, ?, ?, ?, ?)");
  int64_t position = 0;
  for (const PlanEntry& entry : plan)
    insert.bind(position++, entry.id, entry.series, entry.label, entry.x, json(entry.choice).dump(), entry.seed).run();
  write_seal(database, "plan", digest_of_plan(database));
}

void check_plan(const Database& database) {
  const auto seal = has_checksums(database) ? read_seal(database, "plan") : std::nullopt;
  if (seal && *seal != digest_of_plan(database)) fail_damaged(database, "the plan of its latest run is");
}

std::vector<PlanEntry> read_plan(const Database& database) {
  check_plan(database);
  std::vector<PlanEntry> plan;
  Statement rows(database, "SELECT trial, series, label, x, choice, seed FROM plan ORDER BY position");
  while (rows.step()) {
    PlanEntry& entry = plan.emplace_back();
    std::string choice;
    rows.read(entry.id, entry.series, entry.label, entry.x, choice, entry.seed);
    entry.choice = map_from<double>(choice);
  }
  return plan;
}

std::map<std::string, std::string> read_study(const Database& database) {
  check_plan(database);
  std::map<std::string, std::string> study;
  Statement rows(database, "SELECT key, value FROM study");
  while (rows.step()) study[rows.text(0)] = rows.text(1);
  return study;
}

}  // namespace headroom::experiments
