#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/name_table.h"
#include "experiments/studies/toml/complaints.h"
#include "experiments/studies/toml/schema.h"
#include "experiments/studies/toml/value.h"

namespace headroom::experiments {

using Numbers = std::map<std::string, double>;

/// The default of a key: a value, a value that other keys decide (with a description for the schema), or std::nullopt,
/// which makes the key required.
template <class T>
struct Default {
  std::optional<T> value;
  std::string words;
  template <std::convertible_to<T> U>
  Default(U&& given) : value(std::forward<U>(given)) {}         // NOLINT: defaults are written as plain values
  Default(std::nullopt_t) {}                                    // NOLINT
  Default(std::optional<T> given) : value(std::move(given)) {}  // NOLINT
  template <std::convertible_to<T> U>
  Default(U&& given, std::string in_words) : value(std::forward<U>(given)), words(std::move(in_words)) {}
};

/// Reads one table strictly, and records what it read. Each call reads one key, or gives `fallback` when the key is
/// absent or wrong; finish() reports the keys that no call asked for. A number may be a string: arithmetic over keys of
/// the same table or of the tables around it, and over whatever was read before ("task.length": [task] is read first,
/// then [model], then [train]). `doc` is one line on the key, for `headroom schema`.
class Reader {
 public:
  Reader(const Value& table, std::string path, Complaints& problems);
  /// Reads nothing: each key that is asked for is added to `schema`, every branch of when() is taken, and all tables
  /// count as present once and empty. What it gives are defaults.
  Reader(Schema& schema, Complaints& unused);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Always false while a schema is made.
  bool has(const std::string& key) const { return table_->find(key) != nullptr; }
  /// True if a key exists and holds a string.
  bool is_text(const std::string& key) const { return has(key) && table_->find(key)->value.kind == Value::Kind::text; }
  bool has_empty_text(const std::string& key) const { return is_text(key) && table_->find(key)->value.text.empty(); }
  /// The place of a key, or of the table if the key is absent.
  Place place(const std::string& key) const;
  const Place& place() const { return table_->place; }
  std::string path(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }
  Complaints& problems() const { return problems_; }
  /// Reports a problem with a key.
  void complain(const std::string& key, const std::string& message) const;
  /// Runs f; reports an Error that it throws as a problem with the key.
  void attempt(const std::string& key, const std::function<void()>& f) const;

  int64_t integer(const std::string& key, const Default<int64_t>& fallback, const Bounds& bounds, const char* doc);
  double real(const std::string& key, const Default<double>& fallback, const Bounds& bounds, const char* doc);
  /// Nothing when the key is absent.
  std::optional<double> optional_real(const std::string& key, const Bounds& bounds, const char* doc);
  bool flag(const std::string& key, const Default<bool>& fallback, const char* doc);
  /// A required one must not be empty.
  std::string text(const std::string& key, const Default<std::string>& fallback, const char* doc);
  /// One of `words`; the first when the key is required and missing.
  std::string word(const std::string& key, const Default<std::string>& fallback, const std::vector<std::string>& words,
                   const char* doc);
  /// The same by name, for an enumeration.
  template <class E>
  E choice(const std::string& key, E fallback, const std::vector<std::pair<const char*, E>>& names, const char* doc);
  /// Reads a key into a field, whose present value is the default.
  void set(const std::string& key, int64_t& field, const Bounds& bounds, const char* doc) {
    field = integer(key, field, bounds, doc);
  }
  void set(const std::string& key, double& field, const Bounds& bounds, const char* doc) {
    field = real(key, field, bounds, doc);
  }
  void set(const std::string& key, bool& field, const char* doc) { field = flag(key, field, doc); }
  void set(const std::string& key, std::string& field, const char* doc) { field = text(key, field, doc); }
  template <class E>
  void set(const std::string& key, E& field, const std::vector<std::pair<const char*, std::type_identity_t<E>>>& names,
           const char* doc) {
    field = choice(key, field, names, doc);
  }
  template <class E, size_t N>
  void set(const std::string& key, E& field, const NameTable<E, N>& names, const char* doc) {
    std::vector<std::pair<const char*, E>> words;
    for (const auto& [value, name] : names) words.emplace_back(name, value);
    field = choice(key, field, words, doc);
  }
  /// A list of literal, finite numbers; empty when the key is absent.
  std::vector<double> numbers(const std::string& key, const char* doc);
  /// A string or a list of strings; empty when the key is absent.
  std::vector<std::string> texts(const std::string& key, const char* doc);
  /// Calls f with a reader of a sub-table. An absent one counts as empty, so that its defaults are recorded.
  void table(const std::string& key, const char* doc, const std::function<void(Reader&)>& f) {
    read_table(key, doc, false, f);
  }
  /// Calls f only when the sub-table is there. True when it is.
  bool optional_table(const std::string& key, const char* doc, const std::function<void(Reader&)>& f) {
    return read_table(key, doc, true, f);
  }
  /// Calls f for each table of a list, none when it is absent; a single table counts as a list of one.
  void tables(const std::string& key, const char* doc, const std::function<void(Reader&)>& f);
  /// Returns a key's unparsed value, null if absent.
  const Value* raw(const std::string& key, const char* doc);
  /// Takes all keys that were not asked for so far; `name` stands for them in the schema.
  std::vector<const Entry*> others(const std::string& name, const char* doc);

