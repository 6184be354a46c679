#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace headroom::experiments {

/// Where something was written: "FILE:LINE:COLUMN", or only its source (a file, a `--set` argument) when line is 0.
struct Place {
  std::string source;
  int line = 0, column = 0;
  std::string str() const;
};

struct Entry;

/// A TOML value that remembers its place. Tables keep the order of the file.
struct Value {
  enum class Kind { boolean, integer, real, text, list, table };
  Kind kind = Kind::table;
  bool boolean = false;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<Value> list;
  std::vector<Entry> table;
  bool is_inline = false;  ///< a table written in braces
  Place place;

  bool is_number() const { return kind == Kind::integer || kind == Kind::real; }
  double number() const { return kind == Kind::integer ? static_cast<double>(integer) : real; }
  /// The entry of a table, or null. Null for anything but a table.
  const Entry* find(const std::string& key) const;
  Entry* find(const std::string& key);
};

struct Entry {
  std::string key;
  Place place;  ///< of the key
  Value value;
};

/// "an integer", "a string", … for messages.
const char* name_of(Value::Kind kind);
/// A number without trailing zeros, a quoted string, …: short, for messages.
std::string to_text(const Value& value);
/// Whether a name can be a folder's, and nothing else: letters, digits, - and _, 1 to 100 of them.
bool is_folder_name(const std::string& name);
/// "train.optimizer.lr" → {"train", "optimizer", "lr"}.
std::vector<std::string> split_path(const std::string& path);

/// Replaces keys of `base` by those of `changes`. A table written in braces replaces as a whole; one written with
/// dotted keys or a header is merged key by key.
void merge(Value& base, const Value& changes);
/// Sets one key below `root`, making tables on the way.
void set_path(Value& root, const std::vector<std::string>& path, const Place& place, const Value& value);

}  // namespace headroom::experiments
