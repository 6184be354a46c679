#include "experiments/studies/toml/document.h"

#include <toml++/toml.h>

#include <algorithm>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "models/files/regular_file.h"
#include "models/files/utf8.h"

namespace headroom::experiments {
namespace {

struct Converter {
  std::string source;
  bool positions;

  Place place(const toml::source_region& region) const {
    if (!positions) return {source, 0, 0};
    return {source, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
  }

  Value convert(const toml::node& node) const {
    Value value;
    value.place = place(node.source());
    if (const auto* table = node.as_table()) {
      value.is_inline = table->is_inline();
      for (const auto& [key, child] : *table)
        value.table.push_back({std::string(key.str()), place(key.source()), convert(child)});
      // toml++ sorts by name; the file's order reads better.
      std::stable_sort(value.table.begin(), value.table.end(), [](const Entry& a, const Entry& b) {
        return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
      });
    } else if (const auto* list = node.as_array()) {
      value.kind = Value::Kind::list;
      for (const auto& child : *list) value.list.push_back(convert(child));
    } else if (const auto* flag = node.as_boolean()) {
      value.kind = Value::Kind::boolean;
      value.boolean = flag->get();
    } else if (const auto* integer = node.as_integer()) {
      value.kind = Value::Kind::integer;
      value.integer = integer->get();
    } else if (const auto* real = node.as_floating_point()) {
      value.kind = Value::Kind::real;
      value.real = real->get();
    } else if (const auto* text = node.as_string()) {
      value.kind = Value::Kind::text;
      value.text = text->get();
    } else {
      fail("{}: dates and times have no place in a study", value.place.str());
    }
    return value;
  }
};

/// A string of TOML, which may hold no control characters. Whoever edits the file sees what it holds.
std::string toml_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const models::CodePoint c = models::first_code_point(text);
    const size_t bytes = std::max<size_t>(c.bytes, 1);  // toml++ gives UTF-8 alone
    if (text[0] == '"' || text[0] == '\\') out += '\\';
    if (is_control(c.value)) out += fmt::format("\\u{:04X}", static_cast<uint32_t>(c.value));
    else out += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return out + '"';
}

std::string key_text(const std::string& key) {
  const auto is_bare = [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-'; };
  return !key.empty() && std::ranges::all_of(key, is_bare) ? key : toml_string(key);
}

/// Keys of sub-tables of a list of tables: dotted, so that each item needs one header only.
void dotted_lines(const Value& table, const std::string& prefix, std::string& out) {
  for (const Entry& entry : table.table) {
    const std::string key = prefix + key_text(entry.key);
    if (entry.value.kind == Value::Kind::table && !entry.value.is_inline) dotted_lines(entry.value, key + ".", out);
    else out += key + " = " + in_line(entry.value) + "\n";
  }
}

bool is_table_list(const Value& value) {
  return value.kind == Value::Kind::list && !value.list.empty() && value.list[0].kind == Value::Kind::table &&
         !value.list[0].is_inline;
}

}  // namespace

std::string in_line(const Value& value) {
  std::string out;
  if (value.kind == Value::Kind::text) return toml_string(value.text);
  if (value.kind == Value::Kind::list) {
    for (const Value& item : value.list) out += (out.empty() ? "" : ", ") + in_line(item);
    return "[" + out + "]";
  }
  if (value.kind == Value::Kind::table) {
    for (const Entry& entry : value.table)
      out += (out.empty() ? "" : ", ") + key_text(entry.key) + " = " + in_line(entry.value);
    return "{ " + out + " }";
  }
  out = to_text(value);
  const bool looks_whole = value.kind == Value::Kind::real && out.find_first_of(".en") == std::string::npos;
  return looks_whole ? out + ".0" : out;
}

Value parse_toml(const std::string& text, const std::string& source, bool positions) {
  const Converter converter{source, positions};
  check_depth(text, source, positions);
  try {
    return converter.convert(toml::parse(text, source));
  } catch (const toml::parse_error& error) {
    std::string what(error.description());
    std::replace(what.begin(), what.end(), '\n', ' ');
    // What the library says of a string that meets the end of its line.
    if (what.find("unescaped control characters") != std::string::npos)
      what = "a string is not closed on this line, or holds a control character";
    fail("{}: malformed TOML: {}", converter.place(error.source()).str(), excerpt(what, 200));
  }
}

Value read_toml(const std::string& path) {
  return parse_toml(models::read_file(path, {"study file", uint64_t{1} << 24}), path);
}

std::string to_toml(const Value& table) {
  std::string out;
  for (const Entry& entry : table.table) {
    const Value& value = entry.value;
    if (value.kind == Value::Kind::table) {
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", key_text(entry.key));
      dotted_lines(value, "", out);
    } else if (is_table_list(value)) {
      for (const Value& item : value.list) {
        out += fmt::format("{}[[{}]]\n", out.empty() ? "" : "\n", key_text(entry.key));
        dotted_lines(item, "", out);
      }
    } else {
      out = fmt::format("{} = {}\n{}", key_text(entry.key), in_line(value), out);
    }
  }
  return out;
}

}  // namespace headroom::experiments
