#include "experiments/studies/toml/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "engine/excerpt.h"
#include "experiments/studies/toml/expression.h"

namespace headroom::experiments {
namespace {

using nlohmann::json;

const Value nothing{};

/// Words that an error lists.
constexpr size_t most_words_told = 24;

json to_json(const Value& value) {
  using Kind = Value::Kind;
  if (value.kind == Kind::boolean) return value.boolean;
  if (value.kind == Kind::integer) return value.integer;
  if (value.kind == Kind::real) return value.real;
  if (value.kind == Kind::text) return value.text;
  json all = value.kind == Kind::list ? json::array() : json::object();
  for (const Value& item : value.list) all.push_back(to_json(item));
  for (const Entry& entry : value.table) all[entry.key] = to_json(entry.value);
  return all;
}

/// What the schema tells of a key with a default; `usual` is how a study would write it.
template <class T>
Key described(const std::string& key, Key::Type type, const Default<T>& fallback, std::string usual, const char* doc) {
  Key asked{.path = key, .type = type, .is_required = !fallback.value, .default_text = fallback.words, .doc = doc};
  if (asked.default_text.empty() && fallback.value) asked.default_text = std::move(usual);
  return asked;
}

}  // namespace

Reader::Reader(const Value& table, std::string path, Complaints& problems)
    : table_(&table),
      path_(std::move(path)),
      problems_(problems),
      record_(std::make_unique<json>(json::object())),
      numbers_(std::make_shared<Numbers>()) {}

Reader::Reader(Schema& schema, Complaints& unused) : Reader(nothing, "", unused) { schema_ = &schema; }

Reader::Reader(const Value& table, const std::string& key, const Reader& outer)
    : Reader(table, outer.path(key), outer.problems_) {
  outer_ = &outer;
  schema_ = outer.schema_;
  condition_ = outer.condition_;
  numbers_ = outer.numbers_;
}

Reader::~Reader() = default;

Place Reader::place(const std::string& key) const {
  const Entry* entry = table_->find(key);
  return entry ? entry->place : table_->place;
}

void Reader::complain(const std::string& key, const std::string& message) const {
  if (!schema_) problems_.add(place(key), path(key), message);
}

void Reader::attempt(const std::string& key, const std::function<void()>& f) const {
  try {
    f();
  } catch (const Error& error) {
    complain(key, error.what());
  }
}

const Value* Reader::ask(Key key) {
  const std::string name = key.path;
  const bool is_required = key.is_required;
  asked_.insert(name);
  problems_.know(path(name));
  if (schema_) {
    key.path = path(name);
    key.condition = condition_;
    schema_->push_back(std::move(key));
    return nullptr;
  }
  const Entry* entry = table_->find(name);
  if (!entry && is_required) complain(name, "missing");
  return entry ? &entry->value : nullptr;
}

std::string Bounds::str() const {
  if (std::isinf(high) && std::isinf(low)) return "";
  if (std::isinf(high)) return fmt::format("{} {}", low_open ? ">" : ">=", low);
  if (std::isinf(low)) return fmt::format("{} {}", high_open ? "<" : "<=", high);
  return fmt::format("in {}{}, {}{}", low_open ? "(" : "[", low, high, high_open ? ")" : "]");
}

/// The expressions that one value hangs on.
struct Reader::Lookups {
  std::vector<std::string> pending;  ///< paths, each used by the one before it
  int left = 1000;                   ///< names that may still be looked up: sums of sums grow without end
};

double Reader::lookup(const std::string& name, Lookups& lookups) const {
  constexpr size_t most_pending = 32;
  std::vector<std::string>& pending = lookups.pending;
  require(pending.size() <= most_pending && --lookups.left >= 0, "{} depends on too many expressions",
          excerpt(pending[0]));
  for (const Reader* scope = this; scope; scope = scope->outer_) {
    const Entry* entry = scope->table_->find(name);
    if (!entry) continue;
    const std::string full = scope->path(name);
    if (std::find(pending.begin(), pending.end(), full) != pending.end()) fail("{} depends on itself", excerpt(full));
    if (entry->value.is_number()) return entry->value.number();
    require(entry->value.kind == Value::Kind::text, "{} is {}, not a number", excerpt(full),
            name_of(entry->value.kind));
    pending.push_back(full);
    const double value =
        evaluate(entry->value.text, [&](const std::string& inner) { return scope->lookup(inner, lookups); });
    pending.pop_back();
    return value;
  }
  for (const std::string& full : {path(name), name})
    if (const auto known = numbers_->find(full); known != numbers_->end()) return known->second;
  std::vector<std::string> names;
  for (const Entry& entry : table_->table)
    if (entry.value.is_number()) names.push_back(entry.key);
  fail("{} is not a number that is set here; those of this table: {}", excerpt(name),
       names.empty() ? "none" : excerpt(fmt::format("{}", fmt::join(names, ", "))));
}

double Reader::number(const std::string& key, double usual, Key asked) {
  const bool is_integer = asked.type == Key::Type::integer;
  const Bounds bounds = asked.bounds;
  const Value* value = ask(std::move(asked));
  double result = usual;
  if (value && (is_integer ? value->kind != Value::Kind::integer : !value->is_number()) &&
      value->kind != Value::Kind::text) {
    complain(key, fmt::format("expected {}, got {}{}", is_integer ? "an integer" : "a number", name_of(value->kind),
                              value->is_number() ? " " + to_text(*value) : ""));
  } else if (value) {
    attempt(key, [&] {
      Lookups lookups{{path(key)}};
      const auto look_up = [&](const std::string& name) { return lookup(name, lookups); };
      const double x = value->is_number() ? value->number() : evaluate(value->text, look_up);
      if (is_integer && (x != std::floor(x) || std::abs(x) > 9e15)) {
        const bool may_round = path(key).starts_with("train.") && std::abs(x) <= 9e15;  // widths are exact
        fail("expected an integer, but {} is {}{}", to_text(*value), x, may_round ? "; round(…) makes it one" : "");
      }
      require(std::isfinite(x), "{} is not finite", to_text(*value));
      if (!bounds.holds(x)) fail("{} is out of range: expected {}", x, bounds.str());
      result = x;
    });
  }
  (*numbers_)[path(key)] = result;
  return result;
}

int64_t Reader::integer(const std::string& key, const Default<int64_t>& fallback, const Bounds& bounds,
                        const char* doc) {
  const int64_t usual = fallback.value.value_or(std::isinf(bounds.low) ? 0 : static_cast<int64_t>(bounds.low));
  Key asked = described(key, Key::Type::integer, fallback, fmt::format("{}", usual), doc);
  asked.bounds = bounds;
  const auto result = static_cast<int64_t>(number(key, static_cast<double>(usual), std::move(asked)));
  (*record_)[key] = result;
  return result;
}

double Reader::real(const std::string& key, const Default<double>& fallback, const Bounds& bounds, const char* doc) {
  const double usual = fallback.value.value_or(0.0);
  Key asked = described(key, Key::Type::real, fallback, fmt::format("{}", usual), doc);
  asked.bounds = bounds;
  const double result = number(key, usual, std::move(asked));
  (*record_)[key] = result;
  return result;
}

std::optional<double> Reader::optional_real(const std::string& key, const Bounds& bounds, const char* doc) {
  const double value = real(key, {0.0, "none"}, bounds, doc);
  if (has(key)) return value;
  (*record_)[key] = nullptr;
  numbers_->erase(path(key));
  return std::nullopt;
}

bool Reader::flag(const std::string& key, const Default<bool>& fallback, const char* doc) {
  bool result = fallback.value.value_or(false);
  if (const Value* value = ask(described(key, Key::Type::flag, fallback, result ? "true" : "false", doc))) {
    if (value->kind == Value::Kind::boolean) result = value->boolean;
    else complain(key, fmt::format("expected true or false, got {}", name_of(value->kind)));
  }
  (*record_)[key] = result;
  (*numbers_)[path(key)] = result ? 1 : 0;
  return result;
}

std::string Reader::text(const std::string& key, const Default<std::string>& fallback, const char* doc) {
  std::string result = fallback.value.value_or("");
  if (const Value* value =
          ask(described(key, Key::Type::text, fallback, result.empty() ? "" : fmt::format("\"{}\"", result), doc))) {
    if (value->kind == Value::Kind::text) result = value->text;
    else complain(key, fmt::format("expected a string, got {}", name_of(value->kind)));
    if (value->kind == Value::Kind::text && result.empty() && !fallback.value) complain(key, "is empty");
  }
  (*record_)[key] = result;
  return result;
}

std::string Reader::word(const std::string& key, const Default<std::string>& fallback,
                         const std::vector<std::string>& words, const char* doc) {
  std::string result = fallback.value.value_or(words.front());
  Key asked = described(key, Key::Type::word, fallback, fmt::format("\"{}\"", result), doc);
  asked.words = words;
  if (const Value* value = ask(std::move(asked))) {
    const bool is_text = value->kind == Value::Kind::text;
    if (is_text && std::find(words.begin(), words.end(), value->text) != words.end()) {
      result = value->text;
    } else {
      const bool has_near = is_text && !value->text.empty();  // every short word is near to nothing
      const std::string near = has_near ? nearest_path(value->text, {words.begin(), words.end()}) : "";
      const std::string nearest = near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near);
      // A screen full of words would hide what was meant.
      if (words.size() > most_words_told)
        complain(key, fmt::format("there is no {}{} (headroom schema lists the words)", to_text(*value), nearest));
      else complain(key, fmt::format("expected one of {}, got {}{}", fmt::join(words, ", "), to_text(*value), nearest));
    }
  }
  (*record_)[key] = result;
  return result;
}

