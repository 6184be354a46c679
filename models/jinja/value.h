#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/jinja/text.h"

namespace headroom::models::jinja {

class Value;
struct Object;

/// A name, key or attribute that is not there, as an error message says it. Prints as nothing.
struct Undefined {
  std::string what;
};
struct None {};
struct List {
  /// `view`: a dict's items(), keys() or values(), which have no [i]; neither has what map, select and their like give,
  /// a `generator`, which is true even where it is empty.
  enum class Kind : uint8_t { list, tuple, view, generator };

  std::vector<Value> items;
  Kind kind = Kind::list;
  int depth = 1;  ///< of lists and dicts within it, itself included

  bool is_tuple() const { return kind == Kind::tuple; }
  bool has_places() const { return kind == Kind::list || kind == Kind::tuple; }
};
/// In the order of insertion.
struct Dict {
  std::vector<std::pair<Value, Value>> items;
  int depth = 1;
};

/// What a template computes with: Python's values, as far as templates of chats need them. Immutable, but for objects.
class Value {
 public:
  using Data = std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const Text>,
                            std::shared_ptr<const List>, std::shared_ptr<const Dict>, std::shared_ptr<Object>>;
  Value() = default;
  template <class T>
  requires std::is_constructible_v<Data, T> Value(T data) : data_(std::move(data)) {}
  Value(Text text) : data_(std::make_shared<const Text>(std::move(text))) {}
  Value(List list) : data_(std::make_shared<const List>(std::move(list))) {}
  Value(Dict dict) : data_(std::make_shared<const Dict>(std::move(dict))) {}

  const Data& data() const { return data_; }
  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_integer() const { return std::holds_alternative<int64_t>(data_); }  ///< without booleans
  bool is_real() const { return std::holds_alternative<double>(data_); }
  bool is_number() const { return is_bool() || is_integer() || is_real(); }
  const Text* text() const { return get<Text>(); }
  const List* list() const { return get<List>(); }
  const Dict* dict() const { return get<Dict>(); }
  Object* object() const {
    const auto* found = std::get_if<std::shared_ptr<Object>>(&data_);
    return found == nullptr ? nullptr : found->get();
  }
  /// A boolean or integer as an integer, a number as a real one; for others 0.
  int64_t whole() const;
  double real() const;
  /// Python's truth: false for what is not there, none, zero and what is empty.
  bool is_true() const;
  /// "a str", "an int", …: what it is, for messages.
  std::string type() const;
  /// Of what is not there: what it would have been.
  const std::string& what() const { return std::get<Undefined>(data_).what; }

 private:
  template <class T>
  const T* get() const {
    const auto* found = std::get_if<std::shared_ptr<const T>>(&data_);
    return found == nullptr ? nullptr : found->get();
  }
  Data data_;
};

/// What a template may do before it is stopped: a template comes with a stranger's file.
class Limits {
 public:
  static constexpr int64_t step = 16;     ///< of one evaluated node, in bytes written
  static constexpr int64_t element = 64;  ///< of one element of a list or dict
  static constexpr int most_depth = 100;  ///< of values within values
  explicit Limits(int64_t bytes) : left_(bytes) {}
  /// Throws Error once more was spent than there is.
  void spend(int64_t bytes);

 private:
  int64_t left_;
};

/// A list or a dict, with its depth. Throw Error beyond the limits.
Value make_list(std::vector<Value> items, Limits& limits, List::Kind kind = List::Kind::list);
Value make_dict(std::vector<std::pair<Value, Value>> items, Limits& limits);
/// The pairs of a dict, as tuples.
std::vector<Value> pairs_of(const Dict& dict, Limits& limits);
/// JSON as a value, its texts marked with 1.
Value from_json(const nlohmann::ordered_json& json, Limits& limits);

/// The value of a key; nullptr: there is none.
const Value* find(const Dict& dict, const Value& key, Limits& limits);
bool equal(const Value& a, const Value& b, Limits& limits);
/// Negative, 0 or positive for numbers, texts, and lists of them. Throws Error for others, as Python does.
int compare(const Value& a, const Value& b, Limits& limits);

/// str(): a text as it is, nothing for what is not there, others as Python prints them.
Text printed(const Value& value, Limits& limits);
/// json.dumps(). `indent`: spaces; -1: one line.
struct JsonStyle {
  int64_t indent = -1;
  std::string between = ", ", colon = ": ";
  bool sort_keys = false;
  bool is_ascii = false;  ///< other characters as escapes
};
Text as_json(const Value& value, const JsonStyle& style, Limits& limits);
/// A float as Python writes it: the shortest digits that read back as it.
std::string printed(double number);

}  // namespace headroom::models::jinja
