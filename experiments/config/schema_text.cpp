#include "experiments/config/schema_text.h"

#include <fmt/format.h>

#include "experiments/toml/value.h"

namespace headroom::experiments {
namespace {

std::string type_text(const Key& key) {
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
      std::string words;
      for (const std::string& word : key.words) words += fmt::format("{}\"{}\"", words.empty() ? "" : " | ", word);
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
std::string value_text(const Key& key) {
  std::string text = type_text(key);
  if (const std::string bounds = key.bounds.str(); !bounds.empty()) text += " " + bounds;
  if (key.is_required) return text + ", required";
  return key.default_text.empty() ? text : text + ", default " + key.default_text;
}

}  // namespace

std::string schema_text(const Schema& schema) {
  std::string out, condition;
  for (const Key& key : schema) {
    const size_t dot = key.path.find('.');
    if (dot == std::string::npos) {
      const bool is_list = key.type == Key::Type::tables;
      out += fmt::format("{}{}{}{}  # {}\n", out.empty() ? "" : "\n", is_list ? "[[" : "[", key.path,
                         is_list ? "]]" : "]", key.doc);
      condition.clear();
      continue;
    }
    if (key.condition != condition) {
      condition = key.condition;
      out += fmt::format("  {}\n", condition.empty() ? "always" : condition);
    }
    out += fmt::format("    {:<24} {}\n    {:<24}   {}\n", key.path.substr(dot + 1), value_text(key), "", key.doc);
  }
  return out;
}

}  // namespace headroom::experiments
