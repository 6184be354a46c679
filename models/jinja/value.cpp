#include "models/jinja/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "models/files/utf8.h"
#include "models/jinja/object.h"

namespace headroom::models::jinja {
namespace {

int depth_of(const Value& value) {
  if (value.list() != nullptr) return value.list()->depth;
  return value.dict() == nullptr ? 0 : value.dict()->depth;
}

int checked_depth(int depth) {
  require(depth <= Limits::most_depth, "lists and dicts are nested more than {} deep", Limits::most_depth);
  return depth;
}

/// Text within a printed list: in quotes, as Python's repr() has it.
Text quoted(const Text& text) {
  const bool has_single = text.bytes.find('\'') != std::string::npos,
             has_double = text.bytes.find('"') != std::string::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  Text out(std::string_view(&quote, 1));
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text.bytes[i];
    if (c == quote || c == '\\') out.append(std::string{'\\', c}, text, i);
    else if (c == '\n') out.append("\\n", text, i);
    else if (c == '\r') out.append("\\r", text, i);
    else if (c == '\t') out.append("\\t", text, i);
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out.append(fmt::format("\\x{:02x}", static_cast<unsigned char>(c)), text, i);
    else out.append(std::string_view(&c, 1), text, i);
  }
  out.append(std::string_view(&quote, 1));
  return out;
}

Text json_text(const Text& text, bool is_ascii) {
  Text out("\"");
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text.bytes[i];
    constexpr std::string_view plain = "\"\\\n\r\t\b\f", letters = "\"\\nrtbf";
    const size_t at = plain.find(c);
    if (at != std::string_view::npos) out.append(std::string{'\\', letters[at]}, text, i);
    else if (static_cast<unsigned char>(c) < 0x20)
      out.append(fmt::format("\\u{:04x}", static_cast<unsigned char>(c)), text, i);
    else if (is_ascii && static_cast<unsigned char>(c) >= 0x80) {
      const CodePoint point = first_code_point(std::string_view(text.bytes).substr(i));
      const char32_t code = point.value;
      // Beyond 16 bits JSON has two halves (RFC 8259, section 7).
      out.append(code < 0x10000
                     ? fmt::format("\\u{:04x}", static_cast<uint32_t>(code))
                     : fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((static_cast<uint32_t>(code) - 0x10000) >> 10),
                                   0xDC00 + (static_cast<uint32_t>(code) & 0x3FF)),
                 text, i);
      i += std::max<size_t>(point.bytes, 1) - 1;
    } else {
      out.append(std::string_view(&c, 1), text, i);
    }
  }
  out.append("\"");
  return out;
}

