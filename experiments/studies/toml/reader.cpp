#include "experiments/studies/toml/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/excerpt.h"

namespace headroom::experiments {
namespace {

using nlohmann::json;

const Value nothing{};

/// Words that an error lists.
constexpr size_t most_words_told = 24;

json to_json(const Value& value) {
  switch (value.kind) {
    case Value::Kind::boolean:
      return value.boolean;
    case Value::Kind::integer:
      return value.integer;
    case Value::Kind::real:
      return value.real;
    case Value::Kind::text:
      return value.text;
    case Value::Kind::list: {
      json list = json::array();
      for (const Value& item : value.list) list.push_back(to_json(item));
      return list;
    }
    case Value::Kind::table: {
      json table = json::object();
      for (const Entry& entry : value.table) table[entry.key] = to_json(entry.value);
      return table;
    }
  }
  return {};
}

}  // namespace

Reader::Reader(const Value& table, std::string path, Complaints& problems)
    : table_(&table),
      path_(std::move(path)),
      problems_(problems),
      record_(std::make_unique<json>(json::object())),
      numbers_(std::make_shared<Numbers>()) {}

Reader::Reader(Schema& schema, Complaints& unused)
    : table_(&nothing),
      problems_(unused),
      schema_(&schema),
      record_(std::make_unique<json>(json::object())),
      numbers_(std::make_shared<Numbers>()) {}

Reader::Reader(const Value& table, const std::string& key, const Reader& outer)
    : table_(&table),
      path_(outer.path(key)),
      problems_(outer.problems_),
      outer_(&outer),
      schema_(outer.schema_),
      condition_(outer.condition_),
      record_(std::make_unique<json>(json::object())),
      numbers_(outer.numbers_) {}

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

bool Reader::flag(const std::string& key, const Default<bool>& fallback, const char* doc) {
  Key asked{.path = key, .type = Key::Type::flag, .is_required = !fallback.value, .default_text = fallback.words};
  asked.doc = doc;
  bool result = fallback.value.value_or(false);
  if (asked.default_text.empty() && fallback.value) asked.default_text = result ? "true" : "false";
  if (const Value* value = ask(std::move(asked))) {
    if (value->kind == Value::Kind::boolean) result = value->boolean;
    else complain(key, fmt::format("expected true or false, got {}", name_of(value->kind)));
  }
  (*record_)[key] = result;
  (*numbers_)[path(key)] = result ? 1 : 0;
  return result;
}

std::string Reader::text(const std::string& key, const Default<std::string>& fallback, const char* doc) {
  Key asked{.path = key, .type = Key::Type::text, .is_required = !fallback.value, .default_text = fallback.words};
  asked.doc = doc;
  std::string result = fallback.value.value_or("");
  if (asked.default_text.empty() && !result.empty()) asked.default_text = fmt::format("\"{}\"", result);
  if (const Value* value = ask(std::move(asked))) {
    if (value->kind == Value::Kind::text) result = value->text;
    else complain(key, fmt::format("expected a string, got {}", name_of(value->kind)));
    if (value->kind == Value::Kind::text && result.empty() && !fallback.value) complain(key, "is empty");
  }
  (*record_)[key] = result;
  return result;
}

std::string Reader::word(const std::string& key, const Default<std::string>& fallback,
                         const std::vector<std::string>& words, const char* doc) {
  Key asked{.path = key, .type = Key::Type::word, .is_required = !fallback.value, .default_text = fallback.words};
  asked.words = words;
  asked.doc = doc;
  std::string result = fallback.value.value_or(words.front());
  if (asked.default_text.empty() && fallback.value) asked.default_text = fmt::format("\"{}\"", result);
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
    bool all = value->kind == Value::Kind::list && !value->list.empty();
    for (const Value& item : value->list) {
      all = all && item.is_number();
      result.push_back(item.number());
    }
    all = all && std::all_of(result.begin(), result.end(), [](double x) { return std::isfinite(x); });
    if (!all) {
      complain(key, "expected a list of finite numbers");
      result.clear();
    }
  }
  (*record_)[key] = result;
  return result;
}

std::vector<std::string> Reader::texts(const std::string& key, const char* doc) {
  std::vector<std::string> result;
  if (const Value* value = ask({.path = key, .type = Key::Type::texts, .doc = doc})) {
    bool all = value->kind == Value::Kind::text || (value->kind == Value::Kind::list && !value->list.empty());
    if (value->kind == Value::Kind::text) result.push_back(value->text);
    for (const Value& item : value->list) {
      all = all && item.kind == Value::Kind::text;
      result.push_back(item.text);
    }
    if (!all) {
      complain(key, "expected a string or a list of strings");
      result.clear();
    }
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

void Reader::enter(const Value& table, const std::string& key, const std::function<void(Reader&)>& f, json& into) {
  Reader inner(table, key, *this);
  f(inner);
  inner.finish();
  into = std::move(*inner.record_);
}

void Reader::table(const std::string& key, const char* doc, const std::function<void(Reader&)>& f) {
  const Value* value = ask({.path = key, .type = Key::Type::table, .doc = doc});
  if (value && value->kind != Value::Kind::table)
    return complain(key, fmt::format("expected a table, got {}", name_of(value->kind)));
  Value empty;
  empty.place = place(key);
  enter(value ? *value : empty, key, f, (*record_)[key]);
}

bool Reader::optional_table(const std::string& key, const char* doc, const std::function<void(Reader&)>& f) {
  const Value* value = ask({.path = key, .type = Key::Type::table, .doc = doc});
  json& into = (*record_)[key];
  if (value && value->kind != Value::Kind::table) {
    complain(key, fmt::format("expected a table, got {}", name_of(value->kind)));
    return true;
  }
  if (value || schema_) enter(value ? *value : nothing, key, f, into);
  return value != nullptr;
}

void Reader::tables(const std::string& key, const char* doc, const std::function<void(Reader&)>& f) {
  const Value* value = ask({.path = key, .type = Key::Type::tables, .doc = doc});
  json& list = (*record_)[key] = json::array();
  const auto enter_item = [&](const Value& item) {
    json record;
    enter(item, key, f, record);
    list.push_back(std::move(record));
  };
  if (schema_) return enter_item(nothing);
  if (!value) return;
  if (value->kind == Value::Kind::table) return enter_item(*value);
  if (value->kind != Value::Kind::list)
    return complain(key, fmt::format("expected a table or a list of tables, got {}", name_of(value->kind)));
  for (const Value& item : value->list) {
    if (item.kind == Value::Kind::table) enter_item(item);
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
