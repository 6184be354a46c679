#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/jinja/machine.h"

namespace headroom::models::jinja {
namespace {

using Filter = std::function<Value(const Value& input, Parameters& p, Machine& m)>;

/// The key by which items are compared: an attribute of each where one is named, small letters unless told otherwise.
struct Key {
  std::string path;
  bool is_exact = false;
  /// The one that the arguments "case_sensitive" and "attribute" ask for.
  static Key given(Parameters& p) {
    const bool is_exact = p.flag("case_sensitive", false);
    return {p.text("attribute", ""), is_exact};
  }
  Value of(const Value& item, Machine& m) const {
    Value key = path.empty() ? item : m.attributes(item, path);
    return key.text() != nullptr && !is_exact ? Value(in_case(*key.text(), Case::lower)) : key;
  }
};

std::vector<Value> sorted(std::vector<Value> items, const Key& key, bool is_reversed, Machine& m) {
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& item : items) {
    Value own = key.of(item, m);
    keyed.emplace_back(std::move(own), std::move(item));
  }
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    const int order = compare(a.first, b.first, m.limits());
    return is_reversed ? order > 0 : order < 0;
  });
  std::vector<Value> out;
  for (auto& [own, item] : keyed) out.push_back(std::move(item));
  return out;
}

Value sort(const Value& input, Parameters& p, Machine& m) {
  const bool is_reversed = p.flag("reverse", false);
  const Key key = Key::given(p);
  return make_list(sorted(m.items(input), key, is_reversed, m), m.limits());
}

Value dictsort(const Value& input, Parameters& p, Machine& m) {
  require(input.dict() != nullptr, "dictsort: {} is no dict", input.type());
  Key key;
  key.is_exact = p.flag("case_sensitive", false);
  key.path = p.text("by", "key") == "key" ? "0" : "1";
  const bool is_reversed = p.flag("reverse", false);
  std::vector<Value> pairs = pairs_of(*input.dict(), m.limits());
  return make_list(sorted(std::move(pairs), key, is_reversed, m), m.limits());
}

Value unique(const Value& input, Parameters& p, Machine& m) {
  const Key key = Key::given(p);
  std::vector<Value> seen, out;
  for (const Value& item : m.items(input)) {
    Value own = key.of(item, m);
    if (std::any_of(seen.begin(), seen.end(), [&](const Value& other) { return equal(own, other, m.limits()); }))
      continue;
    seen.push_back(std::move(own));
    out.push_back(item);
  }
  return make_list(std::move(out), m.limits(), List::Kind::generator);
}

/// min and max.
Filter extreme(int sign) {
  return [sign](const Value& input, Parameters& p, Machine& m) {
    const Key key = Key::given(p);
    const std::vector<Value> items = m.items(input);
    const Value* best = nullptr;
    for (const Value& item : items)
      if (best == nullptr || sign * compare(key.of(item, m), key.of(*best, m), m.limits()) > 0) best = &item;
    return best == nullptr ? Value(Undefined{"the extreme of nothing"}) : *best;
  };
}

Value sum(const Value& input, Parameters& p, Machine& m) {
  const std::string path = p.text("attribute", "");
  const Value* const start = p.next("start");
  Value total = start == nullptr ? Value(int64_t{0}) : *start;
  for (const Value& item : m.items(input))
    total = arithmetic("+", total, path.empty() ? item : m.attributes(item, path), m.limits());
  return total;
}

/// map and select pass nothing where there is none.
Value or_nothing(const Value& input) { return input.is_true() ? input : Value(); }

