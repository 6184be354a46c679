#include "experiments/studies/config/schema_text.h"

#include <fmt/format.h>

#include <vector>

#include "experiments/output/number.h"
#include "experiments/studies/toml/value.h"

namespace headroom::experiments {
namespace {

/// Of a list of words that is longer than the most, the first ones stand in for it.
constexpr size_t most_words = 24, first_words = 6;

std::string type_text(const Key& key, bool in_full) {
  switch (key.type) {
    case Key::Type::integer:
      return "integer";
    case Key::Type::real:
      return "number";
    case Key::Type::flag:
      return "true or false";
    case Key::Type::text:
      return "string";
    case Key::Type::word: {
      const size_t shown = in_full || key.words.size() <= most_words ? key.words.size() : first_words;
      std::string words;
      for (size_t i = 0; i < shown; ++i) words += fmt::format("{}\"{}\"", i == 0 ? "" : " | ", key.words[i]);
      if (shown < key.words.size())
        words += fmt::format(" | … ({} words; headroom schema {} lists them)", key.words.size(), key.path);
      return words;
    }
    case Key::Type::numbers:
      return "list of numbers";
    case Key::Type::texts:
      return "string or list of strings";
    case Key::Type::table:
      return "table";
    case Key::Type::tables:
      return "table or list of tables";
    case Key::Type::others:
    case Key::Type::any:
      return "value";
  }
  return "";
}

/// "integer >= 1, default 32": all but the doc.
std::string value_text(const Key& key, bool in_full) {
  std::string text = type_text(key, in_full);
  if (const std::string bounds = key.bounds.str(); !bounds.empty()) text += " " + bounds;
  if (key.is_required) return text + ", required";
  return key.default_text.empty() ? text : text + ", default " + key.default_text;
}

/// Whether a key is `under` or below it.
bool is_under(const std::string& path, const std::string& under) {
  return under.empty() || path == under || path.starts_with(under + ".");
}

}  // namespace

std::string schema_text(const Schema& schema, const std::string& under, size_t columns) {
  std::string out, condition;
  std::vector<std::vector<std::string>> rows;  // of one condition
  const auto flush = [&] {
    if (rows.empty()) return;
    out += aligned({{"  " + (condition.empty() ? "always" : condition)}}, columns) + aligned(rows, columns);
    rows.clear();
  };
  for (const Key& key : schema) {
    const size_t dot = key.path.find('.');
    const bool is_table = dot == std::string::npos;
    // The line of its table stands above any key.
    if (!is_under(key.path, under) && !(is_table && under.starts_with(key.path + "."))) continue;
    if (is_table || key.condition != condition) flush();
    condition = key.condition;
    if (is_table) {
      const bool is_list = key.type == Key::Type::tables;
      if (!out.empty()) out += '\n';
      out += aligned({{fmt::format("{}{}{}  # {}", is_list ? "[[" : "[", key.path, is_list ? "]]" : "]", key.doc)}},
                     columns);
      continue;
    }
    rows.push_back({"    " + key.path.substr(dot + 1), value_text(key, !under.empty())});
    rows.push_back({"", "  " + key.doc});
  }
  flush();
  return out;
}

}  // namespace headroom::experiments
