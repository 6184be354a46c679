#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/jinja/machine.h"

namespace headroom::models::jinja {
namespace {

using TextMethod = std::function<Value(const Text& self, Parameters& p, Machine& m)>;
using DictMethod = std::function<Value(const Dict& self, Parameters& p, Machine& m)>;

TextMethod strip(bool left, bool right) {
  return [=](const Text& self, Parameters& p, Machine& m) {
    m.limits().spend(std::ssize(self.bytes));
    return stripped(self, left, right, p.text_or_none("chars"));
  };
}

Value list_of(std::vector<Text> parts, Machine& m) {
  std::vector<Value> items;
  for (Text& part : parts) {
    m.limits().spend(std::ssize(part.bytes));
    items.emplace_back(std::move(part));
  }
  return make_list(std::move(items), m.limits());
}

TextMethod split_from(bool from_right) {
  return [=](const Text& self, Parameters& p, Machine& m) {
    const std::string* const separator = p.text_or_none("sep");
    require(separator == nullptr || !separator->empty(), "split() by nothing");
    // A part costs more than its bytes: counted before it is made.
    m.limits().spend(Limits::element *
                     (1 + std::ssize(self.bytes) / (separator == nullptr ? 2 : std::ssize(*separator))) / 8);
    return list_of(split(self, separator, static_cast<long>(p.whole("maxsplit", -1)), from_right), m);
  };
}

/// startswith() and endswith(), with one text or a tuple of them.
TextMethod bordered(bool at_end) {
  return [=](const Text& self, Parameters& p, Machine& m) {
    const Value& given = p.needed("prefix");
    const std::vector<Value> all = given.list() != nullptr ? m.items(given) : std::vector<Value>{given};
    return Value(std::any_of(all.begin(), all.end(), [&](const Value& one) {
      require(one.text() != nullptr, "{} wants a str, not {}", p.what(), one.type());
      return at_end ? self.bytes.ends_with(one.text()->bytes) : self.bytes.starts_with(one.text()->bytes);
    }));
  };
}

TextMethod without(bool at_end) {
  return [=](const Text& self, Parameters& p, Machine& /*m*/) {
    const std::string part = p.text("part", "");
    const bool has = at_end ? self.bytes.ends_with(part) : self.bytes.starts_with(part);
    return !has ? self : at_end ? self.slice(0, self.size() - part.size()) : self.slice(part.size(), self.size());
  };
}

TextMethod found_from(bool from_right) {
  return [=](const Text& self, Parameters& p, Machine& m) {
    const std::string part = p.text("sub", "");
    m.limits().spend(std::ssize(self.bytes));
    const size_t at = from_right ? self.bytes.rfind(part) : self.bytes.find(part);
    if (at == std::string::npos) return Value(int64_t{-1});
    return Value(std::ssize(character_starts(std::string_view(self.bytes).substr(0, at))) - 1);
  };
}

TextMethod in_case_of(Case wanted) {
  return [wanted](const Text& self, Parameters& /*p*/, Machine& m) {
    m.limits().spend(std::ssize(self.bytes));
    return in_case(self, wanted);
  };
}

TextMethod of_category(const char* categories) {
  return [categories](const Text& self, Parameters& /*p*/, Machine& m) {
    m.limits().spend(std::ssize(self.bytes));
    return Value(all_of_category(self.bytes, categories));
  };
}

Value joined(const Text& self, Parameters& p, Machine& m) {
  Text out;
  bool is_first = true;
  for (const Value& item : m.items(p.needed("iterable"))) {
    require(item.text() != nullptr, "join() wants texts, not {}", item.type());
    m.limits().spend(std::ssize(self.bytes) + std::ssize(item.text()->bytes));
    if (!is_first) out.append(self);
    is_first = false;
    out.append(*item.text());
  }
  return out;
}

/// "{}", "{0}" and "{name}".
Value formatted(const Text& self, Parameters& p, Machine& m) {
  Text out;
  size_t next = 0;
  const Arguments arguments = p.rest();
  for (size_t at = 0; at < self.size(); ++at) {
    const char c = self.bytes[at];
    const bool is_doubled = (c == '{' || c == '}') && at + 1 < self.size() && self.bytes[at + 1] == c;
    if (c != '{' || is_doubled) {
      out.append(self.slice(at, at + 1));
      if (is_doubled) ++at;
      continue;
    }
    const size_t end = self.bytes.find('}', at);
    require(end != std::string::npos, "format(): a '{{' is not closed");
    const std::string field = self.bytes.substr(at + 1, end - at - 1);
    const Value* value = nullptr;
    if (field.empty() || (field.size() < 4 && field.find_first_not_of("0123456789") == std::string::npos)) {
      const size_t index = field.empty() ? next++ : static_cast<size_t>(std::stoi(field));
      if (index < arguments.positional.size()) value = &arguments.positional[index];
    } else {
      for (const auto& [name, given] : arguments.named)
        if (name == field) value = &given;
    }
    require(value != nullptr, "format(): there is no argument {}", quoted_name("{" + field + "}"));
    out.append(printed(*value, m.limits()));
    at = end;
  }
  return out;
}

const std::map<std::string, TextMethod>& text_methods() {
  static const std::map<std::string, TextMethod> all{
      {"strip", strip(true, true)},
      {"lstrip", strip(true, false)},
      {"rstrip", strip(false, true)},
      {"split", split_from(false)},
      {"rsplit", split_from(true)},
      {"splitlines", [](const Text& self, Parameters& /*p*/, Machine& m) { return list_of(lines(self), m); }},
      {"startswith", bordered(false)},
      {"endswith", bordered(true)},
      {"removeprefix", without(false)},
      {"removesuffix", without(true)},
      {"replace",
       [](const Text& self, Parameters& p, Machine& m) {
         const std::string from = p.text("old", "");
         const Text to = printed(p.needed("new"), m.limits());
         return replaced(self, from, to, static_cast<long>(p.whole("count", -1)), m.limits());
       }},
      {"find", found_from(false)},
      {"rfind", found_from(true)},
      {"count",
       [](const Text& self, Parameters& p, Machine& m) {
         const std::string part = p.text("sub", "");
         require(!part.empty(), "count() of nothing");
         m.limits().spend(std::ssize(self.bytes));
         int64_t count = 0;
         for (size_t at = self.bytes.find(part); at != std::string::npos; at = self.bytes.find(part, at + part.size()))
           ++count;
         return count;
       }},
      {"upper", in_case_of(Case::upper)},
      {"lower", in_case_of(Case::lower)},
      {"title", in_case_of(Case::title)},
      {"capitalize", in_case_of(Case::capitalized)},
      {"isdigit", of_category("N")},
      {"isalpha", of_category("L")},
      {"isalnum", of_category("LN")},
      {"isspace", [](const Text& self, Parameters& /*p*/,
                     Machine& /*m*/) { return self.size() > 0 && stripped(self, true, false).size() == 0; }},
      {"join", joined},
      {"format", formatted}};
  return all;
}

/// keys() or values().
DictMethod side_of(Value std::pair<Value, Value>::*side) {
  return [side](const Dict& self, Parameters& /*p*/, Machine& m) {
    std::vector<Value> out;
    for (const auto& item : self.items) out.push_back(item.*side);
    return make_list(std::move(out), m.limits(), List::Kind::view);
  };
}

const std::map<std::string, DictMethod>& dict_methods() {
  static const std::map<std::string, DictMethod> all{
      {"items", [](const Dict& self, Parameters& /*p*/,
                   Machine& m) { return make_list(pairs_of(self, m.limits()), m.limits(), List::Kind::view); }},
      {"keys", side_of(&std::pair<Value, Value>::first)},
      {"values", side_of(&std::pair<Value, Value>::second)},
      {"get", [](const Dict& self, Parameters& p, Machine& m) {
         const Value* const found = find(self, p.needed("key"), m.limits());
         const Value* const usual = p.next("default");
         return found != nullptr ? *found : usual == nullptr ? Value(None{}) : *usual;
       }}};
  return all;
}

Value number(double value) { return value; }

Value whole_arithmetic(const std::string& sign, int64_t a, int64_t b) {
  int64_t out = 0;
  bool is_over = false;
  if (sign == "+") is_over = __builtin_add_overflow(a, b, &out);
  else if (sign == "-") is_over = __builtin_sub_overflow(a, b, &out);
  else if (sign == "*") is_over = __builtin_mul_overflow(a, b, &out);
  else if (sign == "**") {
    if (b < 0) return number(std::pow(static_cast<double>(a), static_cast<double>(b)));
    require(b <= 64 || (a >= -1 && a <= 1), "{} ** {} is too large", a, b);
    out = 1;
    for (int64_t i = 0; i < (a >= -1 && a <= 1 ? b % 2 + (b > 0 ? 2 : 0) : b) && !is_over; ++i)
      is_over = __builtin_mul_overflow(out, a, &out);
  } else {
    require(b != 0, "{} {} 0", a, sign);
    is_over = a == INT64_MIN && b == -1;
    if (!is_over)
      out = sign == "//" ? a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0)
                         : a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);
  }
  require(!is_over, "{} {} {} is too large", a, sign, b);
  return out;
}

