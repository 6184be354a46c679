#include <cmath>
#include <functional>
#include <map>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/jinja/machine.h"

namespace headroom::models::jinja {
namespace {

using Test = std::function<bool(const Value& input, Parameters& p, Machine& m)>;

Test of(bool (*holds)(const Value& input)) {
  return [holds](const Value& input, Parameters& /*p*/, Machine& /*m*/) { return holds(input); };
}

Test ordered(bool (*holds)(int order)) {
  return [holds](const Value& input, Parameters& p, Machine& m) {
    return holds(compare(input, p.needed("other"), m.limits()));
  };
}

bool is_iterable(const Value& v) {
  return v.list() != nullptr || v.dict() != nullptr || v.text() != nullptr || v.is_undefined();
}

/// Whether input % by is `rest`.
bool leaves(const Value& input, const Value& by, double rest, Machine& m) {
  require(input.is_number(), "{} has no remainder", input.type());
  return arithmetic("%", input, by, m.limits()).real() == rest;
}

bool is_divisible(const Value& input, Parameters& p, Machine& m) { return leaves(input, p.needed("num"), 0, m); }

bool is_in(const Value& input, Parameters& p, Machine& m) { return m.contains(p.needed("seq"), input); }
bool is_equal(const Value& input, Parameters& p, Machine& m) { return equal(input, p.needed("other"), m.limits()); }
bool is_other(const Value& input, Parameters& p, Machine& m) { return !is_equal(input, p, m); }

/// A text that is as `wanted` has it, and has letters.
Test in_letters(Case wanted) {
  return [wanted](const Value& input, Parameters& /*p*/, Machine& m) {
    const Text text = printed(input, m.limits());
    return in_case(text, wanted).bytes == text.bytes &&
           in_case(text, Case::upper).bytes != in_case(text, Case::lower).bytes;
  };
}

const std::map<std::string, Test>& tests() {
  static const std::map<std::string, Test> all = [] {
    std::map<std::string, Test> t;
    t["defined"] = of([](const Value& v) { return !v.is_undefined(); });
    t["undefined"] = of([](const Value& v) { return v.is_undefined(); });
    t["none"] = of([](const Value& v) { return v.is_none(); });
    t["string"] = of([](const Value& v) { return v.text() != nullptr; });
    t["mapping"] = of([](const Value& v) { return v.dict() != nullptr; });
    t["iterable"] = of(is_iterable);
    t["sequence"] =
        of([](const Value& v) { return is_iterable(v) && (v.list() == nullptr || v.list()->has_places()); });
    t["number"] = of([](const Value& v) { return v.is_number(); });
    t["integer"] = of([](const Value& v) { return v.is_integer(); });
    t["float"] = of([](const Value& v) { return v.is_real(); });
    t["boolean"] = of([](const Value& v) { return v.is_bool(); });
    t["true"] = of([](const Value& v) { return v.is_bool() && v.is_true(); });
    t["false"] = of([](const Value& v) { return v.is_bool() && !v.is_true(); });
    t["callable"] =
        of([](const Value& v) { return v.is_undefined() || (v.object() != nullptr && v.object()->is_callable()); });
    for (const double rest : {0.0, 1.0})
      t[rest == 0 ? "even" : "odd"] = [rest](const Value& v, Parameters& /*p*/, Machine& m) {
        return leaves(v, int64_t{2}, rest, m);
      };
    t["divisibleby"] = is_divisible;
    t["in"] = is_in;
    t["upper"] = in_letters(Case::upper);
    t["lower"] = in_letters(Case::lower);
    for (const char* name : {"eq", "==", "equalto", "sameas"}) t[name] = is_equal;
    for (const char* name : {"ne", "!="}) t[name] = is_other;
    for (const char* name : {"lt", "<", "lessthan"}) t[name] = ordered([](int order) { return order < 0; });
    for (const char* name : {"le", "<="}) t[name] = ordered([](int order) { return order <= 0; });
    for (const char* name : {"gt", ">", "greaterthan"}) t[name] = ordered([](int order) { return order > 0; });
    for (const char* name : {"ge", ">="}) t[name] = ordered([](int order) { return order >= 0; });
    return t;
  }();
  return all;
}

}  // namespace

bool Machine::test(const std::string& name, const Value& input, const Arguments& arguments) {
  const auto found = tests().find(name);
  require(found != tests().end(), "the test {} is not supported", quoted_name(name));
  limits_.spend(Limits::step);
  return Parameters::of("is " + name, arguments,
                        [&](Parameters& parameters) { return found->second(input, parameters, *this); });
}

}  // namespace headroom::models::jinja