std::vector<double> Reader::numbers(const std::string& key, const char* doc) {
  std::vector<double> result;
  if (const Value* value = ask({.path = key, .type = Key::Type::numbers, .doc = doc})) {
    const auto is_finite = [](const Value& item) { return item.is_number() && std::isfinite(item.number()); };
    if (value->list.empty() || !std::ranges::all_of(value->list, is_finite))
      complain(key, "expected a list of finite numbers");
    else std::ranges::transform(value->list, std::back_inserter(result), &Value::number);
  }
  (*record_)[key] = result;
  return result;
}

std::vector<std::string> Reader::texts(const std::string& key, const char* doc) {
  std::vector<std::string> result;
  if (const Value* value = ask({.path = key, .type = Key::Type::texts, .doc = doc})) {
    const auto is_text = [](const Value& item) { return item.kind == Value::Kind::text; };
    const std::vector<Value> items = is_text(*value) ? std::vector{*value} : value->list;
    if (items.empty() || !std::ranges::all_of(items, is_text)) complain(key, "expected a string or a list of strings");
    else std::ranges::transform(items, std::back_inserter(result), &Value::text);
  }
  (*record_)[key] = result;
  return result;
}

const Value* Reader::raw(const std::string& key, const char* doc) {
  const Value* value = ask({.path = key, .type = Key::Type::any, .doc = doc});
  (*record_)[key] = value ? to_json(*value) : json();
  return value;
}