Value map(const Value& input, Parameters& p, Machine& m) {
  std::vector<Value> out;
  const Value passed = or_nothing(input);
  Arguments given = p.rest();
  if (given.positional.empty()) {
    std::string path;
    Value usual;
    for (const auto& [name, value] : given.named) {
      if (name == "attribute") path = printed(value, m.limits()).bytes;
      else if (name == "default") usual = value;
      else fail("map has no {}", name);
    }
    require(!path.empty(), "map wants a filter or attribute = …");
    for (const Value& item : m.items(passed)) {
      Value found = m.attributes(item, path);
      out.push_back(found.is_undefined() ? usual : std::move(found));
    }
  } else {
    const std::string name = printed(given.positional.front(), m.limits()).bytes;
    given.positional.erase(given.positional.begin());
    for (const Value& item : m.items(passed)) out.push_back(m.filter(name, item, given));
  }
  return make_list(std::move(out), m.limits(), List::Kind::generator);
}

/// select, reject, selectattr and rejectattr.
Filter selection(bool is_kept, bool by_attribute) {
  return [=](const Value& input, Parameters& p, Machine& m) {
    const std::string path = by_attribute ? p.text("attribute", "") : "";
    require(!by_attribute || !path.empty(), "{} wants an attribute", p.what());
    const std::string test = p.text("test", "");
    const Arguments arguments = p.rest();
    std::vector<Value> out;
    for (const Value& item : m.items(or_nothing(input))) {
      const Value tested = by_attribute ? m.attributes(item, path) : item;
      if ((test.empty() ? tested.is_true() : m.test(test, tested, arguments)) == is_kept) out.push_back(item);
    }
    return make_list(std::move(out), m.limits(), List::Kind::generator);
  };
}

Value join(const Value& input, Parameters& p, Machine& m) {
  const Value* const given = p.next("d");
  const Text between = given == nullptr ? Text() : printed(*given, m.limits());
  const std::string path = p.text("attribute", "");
  Text out;
  bool is_first = true;
  for (const Value& item : m.items(input)) {
    if (!is_first) out.append(between);
    is_first = false;
    out.append(printed(path.empty() ? item : m.attributes(item, path), m.limits()));
    m.limits().spend(std::ssize(between.bytes));
  }
  return out;
}

Value tojson(const Value& input, Parameters& p, Machine& m) {
  JsonStyle style;
  style.is_ascii = p.flag("ensure_ascii", false);
  style.indent = p.whole("indent", -1);
  require(style.indent <= 64, "tojson: an indent of {}", style.indent);
  if (style.indent >= 0) style.between = ",";
  const Value* const separators = p.next("separators");
  if (separators != nullptr && !separators->is_none()) {
    const std::vector<Value> two = m.items(*separators);
    require(two.size() == 2, "tojson: separators are two texts");
    style.between = printed(two[0], m.limits()).bytes;
    style.colon = printed(two[1], m.limits()).bytes;
  }
  style.sort_keys = p.flag("sort_keys", false);
  return as_json(input, style, m.limits());
}

Value indent(const Value& input, Parameters& p, Machine& m) {
  const Text text = printed(input, m.limits());
  const Value* const width = p.next("width");
  const bool first = p.flag("first", false), blank = p.flag("blank", false);
  const int64_t spaces = width == nullptr ? 4 : width->whole();
  require(spaces <= 1000, "indent: a width of {}", spaces);
  const Text margin = width != nullptr && width->text() != nullptr
                          ? *width->text()
                          : Text(std::string(static_cast<size_t>(std::max<int64_t>(spaces, 0)), ' '));
  Text out;
  size_t begin = 0;
  for (bool is_first = true; begin <= text.size(); is_first = false) {
    const size_t end = std::min(text.bytes.find('\n', begin), text.size());
    if (is_first ? first : blank || end > begin) out.append(margin);
    m.limits().spend(std::ssize(margin.bytes));
    out.append(text.slice(begin, std::min(end + 1, text.size())));
    begin = end + 1;
  }
  return out;
}

