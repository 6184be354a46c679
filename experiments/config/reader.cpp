#include "experiments/config/reader.h"

#include <fmt/format.h>

#include <cmath>

#include "experiments/config/expression.h"

namespace headroom::experiments {

std::string Bounds::str() const {
  if (std::isinf(high)) return fmt::format("{} {}", low_open ? ">" : ">=", low);
  if (std::isinf(low)) return fmt::format("{} {}", high_open ? "<" : "<=", high);
  return fmt::format("in {}{}, {}{}", low_open ? "(" : "[", low, high, high_open ? ")" : "]");
}

Place Reader::place(const std::string& key) const {
  const Entry* entry = table_.find(key);
  return entry ? entry->place : table_.place;
}

void Reader::complain(const std::string& key, const std::string& message) const {
  problems_.add(place(key), path(key), message);
}

const Value* Reader::ask(const std::string& key, bool is_required) {
  asked_.insert(key);
  problems_.know(path(key));
  const Entry* entry = table_.find(key);
  if (!entry && is_required) complain(key, "missing");
  return entry ? &entry->value : nullptr;
}

const Value* Reader::raw(const std::string& key) { return ask(key, false); }

double Reader::lookup(const std::string& name, std::vector<std::string>& pending) const {
  for (const Reader* scope = this; scope; scope = scope->outer_) {
    const Entry* entry = scope->table_.find(name);
    if (!entry) continue;
    const std::string full = scope->path(name);
    if (std::find(pending.begin(), pending.end(), full) != pending.end()) fail("{} depends on itself", full);
    if (entry->value.is_number()) return entry->value.number();
    require(entry->value.kind == Value::Kind::text, "{} is {}, not a number", full, name_of(entry->value.kind));
    pending.push_back(full);
    const double value =
        evaluate(entry->value.text, [&](const std::string& inner) { return scope->lookup(inner, pending); });
    pending.pop_back();
    return value;
  }
  std::vector<std::string> names;
  for (const Entry& entry : table_.table)
    if (entry.value.is_number()) names.push_back(entry.key);
  fail("{} is not set here; numbers of this table: {}", name,
       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

std::optional<double> Reader::number(const std::string& key, const Value& value) const {
  if (value.is_number()) return value.number();
  std::vector<std::string> pending{path(key)};
  return evaluate(value.text, [&](const std::string& name) { return lookup(name, pending); });
}

int64_t Reader::integer(const std::string& key, std::optional<int64_t> otherwise, const Bounds& bounds) {
  const int64_t fallback = otherwise.value_or(std::isinf(bounds.low) ? 0 : static_cast<int64_t>(bounds.low));
  const Value* value = ask(key, !otherwise);
  if (!value) return fallback;
  if (value->kind != Value::Kind::integer && value->kind != Value::Kind::text) {
    complain(key, fmt::format("wants an integer, got {} {}", name_of(value->kind),
                              value->is_number() ? to_text(*value) : ""));
    return fallback;
  }
  try {
    const double x = *number(key, *value);
    if (x != std::floor(x) || std::abs(x) > 9e15) fail("wants an integer, but {} is {}", to_text(*value), x);
    if (!bounds.holds(x)) fail("{} is out of range: wants {}", x, bounds.str());
    return static_cast<int64_t>(x);
  } catch (const Error& error) {
    complain(key, error.what());
    return fallback;
  }
}

double Reader::real(const std::string& key, std::optional<double> otherwise, const Bounds& bounds) {
  const double fallback = otherwise.value_or(0.0);
  const Value* value = ask(key, !otherwise);
  if (!value) return fallback;
  if (!value->is_number() && value->kind != Value::Kind::text) {
    complain(key, fmt::format("wants a number, got {}", name_of(value->kind)));
    return fallback;
  }
  try {
    const double x = *number(key, *value);
    require(std::isfinite(x), "{} is not finite", to_text(*value));
    if (!bounds.holds(x)) fail("{} is out of range: wants {}", x, bounds.str());
    return x;
  } catch (const Error& error) {
    complain(key, error.what());
    return fallback;
  }
}

bool Reader::flag(const std::string& key, bool otherwise) {
  const Value* value = ask(key, false);
  if (!value) return otherwise;
  if (value->kind == Value::Kind::boolean) return value->boolean;
  complain(key, fmt::format("wants true or false, got {}", name_of(value->kind)));
  return otherwise;
}

std::string Reader::text(const std::string& key, std::optional<std::string> otherwise) {
  const Value* value = ask(key, !otherwise);
  if (!value) return otherwise.value_or("");
  if (value->kind == Value::Kind::text) return value->text;
  complain(key, fmt::format("wants a string, got {}", name_of(value->kind)));
  return otherwise.value_or("");
}

std::string Reader::choose(const std::string& key, const std::string& otherwise,
                           const std::vector<std::string>& names) {
  const Value* value = ask(key, false);
  if (!value) return otherwise;
  const std::string word = value->kind == Value::Kind::text ? value->text : to_text(*value);
  if (value->kind == Value::Kind::text && std::find(names.begin(), names.end(), word) != names.end()) return word;
  const std::string near = nearest_path(word, {names.begin(), names.end()});
  complain(key, fmt::format("wants one of {}, got {}{}", fmt::join(names, ", "), to_text(*value),
                            near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
  return otherwise;
}

std::vector<double> Reader::numbers(const std::string& key) {
  std::vector<double> out;
  const Value* value = ask(key, false);
  if (!value) return out;
  bool all = value->kind == Value::Kind::list && !value->list.empty();
  for (const Value& item : value->list) {
    all = all && item.is_number();
    out.push_back(item.number());
  }
  if (!all) complain(key, "wants a list of numbers");
  return all ? out : std::vector<double>{};
}

void Reader::table(const std::string& key, const std::function<void(Reader&)>& f) {
  const Value* value = ask(key, false);
  if (value && value->kind != Value::Kind::table) {
    complain(key, fmt::format("wants a table, got {}", name_of(value->kind)));
    return;
  }
  if (!value) return;
  Reader inner(*value, path(key), problems_, this);
  f(inner);
  inner.finish();
}

void Reader::tables(const std::string& key, const std::function<void(Reader&)>& f) {
  const Value* value = ask(key, false);
  if (!value) return;
  if (value->kind == Value::Kind::table) return table(key, f);
  if (value->kind != Value::Kind::list)
    return complain(key, fmt::format("wants a table or a list of tables, got {}", name_of(value->kind)));
  for (const Value& item : value->list) {
    if (item.kind != Value::Kind::table) {
      problems_.add(item.place, path(key), fmt::format("wants a table, got {}", name_of(item.kind)));
      continue;
    }
    Reader inner(item, path(key), problems_, this);
    f(inner);
    inner.finish();
  }
}

void Reader::finish() {
  for (const Entry& entry : table_.table)
    if (!asked_.count(entry.key)) problems_.add_unknown(entry.place, path(entry.key));
}

}  // namespace headroom::experiments
