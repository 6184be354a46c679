#pragma once
#include <cstdint>
#include <functional>
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
/// A to Z, a to z, 0 to 9, in every locale.
constexpr bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
/// True if a name suits a folder: only letters, digits, - and _, 1 to 100 of them.
bool is_folder_name(const std::string& name);
/// The problem with a name that is not allowed.
std::string no_folder_name(const std::string& name);
/// "train.optimizer.lr" → {"train", "optimizer", "lr"}.
std::vector<std::string> split_path(const std::string& path);
/// The entry at a dotted path below `root`; null if there is none.
const Entry* find_path(const Value& root, const std::string& path);
/// The string there; "" if there is none.
std::string text_at(const Value& root, const std::string& path);
/// The entries of a table and of the tables in it, each with its dotted path for a key. A table is taken apart unless
/// `is_leaf(path, value)`; what is no table always is one.
std::vector<Entry> leaves_of(const Value& table, const std::function<bool(const std::string&, const Value&)>& is_leaf);

/// Replaces keys of `base` by those of `changes`. A table written in braces replaces as a whole; one written with
/// dotted keys or a header is merged key by key.
void merge(Value& base, const Value& changes);
/// Sets one key below `root`, making tables on the way.
void set_path(Value& root, const std::vector<std::string>& path, const Place& place, const Value& value);

}  // namespace headroom::experiments