Value escape(const Value& input, Parameters& /*p*/, Machine& m) {
  const Text text = printed(input, m.limits());
  Text out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text.bytes[i];
    const char* const name = c == '&'    ? "&amp;"
                             : c == '<'  ? "&lt;"
                             : c == '>'  ? "&gt;"
                             : c == '"'  ? "&#34;"
                             : c == '\'' ? "&#39;"
                                         : nullptr;
    out.append(name == nullptr ? std::string_view(&c, 1) : name, text, i);
  }
  return out;
}

// A number as Python's float() reads it: strtod also takes hexadecimal digits and the payload of a NaN.
std::optional<double> decimal(const std::string& text) {
  if (text.find_first_of("xX(") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == '\0' ? std::optional(value) : std::nullopt;
}

Value to_int(const Value& input, Parameters& p, Machine& /*m*/) {
  if (input.is_undefined()) fail("int: {} is undefined", input.what());
  const int64_t usual = p.whole("default", 0), base = p.whole("base", 10);
  require(base == 0 || (base >= 2 && base <= 36), "int: a base of {}", base);
  if (input.is_real()) return std::abs(input.real()) < 9e18 ? static_cast<int64_t>(input.real()) : usual;
  if (input.is_number()) return input.whole();
  if (input.text() == nullptr) return usual;
  const std::string text = stripped(*input.text(), true, true).bytes;
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, static_cast<int>(base));
  if (end != text.c_str() && *end == '\0') return int64_t{value};
  const std::optional<double> real = decimal(text);
  return real && std::abs(*real) < 9e18 ? static_cast<int64_t>(*real) : usual;
}

Value to_float(const Value& input, Parameters& p, Machine& /*m*/) {
  const Value* const usual = p.next("default");
  const double otherwise = usual == nullptr ? 0.0 : usual->real();
  if (input.is_undefined()) fail("float: {} is undefined", input.what());
  if (input.is_number()) return input.real();
  if (input.text() == nullptr) return otherwise;
  return decimal(stripped(*input.text(), true, true).bytes).value_or(otherwise);
}

Value round(const Value& input, Parameters& p, Machine& /*m*/) {
  const int64_t precision = std::clamp<int64_t>(p.whole("precision", 0), -300, 300);
  const std::string method = p.text("method", "common");
  require(method == "common" || method == "ceil" || method == "floor", "round: {} is no method", quoted_name(method));
  require(input.is_number(), "round: {} is no number", input.type());
  if (method == "common" && precision >= 0) {
    if (!input.is_real()) return input.whole();
    return std::strtod(fmt::format("{:.{}f}", input.real(), precision).c_str(), nullptr);  // of all of its digits
  }
  const double scale = std::pow(10.0, static_cast<double>(precision)), scaled = input.real() * scale;
  const double out = (method == "ceil"    ? std::ceil(scaled)
                      : method == "floor" ? std::floor(scaled)
                                          : std::nearbyint(scaled)) /
                     scale;
  return method == "common" && !input.is_real() ? Value(static_cast<int64_t>(out)) : Value(out);
}

Value length(const Value& input, Parameters& /*p*/, Machine& m) {
  if (input.text() != nullptr) {
    m.limits().spend(std::ssize(input.text()->bytes));
    return std::ssize(character_starts(input.text()->bytes)) - 1;
  }
  if (input.list() != nullptr) return std::ssize(input.list()->items);
  if (input.dict() != nullptr) return std::ssize(input.dict()->items);
  require(input.is_undefined(), "{} has no length", input.type());
  return int64_t{0};
}

Value pairs(const Value& input, Parameters& /*p*/, Machine& m) {
  require(input.dict() != nullptr || input.is_undefined(), "items: {} is no dict", input.type());
  return make_list(input.dict() == nullptr ? std::vector<Value>() : pairs_of(*input.dict(), m.limits()), m.limits(),
                   List::Kind::generator);
}

Value reversed(const Value& input, Parameters& /*p*/, Machine& m) {
  std::vector<Value> items = m.items(input);
  std::reverse(items.begin(), items.end());
  if (input.text() == nullptr) return make_list(std::move(items), m.limits(), List::Kind::generator);
  Text out;
  for (const Value& item : items) out.append(*item.text());
  return out;
}