std::vector<const Entry*> Reader::others(const std::string& name, const char* doc) {
  if (schema_) ask({.path = name, .type = Key::Type::others, .doc = doc});
  std::vector<const Entry*> result;
  for (const Entry& entry : table_->table)
    if (asked_.insert(entry.key).second) result.push_back(&entry);
  return result;
}

json Reader::enter(const Value& table, const std::string& key, const std::function<void(Reader&)>& f) const {
  Reader inner(table, key, *this);
  f(inner);
  inner.finish();
  return std::move(*inner.record_);
}

bool Reader::read_table(const std::string& key, const char* doc, bool is_optional,
                        const std::function<void(Reader&)>& f) {
  const Value* value = ask({.path = key, .type = Key::Type::table, .doc = doc});
  Value empty;
  empty.place = place(key);
  json& record = (*record_)[key];
  if (value && value->kind != Value::Kind::table)
    complain(key, fmt::format("expected a table, got {}", name_of(value->kind)));
  else if (value || schema_ || !is_optional) record = enter(value ? *value : empty, key, f);
  return value != nullptr;
}

void Reader::tables(const std::string& key, const char* doc, const std::function<void(Reader&)>& f) {
  const Value* value = ask({.path = key, .type = Key::Type::tables, .doc = doc});
  json& records = (*record_)[key] = json::array();
  if (schema_) value = &nothing;
  if (!value) return;
  const bool is_one = value->kind == Value::Kind::table;
  if (!is_one && value->kind != Value::Kind::list)
    return complain(key, fmt::format("expected a table or a list of tables, got {}", name_of(value->kind)));
  for (const Value& item : is_one ? std::span(value, 1) : std::span(value->list)) {
    if (item.kind == Value::Kind::table) records.push_back(enter(item, key, f));
    else problems_.add(item.place, path(key), fmt::format("expected a table, got {}", name_of(item.kind)));
  }
}

void Reader::when(bool holds, const std::string& condition, const std::function<void()>& f) {
  if (!holds && !schema_) return;
  const std::string around = condition_;
  condition_ += (around.empty() ? "" : ", ") + condition;
  f();
  condition_ = around;
}

void Reader::leave_out(const std::string& key) { record_->erase(key); }

void Reader::note(const std::string& key, const std::string& text) { (*record_)[key] = text; }

void Reader::skip_rest() {
  for (const Entry& entry : table_->table) asked_.insert(entry.key);
}

void Reader::finish() {
  for (const Entry& entry : table_->table)
    if (!asked_.count(entry.key)) problems_.add_unknown(entry.place, path(entry.key));
}

std::string Reader::record() const { return record_->dump(); }

}  // namespace headroom::experiments
