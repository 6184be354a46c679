#include "experiments/studies/run/store/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "engine/error.h"
#include "models/files/regular_file.h"

namespace headroom::experiments {
namespace {

constexpr int busy_milliseconds = 60000;

/// The path as a URI of a file that nobody writes to: read without the files that a write-ahead log needs beside it.
std::string immutable_uri(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (const char c : path.string()) {
    const bool is_special = c == '?' || c == '#' || c == '%';
    uri += is_special ? fmt::format("%{:02x}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return uri + "?immutable=1";
}

std::string system_text(int reason) { return reason == 0 ? "" : fmt::format(" ({})", std::strerror(reason)); }

}  // namespace

Database::Database(std::filesystem::path path, bool is_read_only) : path_(std::move(path)) {
  if (!is_read_only) make_run_folder(path_.parent_path());
  try {
    open(is_read_only);
  } catch (const Error&) {
    close();
    throw;
  }
}

Database::Database(std::filesystem::path path, InMemory) : path_(std::move(path)) { stand_in_memory(); }

Database Database::in_memory(std::filesystem::path path) { return Database(std::move(path), InMemory()); }

Database::~Database() { close(); }

void Database::close() {
  for (const auto& [text, statements] : idle_)
    for (sqlite3_stmt* statement : statements) sqlite3_finalize(statement);
  idle_.clear();
  sqlite3_close(handle_);
  handle_ = nullptr;
}

sqlite3_stmt* Database::prepare(std::string_view sql) const {
  if (const auto idle = idle_.find(std::string(sql)); idle != idle_.end() && !idle->second.empty()) {
    sqlite3_stmt* const statement = idle->second.back();
    idle->second.pop_back();
    return statement;
  }
  sqlite3_stmt* statement = nullptr;
  const int size = static_cast<int>(sql.size());
  if (sqlite3_prepare_v2(handle_, sql.data(), size, &statement, nullptr) != SQLITE_OK) complain();
  return statement;
}

void Database::give_back(sqlite3_stmt* statement) const {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  try {
    idle_[sqlite3_sql(statement)].push_back(statement);
  } catch (const std::exception&) {  // there is no memory for it
    sqlite3_finalize(statement);
  }
}

void Database::open(bool is_read_only) {
  // SQLite follows links, waits at a named pipe, and makes the file that a link to nothing names.
  for (const char* ending : {"", "-wal", "-shm", "-journal"}) {
    const std::string name = path_.string() + ending;
    struct stat status {};
    const bool is_there = fstatat(AT_FDCWD, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    const char* const other = is_there ? models::other_than_regular(status.st_mode) : nullptr;
    require(!other, "{}: run store: is {}, not a file; move it aside", name, other ? other : "");
  }
  const bool is_closed_folder = is_read_only && access(path_.parent_path().c_str(), W_OK) != 0;
  const std::string name = is_closed_folder ? immutable_uri(path_) : path_.string();
  const int flags = (is_closed_folder ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE) |
                    (is_read_only ? 0 : SQLITE_OPEN_CREATE);
  if (sqlite3_open_v2(name.c_str(), &handle_, flags, nullptr) != SQLITE_OK) complain();
  sqlite3_busy_timeout(handle_, busy_milliseconds);
  run("PRAGMA temp_store = MEMORY");  // what is sorted: a full TMPDIR is no reason to stop
  if (is_closed_folder) return;
  // SQLite does not wait for others on this change alone: two runs may make one store at the same time.
  for (int tries = 0; sqlite3_exec(handle_, "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr) != SQLITE_OK;) {
    if (sqlite3_errcode(handle_) != SQLITE_BUSY || ++tries == busy_milliseconds / 10) complain();
    usleep(10000);
  }
  run("PRAGMA synchronous = NORMAL");
}

void Database::stand_in_memory() {
  close();
  if (sqlite3_open(":memory:", &handle_) != SQLITE_OK) complain();
}

void Database::complain() const {
  const int last = errno;                            // SQLite does not keep that of a failed COMMIT
  const int code = sqlite3_errcode(handle_) & 0xff;  // without the extended part
  const bool is_damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
  const bool is_closed =
      (code == SQLITE_CANTOPEN || code == SQLITE_READONLY) && access(path_.parent_path().c_str(), W_OK) != 0;
  const int closed_reason = errno, kept = sqlite3_system_errno(handle_), system_reason = kept != 0 ? kept : last;
  std::error_code none;
  const size_t bytes = std::filesystem::absolute(path_, none).string().size() + std::strlen("-journal");
  const auto most = static_cast<size_t>(sqlite3_vfs_find(nullptr)->mxPathname);
  std::string more;
  if (is_damaged) more = "; it is damaged: move it aside, and the next run makes another";
  else if (code == SQLITE_BUSY)
    more = "; another process is writing to it, and has not come to an end: is one stopped?";
  else if (is_closed)
    more = fmt::format(": the folder cannot be written to ({}); --out names another", std::strerror(closed_reason));
  else if (code == SQLITE_CANTOPEN && bytes > most)
    more = fmt::format(": its path has {} bytes, and SQLite takes at most {}; name a shorter --out",
                       bytes - std::strlen("-journal"), most - std::strlen("-journal"));
  else if (code == SQLITE_IOERR || code == SQLITE_CANTOPEN) more = system_text(system_reason);
  fail("{}: run store: {}{}", path_.string(), sqlite3_errmsg(handle_), more);
}

void Database::run(const char* sql) const {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) complain();
}

int64_t Database::number(const char* sql) const {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

bool Database::has_table(const std::string& name) const {
  Statement statement(*this, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?");
  return statement.bind(name).step();
}

Statement::Statement(const Database& database, std::string_view sql)
    : database_(database), statement_(database.prepare(sql)) {}

Statement::~Statement() { database_.give_back(statement_); }

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) database_.complain();
  return code == SQLITE_ROW;
}

int64_t Statement::run() {
  step();
  const int64_t changed = sqlite3_changes(database_.handle());
  sqlite3_reset(statement_);
  return changed;
}

void Statement::bind_one(int i, const std::string& text) {
  if (sqlite3_bind_text(statement_, i, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT) != SQLITE_OK)
    database_.complain();
}

void Statement::bind_one(int i, int64_t value) { sqlite3_bind_int64(statement_, i, value); }

void Statement::bind_one(int i, double value) { sqlite3_bind_double(statement_, i, value); }

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes ? std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column))) : "";
}

double Statement::real(int column) const {
  if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(statement_, column);
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }

Snapshot::~Snapshot() { sqlite3_exec(database_.handle(), "COMMIT", nullptr, nullptr, nullptr); }

Transaction::~Transaction() {
  if (is_open_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  database_.run("COMMIT");
  is_open_ = false;
}

}  // namespace headroom::experiments