/// A tuple's arithmetic gives tuples, that of other lists plain ones.
List::Kind plain_kind(const List& list) { return list.is_tuple() ? List::Kind::tuple : List::Kind::list; }

Value repeated(const Value& value, int64_t count, Limits& limits) {
  count = std::max<int64_t>(count, 0);
  const int64_t size =
      value.text() != nullptr ? std::ssize(value.text()->bytes) : Limits::element * std::ssize(value.list()->items);
  limits.spend(size > 0 && count > (int64_t{1} << 40) / size ? int64_t{1} << 40 : size * count);
  if (size == 0) return value;
  if (value.text() != nullptr) {
    Text out;
    for (int64_t i = 0; i < count; ++i) out.append(*value.text());
    return out;
  }
  std::vector<Value> items;
  for (int64_t i = 0; i < count; ++i) items.insert(items.end(), value.list()->items.begin(), value.list()->items.end());
  return make_list(std::move(items), limits, plain_kind(*value.list()));
}

/// index() and count() of a list.
Value places(const std::vector<Value>& items, const Value& wanted, bool is_index, Machine& machine) {
  const auto is_it = [&](const Value& item) { return equal(item, wanted, machine.limits()); };
  if (!is_index) return static_cast<int64_t>(std::count_if(items.begin(), items.end(), is_it));
  const auto found = std::find_if(items.begin(), items.end(), is_it);
  require(found != items.end(), "index(): the value is not in the list");
  return static_cast<int64_t>(found - items.begin());
}

}  // namespace

