#include "experiments/studies/toml/value.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine/excerpt.h"

namespace headroom::experiments {

std::string Place::str() const {
  constexpr size_t longest_path = 4096;
  const std::string name = excerpt(source, longest_path);
  return line > 0 ? fmt::format("{}:{}:{}", name, line, column) : name;
}

const Entry* Value::find(const std::string& key) const {
  for (const Entry& entry : table)
    if (entry.key == key) return &entry;
  return nullptr;
}

Entry* Value::find(const std::string& key) { return const_cast<Entry*>(std::as_const(*this).find(key)); }

const char* name_of(Value::Kind kind) {
  constexpr const char* names[]{"a boolean", "an integer", "a real number", "a string", "a list", "a table"};
  return names[static_cast<size_t>(kind)];
}

std::string to_text(const Value& value) {
  using Kind = Value::Kind;
  if (value.kind == Kind::boolean) return value.boolean ? "true" : "false";
  if (value.kind == Kind::integer) return fmt::format("{}", value.integer);
  if (value.kind == Kind::real) return fmt::format("{}", value.real);
  if (value.kind == Kind::text) return fmt::format("\"{}\"", excerpt(value.text));
  return value.kind == Kind::list ? fmt::format("a list of {}", value.list.size()) : "a table";
}

bool is_folder_name(const std::string& name) {
  constexpr size_t longest = 100;
  const auto is_plain = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_'; };
  // What begins with a dash would be an option of the program, and of others that are given the folder.
  return !name.empty() && name.size() <= longest && is_letter_or_digit(name[0]) && std::ranges::all_of(name, is_plain);
}

std::string no_folder_name(const std::string& name) {
  return fmt::format(
      "expected letters, digits, - and _, a letter or digit first (it names a folder), at most 100, got \"{}\"",
      excerpt(name));
}

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t dot = path.find('.'); dot != std::string::npos; begin = dot + 1, dot = path.find('.', begin))
    parts.push_back(path.substr(begin, dot - begin));
  parts.push_back(path.substr(begin));
  return parts;
}

const Entry* find_path(const Value& root, const std::string& path) {
  const Value* at = &root;
  const Entry* entry = nullptr;
  for (const std::string& key : split_path(path)) {
    entry = at->find(key);
    if (!entry) return nullptr;
    at = &entry->value;
  }
  return entry;
}

std::string text_at(const Value& root, const std::string& path) {
  const Entry* entry = find_path(root, path);
  return entry && entry->value.kind == Value::Kind::text ? entry->value.text : "";
}

std::vector<Entry> leaves_of(const Value& table, const std::function<bool(const std::string&, const Value&)>& is_leaf) {
  std::vector<Entry> leaves;
  const auto add = [&](const auto& self, const Value& of, const std::string& prefix) -> void {
    for (const Entry& entry : of.table) {
      const std::string path = prefix + entry.key;
      if (entry.value.kind != Value::Kind::table || is_leaf(path, entry.value))
        leaves.push_back({path, entry.place, entry.value});
      else self(self, entry.value, path + ".");
    }
  };
  add(add, table, "");
  return leaves;
}

void merge(Value& base, const Value& changes) {
  for (const Entry& change : changes.table) {
    Entry* old = base.find(change.key);
    if (!old) {
      base.table.push_back(change);
    } else if (old->value.kind == Value::Kind::table && change.value.kind == Value::Kind::table &&
               !change.value.is_inline) {
      merge(old->value, change.value);
    } else {
      *old = change;
    }
  }
}

void set_path(Value& root, const std::vector<std::string>& path, const Place& place, const Value& value) {
  Value table;
  table.place = place;
  Value* at = &root;
  for (const std::string& key : path) {
    if (at->kind != Value::Kind::table) *at = table;
    Entry* entry = at->find(key);
    if (!entry) entry = &at->table.emplace_back(Entry{key, place, table});
    if (&key == &path.back()) *entry = {key, place, value};
    at = &entry->value;
  }
}

}  // namespace headroom::experiments