Text as_python(const Value& value, Limits& limits) {
  limits.spend(Limits::step);
  if (const Text* text = value.text()) {
    limits.spend(std::ssize(text->bytes));
    return quoted(*text);
  }
  if (const List* list = value.list()) {
    Text out(list->is_tuple() ? "(" : "[");
    for (size_t i = 0; i < list->items.size(); ++i) {
      if (i > 0) out.append(", ");
      out.append(as_python(list->items[i], limits));
    }
    out.append(!list->is_tuple() ? "]" : list->items.size() == 1 ? ",)" : ")");
    return out;
  }
  if (const Dict* dict = value.dict()) {
    Text out("{");
    for (const auto& [key, item] : dict->items) {
      if (out.size() > 1) out.append(", ");
      out.append(as_python(key, limits));
      out.append(": ");
      out.append(as_python(item, limits));
    }
    out.append("}");
    return out;
  }
  return value.is_undefined() ? Text("Undefined") : printed(value, limits);
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, Limits& limits) : style_(style), limits_(limits) {}
  Text take() { return std::move(out_); }

  void write(const Value& value, int64_t level) {
    limits_.spend(Limits::step);
    if (const Text* text = value.text()) {
      limits_.spend(std::ssize(text->bytes));
      out_.append(json_text(*text, style_.is_ascii));
    } else if (const List* list = value.list()) {
      begin("[");
      for (const Value& item : list->items) {
        next(&item == list->items.data(), level + 1);
        write(item, level + 1);
      }
      end("]", list->items.empty(), level);
    } else if (const Dict* dict = value.dict()) {
      write_dict(*dict, level);
    } else if (value.is_none()) {
      out_.append("null");
    } else if (value.is_bool()) {
      out_.append(value.is_true() ? "true" : "false");
    } else if (value.is_real()) {
      const double number = value.real();
      out_.append(std::isnan(number)   ? "NaN"
                  : std::isinf(number) ? (number < 0 ? "-Infinity" : "Infinity")
                                       : printed(number));
    } else if (value.is_integer()) {
      out_.append(std::to_string(value.whole()));
    } else {
      fail("tojson: {} has no form in JSON", value.type());
    }
  }

 private:
  void write_dict(const Dict& dict, int64_t level) {
    std::vector<const std::pair<Value, Value>*> items;
    for (const auto& item : dict.items) items.push_back(&item);
    if (style_.sort_keys)
      std::stable_sort(items.begin(), items.end(),
                       [&](auto* a, auto* b) { return compare(a->first, b->first, limits_) < 0; });
    begin("{");
    for (const auto* item : items) {
      next(item == items[0], level + 1);
      const Value& key = item->first;
      if (key.text() != nullptr) {
        out_.append(json_text(*key.text(), style_.is_ascii));
      } else {
        require(key.is_none() || key.is_number(), "tojson: a key is {}", key.type());
        out_.append("\"");
        write(key, level);
        out_.append("\"");
      }
      out_.append(style_.colon);
      write(item->second, level + 1);
    }
    end("}", items.empty(), level);
  }
  void begin(const char* bracket) { out_.append(bracket); }
  void next(bool is_first, int64_t level) {
    if (!is_first) out_.append(style_.between);
    line(level);
  }
  void end(const char* bracket, bool is_empty, int64_t level) {
    if (!is_empty) line(level);
    out_.append(bracket);
  }
  void line(int64_t level) {
    if (style_.indent < 0) return;
    limits_.spend(level * style_.indent);
    out_.append("\n" + std::string(static_cast<size_t>(level * style_.indent), ' '));
  }

  const JsonStyle& style_;
  Limits& limits_;
  Text out_;
};

}  // namespace

int64_t Value::whole() const {
  if (const bool* flag = std::get_if<bool>(&data_)) return *flag ? 1 : 0;
  const int64_t* number = std::get_if<int64_t>(&data_);
  return number == nullptr ? 0 : *number;
}

double Value::real() const {
  const double* number = std::get_if<double>(&data_);
  return number == nullptr ? static_cast<double>(whole()) : *number;
}

bool Value::is_true() const {
  if (is_number()) return real() != 0;
  if (text() != nullptr) return text()->size() > 0;
  if (list() != nullptr) return list()->kind == List::Kind::generator || !list()->items.empty();
  if (dict() != nullptr) return !dict()->items.empty();
  return object() != nullptr;
}

std::string Value::type() const {
  if (is_undefined()) return what() + ", which is undefined,";
  constexpr const char* names[] = {"", "None", "a bool", "an int", "a float", "a str", "a list", "a dict", ""};
  return object() != nullptr                       ? "a " + object()->kind()
         : list() != nullptr && list()->is_tuple() ? "a tuple"
                                                   : names[data_.index()];
}

void Limits::spend(int64_t bytes) {
  left_ -= bytes;
  require(left_ >= 0, "the template takes too long, or writes too much");
}

Value make_list(std::vector<Value> items, Limits& limits, List::Kind kind) {
  limits.spend(Limits::element * (1 + std::ssize(items)));
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, depth_of(item));
  return List{std::move(items), kind, checked_depth(depth + 1)};
}

Value make_dict(std::vector<std::pair<Value, Value>> items, Limits& limits) {
  limits.spend(2 * Limits::element * (1 + std::ssize(items)));
  int depth = 0;
  for (const auto& [key, item] : items) depth = std::max({depth, depth_of(key), depth_of(item)});
  return Dict{std::move(items), checked_depth(depth + 1)};
}

