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
  switch (kind) {
    case Value::Kind::boolean:
      return "a boolean";
    case Value::Kind::integer:
      return "an integer";
    case Value::Kind::real:
      return "a real number";
    case Value::Kind::text:
      return "a string";
    case Value::Kind::list:
      return "a list";
    case Value::Kind::table:
      return "a table";
  }
  return "a value";
}

std::string to_text(const Value& value) {
  switch (value.kind) {
    case Value::Kind::boolean:
      return value.boolean ? "true" : "false";
    case Value::Kind::integer:
      return fmt::format("{}", value.integer);
    case Value::Kind::real:
      return fmt::format("{}", value.real);
    case Value::Kind::text:
      return fmt::format("\"{}\"", excerpt(value.text));
    case Value::Kind::list:
      return fmt::format("a list of {}", value.list.size());
    case Value::Kind::table:
      return "a table";
  }
  return "";
}

bool is_folder_name(const std::string& name) {
  constexpr size_t longest = 100;
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const auto is_plain = [&](char c) { return is_word(c) || c == '-' || c == '_'; };
  // What begins with a dash would be an option of the program, and of others that are given the folder.
  return !name.empty() && name.size() <= longest && is_word(name[0]) && std::all_of(name.begin(), name.end(), is_plain);
}

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t dot = path.find('.'); dot != std::string::npos; begin = dot + 1, dot = path.find('.', begin))
    parts.push_back(path.substr(begin, dot - begin));
  parts.push_back(path.substr(begin));
  return parts;
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
  Value* at = &root;
  for (size_t i = 0; i < path.size(); ++i) {
    Entry* entry = at->find(path[i]);
    if (!entry) {
      at->table.push_back({path[i], place, {}});
      entry = &at->table.back();
      entry->value.place = place;
    }
    if (i + 1 < path.size() && entry->value.kind != Value::Kind::table) {
      entry->value = {};
      entry->value.place = place;
    }
    if (i + 1 == path.size()) *entry = {path[i], place, value};
    at = &entry->value;
  }
}

}  // namespace headroom::experiments
