#include "experiments/run/store.h"

#include <sqlite3.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/error.h"

namespace headroom::experiments {
namespace {

constexpr const char* schema = R"(
  CREATE TABLE IF NOT EXISTS trials (
    id          TEXT PRIMARY KEY,
    config      TEXT NOT NULL,  -- canonical JSON
    status      TEXT NOT NULL,  -- finished | failed
    message     TEXT NOT NULL,  -- why it failed
    validation  TEXT NOT NULL,  -- JSON: metric -> value
    test        TEXT NOT NULL,
    parameters  INTEGER NOT NULL,
    flops       REAL NOT NULL,
    seconds     REAL NOT NULL,
    ended_at    TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
  ) WITHOUT ROWID;
)";

/// A prepared statement.
class Statement {
 public:
  Statement(sqlite3* db, const std::filesystem::path& path, const char* sql) : db_(db), path_(path) {
    check(sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr), SQLITE_OK);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int i, const std::string& text) {
    check(sqlite3_bind_text(statement_, i, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT), SQLITE_OK);
  }
  void bind(int i, int64_t value) { check(sqlite3_bind_int64(statement_, i, value), SQLITE_OK); }
  void bind(int i, double value) { check(sqlite3_bind_double(statement_, i, value), SQLITE_OK); }
  /// Whether there is a row.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW) check(code, SQLITE_DONE);
    return code == SQLITE_ROW;
  }
  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes ? bytes : "";
  }
  double real(int column) const { return sqlite3_column_double(statement_, column); }
  int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  void check(int code, int wanted) const {
    if (code != wanted) fail("{}: run store: {}", path_.string(), sqlite3_errmsg(db_));
  }
  sqlite3* db_;
  const std::filesystem::path& path_;
  sqlite3_stmt* statement_ = nullptr;
};

void run(sqlite3* db, const std::filesystem::path& path, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    fail("{}: run store: {}", path.string(), sqlite3_errmsg(db));
}

std::map<std::string, double> metrics_from(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  std::map<std::string, double> metrics;
  if (json.is_object())
    for (const auto& [name, value] : json.items())
      if (value.is_number()) metrics[name] = value.get<double>();
  return metrics;
}

}  // namespace

RunStore::RunStore(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  require(!error, "{}: cannot make the folder: {}", path.parent_path().string(), error.message());
  try {
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) fail("{}: run store: {}", path.string(), sqlite3_errmsg(db_));
    sqlite3_busy_timeout(db_, 10000);
    run(db_, path_, "PRAGMA journal_mode = WAL");
    run(db_, path_, "PRAGMA synchronous = NORMAL");
    run(db_, path_, schema);
  } catch (const Error&) {
    sqlite3_close(db_);
    throw;
  }
}

RunStore::~RunStore() { sqlite3_close(db_); }

std::optional<TrialRecord> RunStore::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  Statement select(db_, path_,
                   "SELECT status, message, validation, test, parameters, flops, seconds FROM trials WHERE id = ?");
  select.bind(1, id);
  if (!select.step()) return std::nullopt;
  TrialRecord trial;
  trial.id = id;
  trial.status = select.text(0) == "finished" ? TrialStatus::finished : TrialStatus::failed;
  trial.message = select.text(1);
  trial.validation = metrics_from(select.text(2));
  trial.test = metrics_from(select.text(3));
  trial.parameters = select.integer(4);
  trial.flops = select.real(5);
  trial.seconds = select.real(6);
  return trial;
}

void RunStore::put(const TrialRecord& trial, const std::string& config_json) {
  const std::lock_guard lock(mutex_);
  Statement insert(db_, path_,
                   "INSERT OR REPLACE INTO trials (id, config, status, message, validation, test, parameters, flops, "
                   "seconds) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.bind(1, trial.id);
  insert.bind(2, config_json);
  insert.bind(3, std::string(trial.status == TrialStatus::finished ? "finished" : "failed"));
  insert.bind(4, trial.message);
  insert.bind(5, nlohmann::json(trial.validation).dump());
  insert.bind(6, nlohmann::json(trial.test).dump());
  insert.bind(7, trial.parameters);
  insert.bind(8, trial.flops);
  insert.bind(9, trial.seconds);
  insert.step();
}

}  // namespace headroom::experiments