std::vector<Value> pairs_of(const Dict& dict, Limits& limits) {
  std::vector<Value> out;
  for (const auto& [key, value] : dict.items) out.push_back(make_list({key, value}, limits, List::Kind::tuple));
  return out;
}

Value from_json(const nlohmann::ordered_json& json, Limits& limits) {
  if (json.is_null()) return None{};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) {
    limits.spend(std::ssize(json.get_ref<const std::string&>()));
    return Text(json.get_ref<const std::string&>(), 1);
  }
  if (json.is_array()) {
    std::vector<Value> items;
    for (const auto& item : json) items.push_back(from_json(item, limits));
    return make_list(std::move(items), limits);
  }
  std::vector<std::pair<Value, Value>> items;
  for (const auto& [key, item] : json.items()) items.emplace_back(Text(key, 1), from_json(item, limits));
  return make_dict(std::move(items), limits);
}

const Value* find(const Dict& dict, const Value& key, Limits& limits) {
  for (const auto& [own, value] : dict.items)
    if (equal(own, key, limits)) return &value;
  return nullptr;
}

bool equal(const Value& a, const Value& b, Limits& limits) {
  limits.spend(1);
  if (a.is_number() && b.is_number()) return a.is_real() || b.is_real() ? a.real() == b.real() : a.whole() == b.whole();
  if (a.text() != nullptr && b.text() != nullptr) return a.text()->bytes == b.text()->bytes;
  if (a.list() != nullptr && b.list() != nullptr) {
    const auto &left = a.list()->items, &right = b.list()->items;
    return a.list()->is_tuple() == b.list()->is_tuple() &&
           std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [&](const Value& x, const Value& y) { return equal(x, y, limits); });
  }
  if (a.dict() != nullptr && b.dict() != nullptr) {
    if (a.dict()->items.size() != b.dict()->items.size()) return false;
    for (const auto& [key, value] : a.dict()->items) {
      const Value* other = find(*b.dict(), key, limits);
      if (other == nullptr || !equal(value, *other, limits)) return false;
    }
    return true;
  }
  if (a.object() != nullptr) return a.object() == b.object();
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

int compare(const Value& a, const Value& b, Limits& limits) {
  limits.spend(1);
  const auto order = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
  if (a.is_number() && b.is_number())
    return a.is_real() || b.is_real() ? order(a.real(), b.real()) : order(a.whole(), b.whole());
  if (a.text() != nullptr && b.text() != nullptr) return order(a.text()->bytes, b.text()->bytes);
  require(a.list() != nullptr && b.list() != nullptr, "{} and {} have no order", a.type(), b.type());
  const auto &left = a.list()->items, &right = b.list()->items;
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i)
    if (!equal(left[i], right[i], limits)) return compare(left[i], right[i], limits);
  return order(left.size(), right.size());
}

std::string printed(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific).ptr;
  std::string digits(buffer, end);
  const size_t e = digits.find('e');
  const int exponent = std::stoi(digits.substr(e + 1));
  if (exponent < -4 || exponent >= 16)
    return fmt::format("{}e{}{:02}", digits.substr(0, e), exponent < 0 ? '-' : '+', std::abs(exponent));
  const auto fixed_end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed).ptr;
  const std::string fixed(buffer, fixed_end);
  return fixed.find('.') == std::string::npos ? fixed + ".0" : fixed;
}

Text printed(const Value& value, Limits& limits) {
  if (value.text() != nullptr) {
    limits.spend(std::ssize(value.text()->bytes));
    return *value.text();
  }
  if (value.is_undefined()) return {};
  if (value.is_none()) return Text("None");
  if (value.is_bool()) return Text(value.is_true() ? "True" : "False");
  if (value.is_integer()) return Text(std::to_string(value.whole()));
  if (value.is_real()) return Text(printed(value.real()));
  if (value.object() != nullptr) return Text(fmt::format("<{}>", value.object()->kind()));
  return as_python(value, limits);
}

Text as_json(const Value& value, const JsonStyle& style, Limits& limits) {
  JsonWriter writer(style, limits);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace headroom::models::jinja
