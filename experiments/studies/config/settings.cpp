#include "experiments/studies/config/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "engine/excerpt.h"
#include "experiments/studies/config/sweep.h"
#include "experiments/studies/toml/document.h"

namespace headroom::experiments {
namespace {

/// The keys that a setting sets, by path.
std::vector<Entry> keys_of(const Value& setting) {
  return leaves_of(setting, [](const std::string&, const Value& table) { return table.is_inline; });
}

void pin(Value& axis, const Value& value) {
  Value list;
  list.kind = Value::Kind::list;
  list.place = value.place;
  list.list = {value};
  if (Entry* best_of = axis.find("best_of")) best_of->value = list;
  else axis = list;
}

/// Paths tied together by zip and points: none can be set alone.
std::vector<std::string> tied_paths(const Value& sweep) {
  std::vector<std::string> paths;
  if (const Entry* zip = sweep.find("zip"))
    for (const Value& group : zip->value.list)
      for (const Value& path : group.list) paths.push_back(path.text);
  if (const Entry* points = sweep.find("points"))
    for (const Value& point : points->value.list)
      for (const Entry& key : keys_of(point)) paths.push_back(key.key);
  return paths;
}

/// The setting, with quotes around a value that TOML needs them for: model.positions=rope, task.source=../mine.txt.
std::string quote_word(const std::string& text) {
  bool is_quoted = false;
  const auto ends_key = [&](char c) {
    if (c == '"') is_quoted = !is_quoted;
    return c == '=' && !is_quoted;
  };
  const auto equals = static_cast<size_t>(std::ranges::find_if(text, ends_key) - text.begin());
  const size_t begin = text.find_first_not_of(' ', equals + 1);
  if (begin == std::string::npos) return text;
  const std::string word = text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
  const auto is_plain = [](char c) { return is_letter_or_digit(c) || static_cast<unsigned char>(c) >= 0x80; };
  const auto fits = [&](char c) { return is_plain(c) || std::string_view("._-/+:").find(c) != std::string_view::npos; };
  const bool is_number = word[0] >= '0' && word[0] <= '9';
  const bool begins =
      (is_plain(word[0]) && !is_number) || word[0] == '/' || word.starts_with("./") || word.starts_with("../");
  const bool is_toml = word == "true" || word == "false" || word == "inf" || word == "nan";
  return begins && !is_toml && std::ranges::all_of(word, fits) ? text.substr(0, begin) + '"' + word + '"' : text;
}

}  // namespace

Value parse_setting(const std::string& text) {
  const std::string source = "--set " + excerpt(text);
  if (text.find('=') == std::string::npos) fail("{}: expected key=value", source);
  Value setting = parse_toml(quote_word(text), source, false);
  flatten_sweeps(setting);
  return setting;
}

void pin_swept(Value& root, const std::vector<Value>& settings, Complaints& problems) {
  Entry* sweep = root.find("sweep");
  if (!sweep) return;
  std::vector<Entry> set;
  for (const Value& setting : settings) std::ranges::copy(keys_of(setting), std::back_inserter(set));
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
