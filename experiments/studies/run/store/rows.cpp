#include "experiments/studies/run/store/rows.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "experiments/studies/run/store/digest.h"
#include "experiments/studies/run/store/reading_line.h"

namespace headroom::experiments {
namespace {

using nlohmann::json;

const std::string no_digest(64, '0');

bool has_checksums(const Database& database) {
  Statement column(database, "SELECT 1 FROM pragma_table_info('trials') WHERE name = 'digest'");
  return column.step();
}

std::map<std::string, std::string> texts_of(const std::string& text) {
  const json object = json::parse(text, nullptr, false);
  std::map<std::string, std::string> map;
  if (object.is_object())
    for (const auto& [name, value] : object.items())
      if (value.is_string()) map[name] = value.get<std::string>();
  return map;
}

std::string select_rows(const Database& database, const char* where) {
  return fmt::format(
      "SELECT id, config, code, data, status, message, steps, parameters, flops, seconds, strftime('%s', ended_at), "
      "attempts, ended_at, {} FROM trials {}",
      has_checksums(database) ? "weights, details, digest" : "'', '', ''", where);
}

/// SHA-256 of a row of select_rows().
std::string digest_of(const Statement& row) {
  Digest digest;
  for (const int text : {0, 1, 2, 3, 4, 5, 12, 13, 14}) digest.add(row.text(text));
  for (const int number : {6, 7, 11}) digest.add(row.integer(number));
  for (const int number : {8, 9}) digest.add(row.real(number));
  return digest.hex();
}

TrialRecord row_from(const Statement& row) {
  TrialRecord trial;
  trial.id = row.text(0);
  trial.config = row.text(1);
  trial.code = row.text(2);
  trial.data = texts_of(row.text(3));
  trial.status = row.text(4) == "finished" ? TrialStatus::finished : TrialStatus::failed;
  trial.message = row.text(5);
  trial.steps = row.integer(6);
  trial.parameters = row.integer(7);
  trial.flops = row.real(8);
  trial.seconds = row.real(9);
  trial.ended = row.real(10);
  trial.attempts = row.integer(11);
  trial.weights = row.text(13);
  trial.is_checked = !row.text(15).empty();
  return trial;
}

/// Seconds since 1970 as SQLite's CURRENT_TIMESTAMP has them: "2026-01-02 03:04:05"; "" for 0.
std::string utc_text(double seconds) {
  return seconds == 0 ? "" : fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

bool has_parts(const Database& database) {
  Statement column(database, "SELECT 1 FROM pragma_table_info('test_parts') WHERE name = 'part'");
  return column.step();
}

/// Scores, parts, curves and predictions, of one trial or of all in the order of their ids.
class Details {
 public:
  explicit Details(const Database& database, const std::string& id = "")
      : scores_(database, sql("trial, split, metric, value FROM scores", id, "split, metric").c_str()),
        parts_(database, sql(has_parts(database) ? "trial, metric, value, part FROM test_parts"
                                                 : "* FROM (SELECT '' trial, '' metric, 0 value, 0 part LIMIT 0)",
                             id, "metric, part")
                             .c_str()),
        points_(database, sql("trial, step, split, metric, value FROM metrics", id, "step, split, metric").c_str()),
        pairs_(database, sql("trial, target, output FROM predictions", id, "position").c_str()) {
    for (Rows* rows : {&scores_, &parts_, &points_, &pairs_}) {
      if (!id.empty()) rows->statement.bind(id);
      rows->next();
    }
  }

  /// Puts them into `trial`; ids must not fall from call to call. Returns their SHA-256.
  std::string read(TrialRecord& trial) {
    Digest digest;
    each(scores_, trial.id, [&](const Statement& row) {
      (row.text(1) == "test" ? trial.test : trial.validation)[row.text(2)] = row.real(3);
      digest.add(row.text(1)).add(row.text(2)).add(row.real(3));
    });
    // Nothing stands for no parts: the checksums of older programs hold.
    each(parts_, trial.id, [&](const Statement& row) {
      trial.test_parts[row.text(1)].push_back(row.real(2));
      digest.add(row.text(1)).add(row.real(2)).add(row.integer(3));
    });
    digest.add("curve");
    each(points_, trial.id, [&](const Statement& row) {
      trial.history.push_back({row.integer(1), row.text(2), row.text(3), row.real(4)});
      digest.add(row.integer(1)).add(row.text(2)).add(row.text(3)).add(row.real(4));
    });
    digest.add("predictions");
    each(pairs_, trial.id, [&](const Statement& row) {
      trial.predictions.emplace_back(row.real(1), row.real(2));
      digest.add(row.real(1)).add(row.real(2));
    });
    return digest.hex();
  }

 private:
  struct Rows {
    Statement statement;
    bool has_row = false;
    Rows(const Database& database, const char* text) : statement(database, text) {}
    void next() { has_row = statement.step(); }
  };
  static std::string sql(const char* columns, const std::string& id, const char* order) {
    return fmt::format("SELECT {} {} ORDER BY trial, {}", columns, id.empty() ? "" : "WHERE trial = ?", order);
  }
  template <class F>
  static void each(Rows& rows, const std::string& id, const F& f) {
    while (rows.has_row && rows.statement.text(0) < id) rows.next();
    for (; rows.has_row && rows.statement.text(0) == id; rows.next()) f(rows.statement);
  }

  Rows scores_, parts_, points_, pairs_;
};

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

void report(const Database& database, const std::string& id, const char* what, const DamageHook& on_damage) {
  if (on_damage) return on_damage(id, what);
  fail_damaged(database, fmt::format("trial {}{}: {}", id, label_of(database, id), what));
}

/// Reads what belongs to a row; false, after a report, when one of the two is not as it was written.
bool complete(const Database& database, const Statement& statement, Depth depth, Details* details, TrialRecord& trial,
              const DamageHook& on_damage) {
  trial = row_from(statement);
  if (trial.is_checked && digest_of(statement) != statement.text(15)) {
    report(database, trial.id, "its row is", on_damage);
    return false;
  }
  if (depth == Depth::row) return true;
  if (details->read(trial) == statement.text(14) || !trial.is_checked) return true;
  report(database, trial.id, "its scores, curve or predictions are", on_damage);
  return false;
}

struct Seal {
  int64_t count = 0;
  std::string digest = no_digest;

  /// Takes a trial in, or out again.
  void toggle(const std::string& other, int64_t by) {
    const auto value = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    for (size_t i = 0; i < digest.size() && i < other.size(); ++i)
      digest[i] = "0123456789abcdef"[(value(digest[i]) ^ value(other[i])) & 15];
    count += by;
  }
  bool operator==(const Seal&) const = default;
};

/// False when there is none.
bool read_seal(const Database& database, const char* name, Seal& seal) {
  Statement row(database, "SELECT count, digest FROM seals WHERE name = ?");
  if (!row.bind(name).step()) return false;
  seal.count = row.integer(0);
  seal.digest = row.text(1);
  return true;
}

void write_seal(const Database& database, const char* name, const Seal& seal) {
  Statement insert(database, "INSERT OR REPLACE INTO seals (name, count, digest) VALUES (?, ?, ?)");
  insert.bind(name, seal.count, seal.digest).run();
}

/// Reads a trial that was just written, and keeps its checksums. Returns that of its row.
std::string seal_row(const Database& database, const std::string& id) {
  TrialRecord details;
  details.id = id;
  Statement set_details(database, "UPDATE trials SET details = ? WHERE id = ?");
  set_details.bind(Details(database, id).read(details), id).run();
  std::string digest;
  {
    Statement row(database, select_rows(database, "WHERE id = ?").c_str());
    row.bind(id).step();
    digest = digest_of(row);
  }
  Statement set_digest(database, "UPDATE trials SET digest = ? WHERE id = ?");
  set_digest.bind(digest, id).run();
  return digest;
}

Seal digest_of_plan(const Database& database) {
  Digest digest;
  Seal seal;
  Statement plan(database, "SELECT position, trial, series, label, x, choice, seed FROM plan ORDER BY position");
  for (; plan.step(); ++seal.count) {
    digest.add(plan.integer(0)).add(plan.text(1)).add(plan.text(2)).add(plan.text(3)).add(plan.real(4));
    digest.add(plan.text(5)).add(plan.integer(6));
  }
  digest.add("study");
  Statement study(database, "SELECT key, value FROM study ORDER BY key");
  while (study.step()) digest.add(study.text(0)).add(study.text(1));
  seal.digest = digest.hex();
  return seal;
}

}  // namespace

void for_each_trial(const Database& database, Depth depth, const std::function<void(TrialRecord&&)>& f,
                    const DamageHook& on_damage) {
  Seal seal, kept;
  if (has_checksums(database) && !read_seal(database, "trials", kept))
    fail_damaged(database, "the seal of its trials is");
  Statement rows(database, select_rows(database, "ORDER BY id").c_str());
  Details details(database);
  ReadingLine line(database.path().string(), kept.count, reading_line_output());
  while (rows.step()) {
    line.step();
    TrialRecord trial;
    const bool is_sound = complete(database, rows, depth, &details, trial, on_damage);
    if (trial.is_checked) seal.toggle(rows.text(15), 1);
    if (is_sound) f(std::move(trial));
  }
  if (seal == kept) return;
  const std::string what =
      fmt::format("the list of its trials is ({} of {} found with a checksum):", seal.count, kept.count);
  if (on_damage) on_damage("", what);
  else fail_damaged(database, what);
}

bool read_trial(const Database& database, const std::string& id, Depth depth, TrialRecord& trial,
                const DamageHook& on_damage) {
  Statement select(database, select_rows(database, "WHERE id = ?").c_str());
  if (!select.bind(id).step()) return false;
  Details details(database, id);
  return complete(database, select, depth, &details, trial, on_damage);
}

void write_trial(const Database& database, const TrialRecord& trial, int64_t attempts, double ended) {
  Seal seal;
  if (!read_seal(database, "trials", seal)) fail_damaged(database, "the seal of its trials is");
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
  for (const char* sql : {"DELETE FROM scores WHERE trial = ?", "DELETE FROM test_parts WHERE trial = ?",
                          "DELETE FROM metrics WHERE trial = ?", "DELETE FROM predictions WHERE trial = ?"})
    Statement(database, sql).bind(trial.id).run();
  Statement score(database, "INSERT INTO scores (trial, split, metric, value) VALUES (?, ?, ?, ?)");
  for (const auto& [metric, value] : trial.validation) score.bind(trial.id, "validation", metric, value).run();
  for (const auto& [metric, value] : trial.test) score.bind(trial.id, "test", metric, value).run();
  Statement part(database, "INSERT INTO test_parts (trial, metric, part, value) VALUES (?, ?, ?, ?)");
  for (const auto& [metric, values] : trial.test_parts)
    for (size_t i = 0; i < values.size(); ++i) part.bind(trial.id, metric, static_cast<int64_t>(i), values[i]).run();
  Statement point(database, "INSERT INTO metrics (trial, step, split, metric, value) VALUES (?, ?, ?, ?, ?)");
  for (const HistoryPoint& p : trial.history) point.bind(trial.id, p.step, p.split, p.metric, p.value).run();
  Statement pair(database, "INSERT INTO predictions (trial, position, target, output) VALUES (?, ?, ?, ?)");
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
  Seal seal;
  read_seal(database, "trials", seal);
  for (const std::string& id : ids) seal.toggle(seal_row(database, id), 1);
  write_seal(database, "trials", seal);
}

int64_t count_unchecked(const Database& database) {
  Statement count(database, has_checksums(database) ? "SELECT count(*) FROM trials WHERE digest IS NULL"
                                                    : "SELECT count(*) FROM trials");
  return count.step() ? count.integer(0) : 0;
}

void seal_plan(const Database& database) { write_seal(database, "plan", digest_of_plan(database)); }

void check_plan(const Database& database) {
  Seal seal;
  if (!has_checksums(database) || !read_seal(database, "plan", seal)) return;  // of an older program
  if (!(digest_of_plan(database) == seal)) fail_damaged(database, "the plan of its latest run is");
}

}  // namespace headroom::experiments