  /// Calls f, which reads further keys of this table, when the condition holds. Otherwise those keys are errors that
  /// name the `condition` ("with task.kind = \"n-gram\"").
  void when(bool holds, const std::string& condition, const std::function<void()>& f);
  /// Leaves a key out of the record: it was read but changes no result.
  void leave_out(const std::string& key);
  /// The same where the file does not give it. Keys that came later than the first studies leave the ids of trials
  /// without them as they were.
  void leave_out_default(const std::string& key) {
    if (!has(key)) leave_out(key);
  }
  /// Adds a fact that no key states to the record: the hash of a file that a key names.
  void note(const std::string& key, const std::string& text);
  /// Marks keys as known that something else reads.
  void skip(std::initializer_list<const char*> keys) { asked_.insert(keys.begin(), keys.end()); }
  /// Marks all remaining keys as known, after a worse error.
  void skip_rest();
  /// Reports every key that was not asked for.
  void finish();
  /// JSON of every key read so far with its resolved value, defaults included, keys sorted.
  std::string record() const;
  /// The resolved value of every number and flag read so far, by path, in this reader's tables and around them.
  const Numbers& numbers() const { return *numbers_; }

 private:
  Reader(const Value& table, const std::string& key, const Reader& outer);
  struct Lookups;
  double lookup(const std::string& name, Lookups& lookups) const;
  double number(const std::string& key, double usual, Key asked);
  const Value* ask(Key key);
  nlohmann::json enter(const Value& table, const std::string& key, const std::function<void(Reader&)>& f) const;
  bool read_table(const std::string& key, const char* doc, bool is_optional, const std::function<void(Reader&)>& f);

  const Value* table_;
  std::string path_;
  Complaints& problems_;
  const Reader* outer_ = nullptr;
  Schema* schema_ = nullptr;
  std::string condition_;  ///< of the when() around, while a schema is made
  std::set<std::string> asked_;
  std::unique_ptr<nlohmann::json> record_;
  std::shared_ptr<Numbers> numbers_;  ///< of all readers of a study
};

template <class E>
E Reader::choice(const std::string& key, E fallback, const std::vector<std::pair<const char*, E>>& names,
                 const char* doc) {
  std::vector<std::string> words;
  std::string chosen;
  for (const auto& [name, value] : names) {
    words.emplace_back(name);
    if (value == fallback) chosen = name;
  }
  chosen = word(key, chosen, words, doc);
  for (const auto& [name, value] : names)
    if (chosen == name) return value;
  return fallback;
}

}  // namespace headroom::experiments
