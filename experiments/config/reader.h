#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiments/config/problems.h"
#include "experiments/config/value.h"

namespace headroom::experiments {

/// Allowed values of a number. An open end is excluded.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false, high_open = false;
  bool holds(double x) const { return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high); }
  /// ">= 1", "in [0, 1)".
  std::string str() const;
};
constexpr Bounds at_least(double low) { return {.low = low}; }
constexpr Bounds above(double low) { return {.low = low, .low_open = true}; }
constexpr Bounds fraction{.low = 0, .high = 1, .high_open = true};  ///< [0, 1)

/// Reads one table strictly. Each call reads one key, or gives `otherwise` when the key is absent or wrong; finish()
/// reports the keys that no call asked for. A number may be a string: arithmetic over keys of the same table, or of the
/// tables around it.
class Reader {
 public:
  Reader(const Value& table, std::string path, Problems& problems, const Reader* outer = nullptr)
      : table_(table), path_(std::move(path)), problems_(problems), outer_(outer) {}

  bool has(const std::string& key) const { return table_.find(key) != nullptr; }
  /// Where a key stands; where the table stands when the key is absent.
  Place place(const std::string& key) const;
  const Place& place() const { return table_.place; }
  std::string path(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }
  Problems& problems() const { return problems_; }
  /// Reports a problem with one key.
  void complain(const std::string& key, const std::string& message) const;

  /// Each of these reports a missing key when the read has no default.
  int64_t integer(const std::string& key, std::optional<int64_t> otherwise, const Bounds& bounds = {});
  double real(const std::string& key, std::optional<double> otherwise, const Bounds& bounds = {});
  bool flag(const std::string& key, bool otherwise);
  std::string text(const std::string& key, std::optional<std::string> otherwise);
  template <class E>
  E choice(const std::string& key, E otherwise, const std::vector<std::pair<const char*, E>>& names);
  /// A list of literal numbers.
  std::vector<double> numbers(const std::string& key);
  /// Calls f with a reader of a sub-table, when there is one; it must call finish() itself on deeper ones only.
  void table(const std::string& key, const std::function<void(Reader&)>& f);
  /// The same for each table of a list; a single table counts as a list of one.
  void tables(const std::string& key, const std::function<void(Reader&)>& f);
  /// Takes a key as it is, null when absent.
  const Value* raw(const std::string& key);
  /// Reports every key that was not asked for.
  void finish();

 private:
  std::optional<double> number(const std::string& key, const Value& value) const;
  double lookup(const std::string& name, std::vector<std::string>& pending) const;
  const Value* ask(const std::string& key, bool is_required);
  std::string choose(const std::string& key, const std::string& otherwise, const std::vector<std::string>& names);

  const Value& table_;
  std::string path_;
  Problems& problems_;
  const Reader* outer_;
  std::set<std::string> asked_;
};

template <class E>
E Reader::choice(const std::string& key, E otherwise, const std::vector<std::pair<const char*, E>>& names) {
  std::vector<std::string> words;
  std::string word;
  for (const auto& [name, value] : names) {
    words.push_back(name);
    if (value == otherwise) word = name;
  }
  word = choose(key, word, words);
  for (const auto& [name, value] : names)
    if (word == name) return value;
  return otherwise;
}

}  // namespace headroom::experiments