std::optional<Value> call_method(const Value& self, const std::string& name, const Arguments& arguments,
                                 Machine& machine) {
  const auto call = [&](const auto& body) { return std::optional(Parameters::of(name + "()", arguments, body)); };
  if (self.text() != nullptr) {
    const auto found = text_methods().find(name);
    if (found == text_methods().end()) return std::nullopt;
    return call([&](Parameters& p) { return found->second(*self.text(), p, machine); });
  }
  if (self.dict() != nullptr) {
    const auto found = dict_methods().find(name);
    if (found == dict_methods().end()) return std::nullopt;
    return call([&](Parameters& p) { return found->second(*self.dict(), p, machine); });
  }
  if (self.list() == nullptr || (name != "index" && name != "count")) return std::nullopt;
  return call([&](Parameters& p) { return places(self.list()->items, p.needed("value"), name == "index", machine); });
}

Value arithmetic(const std::string& sign, const Value& a, const Value& b, Limits& limits) {
  if (a.is_number() && b.is_number()) {
    if (!a.is_real() && !b.is_real() && sign != "/") return whole_arithmetic(sign, a.whole(), b.whole());
    const double x = a.real(), y = b.real();
    if (sign == "+") return x + y;
    if (sign == "-") return x - y;
    if (sign == "*") return x * y;
    if (sign == "**") return std::pow(x, y);
    require(y != 0, "{} {} 0", printed(x), sign);
    if (sign == "/") return x / y;
    // The remainder is exact, and has the sign of what divides.
    double rest = std::fmod(x, y);
    if (rest != 0 && (rest < 0) != (y < 0)) rest += y;
    return sign == "//" ? std::nearbyint((x - rest) / y) : rest == 0 ? std::copysign(0.0, y) : rest;
  }
  if (sign == "+" && a.text() != nullptr && b.text() != nullptr) {
    limits.spend(std::ssize(a.text()->bytes) + std::ssize(b.text()->bytes));
    Text out = *a.text();
    out.append(*b.text());
    return out;
  }
  if (sign == "+" && a.list() != nullptr && b.list() != nullptr && a.list()->is_tuple() == b.list()->is_tuple()) {
    std::vector<Value> items = a.list()->items;
    items.insert(items.end(), b.list()->items.begin(), b.list()->items.end());
    return make_list(std::move(items), limits, plain_kind(*a.list()));
  }
  if (sign == "*") {
    if ((a.text() != nullptr || a.list() != nullptr) && (b.is_integer() || b.is_bool()))
      return repeated(a, b.whole(), limits);
    if ((b.text() != nullptr || b.list() != nullptr) && (a.is_integer() || a.is_bool()))
      return repeated(b, a.whole(), limits);
  }
  fail("{} {} {} has no meaning", a.type(), sign, b.type());
}

}  // namespace headroom::models::jinja
