#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "engine/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace headroom::experiments {

/// Makes the folder of a run's files and those above it. Throws Error naming it.
inline void make_run_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require(!error, "{}: cannot make the folder: {}", folder.string(), error.message());
}

/// A connection to one SQLite file with a write-ahead log: a commit survives a killed process, and readers never wait
/// for the writer. Every Error names the file. Not for several threads at once.
class Database {
 public:
  /// Opens the file, or makes it and its folder. With `is_read_only` the file must exist, and nothing is written beside
  /// it that a folder without write permission would refuse.
  Database(std::filesystem::path path, bool is_read_only);
  /// An empty database of this object's own, in memory; errors give it the name of `path`.
  static Database in_memory(std::filesystem::path path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Goes on with an empty database in memory in the place of what there was, under the same name.
  void stand_in_memory();
  /// Runs statements without results.
  void run(const char* sql) const;
  /// The value of a query that is one number; 0 where it has no row.
  int64_t number(const char* sql) const;
  bool has_table(const std::string& name) const;
  sqlite3* handle() const { return handle_; }
  const std::filesystem::path& path() const { return path_; }
  [[noreturn]] void complain() const;

 private:
  friend class Statement;
  sqlite3_stmt* prepare(std::string_view sql) const;
  void give_back(sqlite3_stmt* statement) const;
  void close();
  struct InMemory {};
  Database(std::filesystem::path path, InMemory);
  void open(bool is_read_only);

  std::filesystem::path path_;
  sqlite3* handle_ = nullptr;
  mutable std::unordered_map<std::string, std::vector<sqlite3_stmt*>> idle_;  ///< prepared, by their text
};

/// A prepared statement; parameters and columns count from 1 and from 0, as SQLite's.
class Statement {
 public:
  Statement(const Database& database, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Binds parameters 1, 2, … in order.
  template <class... Values>
  Statement& bind(const Values&... values) {
    int i = 0;
    (bind_one(++i, values), ...);
    return *this;
  }
  /// Whether there is a row.
  bool step();
  /// step() of a statement without results, and ready for other parameters. How many rows it changed.
  int64_t run();
  /// Puts columns 0, 1, … of the row into `values`, in order.
  template <class... Values>
  void read(Values&... values) const {
    int i = 0;
    (read_one(i++, values), ...);
  }
  std::string text(int column) const;
  /// NaN for NULL, which is how SQLite keeps a NaN.
  double real(int column) const;
  int64_t integer(int column) const;

 private:
  void bind_one(int i, const std::string& text);
  void bind_one(int i, const char* text) { bind_one(i, std::string(text)); }
  void bind_one(int i, int64_t value);
  void bind_one(int i, double value);
  void read_one(int column, std::string& to) const { to = text(column); }
  void read_one(int column, int64_t& to) const { to = integer(column); }
  void read_one(int column, double& to) const { to = real(column); }

  const Database& database_;
  sqlite3_stmt* statement_ = nullptr;
};

/// What is read while it lives is of one moment.
class Snapshot {
 public:
  explicit Snapshot(const Database& database) : database_(database) { database_.run("BEGIN"); }
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

 private:
  const Database& database_;
};

/// What happens while it lives is undone unless commit() was reached. It holds the file's write lock from the start, so
/// that what it reads stays true until then.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) { database_.run("BEGIN IMMEDIATE"); }
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool is_open_ = true;
};

}  // namespace headroom::experiments
