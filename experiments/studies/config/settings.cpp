#include "experiments/studies/config/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "engine/excerpt.h"
#include "experiments/studies/config/sweep.h"
#include "experiments/studies/toml/document.h"

namespace headroom::experiments {
namespace {

/// The keys that a setting sets, by path.
void leaves(const Value& table, const std::string& prefix, std::vector<Entry>& found) {
  for (const Entry& entry : table.table) {
    const bool is_leaf = entry.value.kind != Value::Kind::table || entry.value.is_inline;
    if (is_leaf) found.push_back({prefix + entry.key, entry.place, entry.value});
    else leaves(entry.value, prefix + entry.key + ".", found);
  }
}

void pin(Value& axis, const Value& value) {
  Value list;
  list.kind = Value::Kind::list;
  list.place = value.place;
  list.list = {value};
  if (Entry* best_of = axis.find("best_of")) best_of->value = list;
  else axis = list;
}

/// Paths that zip and points tie together: one of them alone cannot be set.
std::vector<std::string> tied_paths(const Value& sweep) {
  std::vector<std::string> paths;
  if (const Entry* zip = sweep.find("zip"))
    for (const Value& group : zip->value.list)
      for (const Value& path : group.list) paths.push_back(path.text);
  if (const Entry* points = sweep.find("points")) {
    std::vector<Entry> keys;
    for (const Value& point : points->value.list) leaves(point, "", keys);
    for (const Entry& key : keys) paths.push_back(key.key);
  }
  return paths;
}

size_t end_of_key(const std::string& text) {
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') is_quoted = !is_quoted;
    if (text[i] == '=' && !is_quoted) return i;
  }
  return text.size();
}

/// Whether the value is a word that TOML knows only in quotes: model.positions=rope, task.source=../mine.txt.
bool is_bare_word(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ', end_of_key(text) + 1);
  if (begin == std::string::npos) return false;
  const std::string word = text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
  };
  const auto fits = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || (c != 0 && std::strchr("._-/+:", c));
  };
  const bool begins = is_letter(word[0]) || word[0] == '/' || word.starts_with("./") || word.starts_with("../");
  return begins && std::all_of(word.begin(), word.end(), fits) && word != "true" && word != "false" && word != "inf" &&
         word != "nan";
}

/// The setting with its value in quotes.
std::string in_quotes(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ', end_of_key(text) + 1), end = text.find_last_not_of(' ') + 1;
  return text.substr(0, begin) + '"' + text.substr(begin, end - begin) + '"';
}

}  // namespace

Value parse_setting(const std::string& text) {
  const std::string source = "--set " + excerpt(text);
  if (text.find('=') == std::string::npos) fail("{}: expected key=value", source);
  Value setting = parse_toml(is_bare_word(text) ? in_quotes(text) : text, source, false);
  flatten_sweeps(setting);
  return setting;
}

void pin_swept(Value& root, const std::vector<Value>& settings, Complaints& problems) {
  Entry* sweep = root.find("sweep");
  if (!sweep) return;
  std::vector<Entry> set;
  for (const Value& setting : settings) leaves(setting, "", set);
  for (const Entry& key : set) {
    for (const std::string& path : tied_paths(sweep->value))
      if (path == key.key) problems.add(key.place, path, "is swept together with other keys; set sweep.points or zip");
    for (Entry& axis : sweep->value.table) {
      if (axis.key == key.key) pin(axis.value, key.value);
      if (key.key.rfind(axis.key + ".", 0) == 0)
        problems.add(key.place, key.key,
                     fmt::format("{} is swept as a whole; set sweep.\"{}\" = [...]", axis.key, axis.key));
    }
  }
}

}  // namespace headroom::experiments