Filter cased(Case wanted) {
  return [wanted](const Value& input, Parameters& /*p*/, Machine& m) {
    return in_case(printed(input, m.limits()), wanted);
  };
}

Filter end_of(bool is_last) {
  return [is_last](const Value& input, Parameters& /*p*/, Machine& m) {
    const std::vector<Value> items = m.items(input);
    return items.empty() ? Value(Undefined{"the end of nothing"}) : is_last ? items.back() : items.front();
  };
}

Value trim(const Value& input, Parameters& p, Machine& m) {
  return stripped(printed(input, m.limits()), true, true, p.text_or_none("chars"));
}

Value replace(const Value& input, Parameters& p, Machine& m) {
  const Text text = printed(input, m.limits()), from = printed(p.needed("old"), m.limits()),
             to = printed(p.needed("new"), m.limits());
  const int64_t most = p.whole("count", -1);
  return replaced(text, from.bytes, to, static_cast<long>(most), m.limits());
}

Value otherwise(const Value& input, Parameters& p, Machine& /*m*/) {
  const Value* const usual = p.next("default_value");
  const bool counts_false = p.flag("boolean", false);
  const bool is_kept = counts_false ? input.is_true() : !input.is_undefined();
  return is_kept ? input : usual == nullptr ? Value(Text()) : *usual;
}

const std::map<std::string, Filter>& filters() {
  static const std::map<std::string, Filter> all = [] {
    std::map<std::string, Filter> f{{"sort", sort},
                                    {"dictsort", dictsort},
                                    {"unique", unique},
                                    {"min", extreme(-1)},
                                    {"max", extreme(1)},
                                    {"sum", sum},
                                    {"map", map},
                                    {"select", selection(true, false)},
                                    {"reject", selection(false, false)},
                                    {"selectattr", selection(true, true)},
                                    {"rejectattr", selection(false, true)},
                                    {"join", join},
                                    {"tojson", tojson},
                                    {"indent", indent},
                                    {"escape", escape},
                                    {"int", to_int},
                                    {"float", to_float},
                                    {"round", round},
                                    {"length", length},
                                    {"items", pairs},
                                    {"reverse", reversed},
                                    {"trim", trim},
                                    {"replace", replace},
                                    {"default", otherwise},
                                    {"upper", cased(Case::upper)},
                                    {"lower", cased(Case::lower)},
                                    {"title", cased(Case::headline)},
                                    {"capitalize", cased(Case::capitalized)},
                                    {"first", end_of(false)},
                                    {"last", end_of(true)}};
    f["list"] = [](const Value& input, Parameters& /*p*/, Machine& m) { return make_list(m.items(input), m.limits()); };
    f["string"] = [](const Value& input, Parameters& /*p*/, Machine& m) { return printed(input, m.limits()); };
    f["abs"] = [](const Value& input, Parameters& /*p*/, Machine& m) {
      require(input.is_number(), "abs: {} is no number", input.type());
      return arithmetic(input.real() < 0 ? "-" : "+", int64_t{0}, input, m.limits());
    };
    f["attr"] = [](const Value& input, Parameters& p, Machine& m) { return m.attribute(input, p.text("name", "")); };
    f["safe"] = f["string"];
    f["e"] = f["escape"];
    f["count"] = f["length"];
    f["d"] = f["default"];
    return f;
  }();
  return all;
}

}  // namespace

Value Machine::filter(const std::string& name, const Value& input, const Arguments& arguments) {
  const auto found = filters().find(name);
  require(found != filters().end(), "the filter {} is not supported", quoted_name(name));
  limits_.spend(Limits::step);
  return Parameters::of(name, arguments,
                        [&](Parameters& parameters) { return found->second(input, parameters, *this); });
}

}  // namespace headroom::models::jinja
