#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/jinja/object.h"
#include "models/jinja/syntax.h"

namespace headroom::models::jinja {

using Variables = std::vector<std::pair<std::string, Value>>;

/// Runs a parsed template once. Throws Error naming the line for what Python would refuse, and beyond its limits.
class Machine {
 public:
  Machine(const Body& body, const Variables& variables, Limits limits);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine();
  Text run();

  Limits& limits() { return limits_; }
  Value filter(const std::string& name, const Value& input, const Arguments& arguments);
  bool test(const std::string& name, const Value& input, const Arguments& arguments);
  /// object.name, for filters such as map(attribute = "a.b") with several steps.
  Value attribute(const Value& object, std::string_view name);
  Value attributes(const Value& object, const std::string& path);
  /// What a loop over the value passes: items, keys, or characters. Throws Error for what has none.
  std::vector<Value> items(const Value& value);
  /// item in container. Throws Error for what contains nothing.
  bool contains(const Value& container, const Value& item);
  /// A namespace(), which lives as long as the machine, whatever refers to it.
  std::shared_ptr<Namespace> make_namespace();
  Value call_macro(const Statement& macro, const Arguments& arguments);

 private:
  struct Scope;
  enum class Flow { on, leave, next };
  struct Deeper;

  Value evaluate(const Expression& e);
  Arguments arguments(const Expression& e);
  Value call(const Expression& e);
  Value lookup(const Expression& e);
  Value subscript(const Value& object, const Value& key);
  Value slice(const Expression& e);
  Value unary(const Expression& e);
  Value binary(const Expression& e);
  bool compared(const std::string& sign, const Value& a, const Value& b);

  Flow execute(const Body& body);
  Flow execute(const Statement& s);
  Flow loop(const Statement& s);
  void assign(const Expression& target, Value value);
  Text captured(const Body& body, Flow& flow);

  const Body& body_;
  Limits limits_;
  Scope* root_ = nullptr;
  Scope* scope_ = nullptr;
  Text out_;
  Value captured_;
  int line_ = 0, depth_ = 0;
  std::vector<std::shared_ptr<Namespace>> namespaces_;
  const Variables& variables_;
};

/// A template in Jinja, as models carry it for chats: the part of Jinja2 that published ones use, with Python's meaning
/// of it, set up as transformers does (docs/trained-models.md lists it). It comes with a stranger's file, so its size,
/// depth, time and memory are bounded, and it reads nothing but its variables and the clock.
class Template {
 public:
  /// Throws Error as parse() does.
  explicit Template(const std::string& source) : body_(parse(source)) {}
  /// The text for some variables. Throws Error naming the line: what the template itself raises, what Python would
  /// refuse, and what takes longer than `limits` allow.
  Text render(const Variables& variables, Limits limits) const { return Machine(body_, variables, limits).run(); }

 private:
  Body body_;
};

/// a + b, a % b and so on. Throws Error naming the types where Python has no such operation.
Value arithmetic(const std::string& sign, const Value& a, const Value& b, Limits& limits);
/// value.name(…) for texts, lists and dicts; nothing if there is no such method.
std::optional<Value> call_method(const Value& self, const std::string& name, const Arguments& arguments,
                                 Machine& machine);
/// range(), namespace(), dict(), raise_exception() and strftime_now(); Undefined for other names.
Value global(const std::string& name);

}  // namespace headroom::models::jinja
