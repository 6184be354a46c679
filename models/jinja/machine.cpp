#include "models/jinja/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/error.h"
#include "models/files/json.h"

namespace headroom::models::jinja {
namespace {

constexpr int most_depth = 1000;  ///< of evaluations within evaluations, macros that call macros included

using Kind = Expression::Kind;
using Do = Statement::Kind;

struct Macro : Object {
  explicit Macro(const Statement& statement) : macro(statement) {}
  const Statement& macro;
  std::string kind() const override { return "macro " + macro.name; }
  Value call(const Arguments& arguments, Machine& machine) override { return machine.call_macro(macro, arguments); }
  bool is_callable() const override { return true; }
};

/// The variable `loop`.
struct Loop : Object {
  const std::vector<Value>* items = nullptr;
  int64_t at = 0;
  std::optional<Value> last_changed;

  std::string kind() const override { return "loop"; }
  Value attribute(std::string_view name, Machine& machine) override {
    const int64_t count = std::ssize(*items);
    if (name == "index") return at + 1;
    if (name == "index0") return at;
    if (name == "depth" || name == "depth0") return int64_t{name == "depth"};  // no loop here is recursive
    if (name == "first") return at == 0;
    if (name == "last") return at + 1 == count;
    if (name == "length") return count;
    if (name == "revindex") return count - at;
    if (name == "revindex0") return count - at - 1;
    if (name == "previtem") return at > 0 ? (*items)[static_cast<size_t>(at - 1)] : Value(Undefined{"loop.previtem"});
    if (name == "nextitem")
      return at + 1 < count ? (*items)[static_cast<size_t>(at + 1)] : Value(Undefined{"loop.nextitem"});
    return Object::attribute(name, machine);
  }
  Value method(const std::string& name, const Arguments& arguments, Limits& limits) {
    require(name == "cycle" || name == "changed", "loop has no {}()", name);
    require(!arguments.positional.empty(), "loop.{}() wants a value", name);
    if (name == "cycle") return arguments.positional[static_cast<size_t>(at) % arguments.positional.size()];
    const Value now = make_list(arguments.positional, limits);
    const bool is_same = last_changed && equal(*last_changed, now, limits);
    last_changed = now;
    return !is_same;
  }
};

}  // namespace

struct Machine::Scope {
  Scope* parent = nullptr;
  std::vector<std::pair<std::string, Value>> values;

  Value* own(std::string_view name) {
    for (auto& [key, value] : values)
      if (key == name) return &value;
    return nullptr;
  }
  void set(std::string_view name, Value value) {
    if (Value* found = own(name)) *found = std::move(value);
    else values.emplace_back(std::string(name), std::move(value));
  }
};

/// One evaluation within another, while it lives.
struct Machine::Deeper {
  explicit Deeper(Machine& owner) : machine(owner) {
    require(++machine.depth_ <= most_depth, "expressions and macros are nested more than {} deep", most_depth);
  }
  ~Deeper() { --machine.depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
  Machine& machine;
};

Machine::Machine(const Body& body, const Variables& variables, Limits limits)
    : body_(body), limits_(limits), variables_(variables) {}

// A namespace may hold itself.
Machine::~Machine() {
  for (const auto& space : namespaces_) space->values.clear();
}

Text Machine::run() {
  Scope root;
  for (const auto& [name, value] : variables_) root.set(name, value);
  root_ = scope_ = &root;
  try {
    execute(body_);
  } catch (const Error& error) {
    fail("line {}: {}", line_, error.what());
  }
  return std::move(out_);
}

std::shared_ptr<Namespace> Machine::make_namespace() {
  limits_.spend(4 * Limits::element);
  return namespaces_.emplace_back(std::make_shared<Namespace>());
}

// --- expressions ---

Value Machine::evaluate(const Expression& e) {
  limits_.spend(Limits::step);
  const Deeper deeper(*this);
  const auto each = [&] {
    std::vector<Value> values;
    for (const ExpressionPtr& part : e.parts) values.push_back(evaluate(*part));
    return values;
  };
  switch (e.kind) {
    case Kind::constant:
      return e.value;
    case Kind::captured:
      return captured_;
    case Kind::variable:
      return lookup(e);
    case Kind::list:
    case Kind::tuple:
      return make_list(each(), limits_, e.kind == Kind::tuple ? List::Kind::tuple : List::Kind::list);
    case Kind::dict: {
      std::vector<std::pair<Value, Value>> items;
      for (size_t i = 0; i + 1 < e.parts.size(); i += 2) {
        Value key = evaluate(*e.parts[i]), value = evaluate(*e.parts[i + 1]);
        const auto same =
            std::find_if(items.begin(), items.end(), [&](auto& own) { return equal(own.first, key, limits_); });
        if (same != items.end()) same->second = std::move(value);
        else items.emplace_back(std::move(key), std::move(value));
      }
      return make_dict(std::move(items), limits_);
    }
    case Kind::attribute:
      return attribute(evaluate(*e.parts[0]), e.name);
    case Kind::subscript: {
      const Value object = evaluate(*e.parts[0]);
      return subscript(object, evaluate(*e.parts[1]));
    }
    case Kind::slice:
      return slice(e);
    case Kind::call:
      return call(e);
    case Kind::filter: {
      const Value input = evaluate(*e.parts[0]);
      return filter(e.name, input, arguments(e));
    }
    case Kind::test: {
      const Value input = evaluate(*e.parts[0]);
      return test(e.name, input, arguments(e));
    }
    case Kind::unary:
      return unary(e);
    case Kind::binary:
      return binary(e);
    case Kind::compare: {
      Value left = evaluate(*e.parts[0]);
      for (size_t i = 0; i < e.operators.size(); ++i) {
        Value right = evaluate(*e.parts[i + 1]);
        if (!compared(e.operators[i], left, right)) return false;
        left = std::move(right);
      }
      return true;
    }
    case Kind::choice:
      if (evaluate(*e.parts[1]).is_true()) return evaluate(*e.parts[0]);
      return e.parts[2] ? evaluate(*e.parts[2]) : Value();
  }
  return {};
}

Value Machine::lookup(const Expression& e) {
  for (Scope* scope = scope_; scope != nullptr; scope = scope->parent)
    if (const Value* found = scope->own(e.name)) return *found;
  Value known = global(e.name);
  return known.is_undefined() ? Value(Undefined{e.name}) : known;
}

Arguments Machine::arguments(const Expression& e) {
  Arguments out;
  for (size_t i = 1; i < e.parts.size(); ++i) out.positional.push_back(evaluate(*e.parts[i]));
  for (const auto& [name, part] : e.named) out.named.emplace_back(name, evaluate(*part));
  return out;
}

Value Machine::call(const Expression& e) {
  const Expression& callee = *e.parts[0];
  if (callee.kind == Kind::attribute) {
    const Value self = evaluate(*callee.parts[0]);
    const Arguments given = arguments(e);
    if (self.is_undefined()) fail("{} is undefined and has no {}()", self.what(), callee.name);
    if (auto* loop = dynamic_cast<Loop*>(self.object())) return loop->method(callee.name, given, limits_);
    if (const auto out = call_method(self, callee.name, given, *this)) return *out;
    const Value function = attribute(self, callee.name);
    require(function.object() != nullptr && function.object()->is_callable(), "{} has no {}()", self.type(),
            callee.name);
    return function.object()->call(given, *this);
  }
  const Value function = evaluate(callee);
  if (function.is_undefined()) fail("{} is undefined and cannot be called", function.what());
  require(function.object() != nullptr, "{} cannot be called", function.type());
  return function.object()->call(arguments(e), *this);
}

Value Machine::attribute(const Value& object, std::string_view name) {
  if (object.object() != nullptr) return object.object()->attribute(name, *this);
  return subscript(object, Text(name));
}

Value Machine::attributes(const Value& object, const std::string& path) {
  Value out = object;
  size_t at = 0;
  while (at <= path.size()) {
    const size_t end = std::min(path.find('.', at), path.size());
    const std::string step = path.substr(at, end - at);
    const bool is_index =
        !step.empty() && step.find_first_not_of("0123456789") == std::string::npos && step.size() < 10;
    out = is_index ? subscript(out, int64_t{std::stoi(step)}) : attribute(out, step);
    at = end + 1;
  }
  return out;
}

Value Machine::subscript(const Value& object, const Value& key) {
  if (object.is_undefined())
    fail("{} is undefined and has no {}", object.what(), quoted_name(printed(key, limits_).bytes));
  const auto missing = [&] {
    return Value(Undefined{fmt::format("{} of {}", quoted_name(printed(key, limits_).bytes), object.type())});
  };
  if (object.dict() != nullptr) {
    const Value* found = find(*object.dict(), key, limits_);
    return found == nullptr ? missing() : *found;
  }
  if (object.object() != nullptr && key.text() != nullptr) return object.object()->attribute(key.text()->bytes, *this);
  if (!key.is_integer() && !key.is_bool()) return missing();
  if (object.list() != nullptr) {
    if (!object.list()->has_places()) return missing();
    const auto& items = object.list()->items;
    const int64_t at = key.whole() < 0 ? key.whole() + std::ssize(items) : key.whole();
    return at < 0 || at >= std::ssize(items) ? missing() : items[static_cast<size_t>(at)];
  }
  if (object.text() != nullptr) {
    limits_.spend(std::ssize(object.text()->bytes));
    const std::vector<size_t> starts = character_starts(object.text()->bytes);
    const int64_t count = std::ssize(starts) - 1, at = key.whole() < 0 ? key.whole() + count : key.whole();
    if (at < 0 || at >= count) return missing();
    return object.text()->slice(starts[static_cast<size_t>(at)], starts[static_cast<size_t>(at) + 1]);
  }
  return missing();
}

Value Machine::slice(const Expression& e) {
  const Value object = evaluate(*e.parts[0]);
  std::optional<int64_t> given[3];
  for (size_t i = 0; i < 3; ++i) {
    if (!e.parts[i + 1]) continue;
    const Value bound = evaluate(*e.parts[i + 1]);
    require(bound.is_none() || bound.is_integer() || bound.is_bool(), "a slice's bound is {}", bound.type());
    if (!bound.is_none()) given[i] = bound.whole();
  }
  if (object.is_undefined()) fail("{} is undefined and cannot be sliced", object.what());
  if (object.text() == nullptr && (object.list() == nullptr || !object.list()->has_places()))
    return Undefined{"a slice of a " + object.type()};
  std::vector<size_t> starts;
  if (object.text() != nullptr) {
    limits_.spend(std::ssize(object.text()->bytes));
    starts = character_starts(object.text()->bytes);
  }
  const int64_t count = object.list() != nullptr ? std::ssize(object.list()->items) : std::ssize(starts) - 1;
  const int64_t step = given[2].value_or(1);
  require(step != 0, "a slice's step is 0");
  const auto bound = [&](const std::optional<int64_t>& at, int64_t usual) {
    if (!at) return usual;
    const int64_t from_begin = *at < 0 ? std::max(*at, -count - 1) + count : *at;
    return step > 0 ? std::clamp(from_begin, int64_t{0}, count) : std::clamp(from_begin, int64_t{-1}, count - 1);
  };
  const int64_t begin = bound(given[0], step > 0 ? 0 : count - 1), end = bound(given[1], step > 0 ? count : -1);
  std::vector<Value> items;
  Text text;
  // A step beyond the size would overflow the counter.
  const int64_t stride = std::clamp(step, -count - 1, count + 1);
  for (int64_t at = begin; step > 0 ? at < end : at > end; at += stride) {
    const auto i = static_cast<size_t>(at);
    if (object.list() != nullptr) items.push_back(object.list()->items[i]);
    else text.append(object.text()->slice(starts[i], starts[i + 1]));
  }
  return object.list() != nullptr ? make_list(std::move(items), limits_, object.list()->kind) : Value(std::move(text));
}

Value Machine::unary(const Expression& e) {
  const Value operand = evaluate(*e.parts[0]);
  if (e.name == "not") return !operand.is_true();
  require(operand.is_number(), "'{}' of {}", e.name, operand.type());
  if (operand.is_real()) return e.name == "-" ? -operand.real() : operand.real();
  return arithmetic(e.name, int64_t{0}, operand, limits_);
}

Value Machine::binary(const Expression& e) {
  Value left = evaluate(*e.parts[0]);
  if (e.name == "and") return left.is_true() ? evaluate(*e.parts[1]) : left;
  if (e.name == "or") return left.is_true() ? left : evaluate(*e.parts[1]);
  const Value right = evaluate(*e.parts[1]);
  if (e.name != "~") return arithmetic(e.name, left, right, limits_);
  Text text = printed(left, limits_);
  text.append(printed(right, limits_));
  return text;
}

bool Machine::compared(const std::string& sign, const Value& a, const Value& b) {
  if (sign == "==") return equal(a, b, limits_);
  if (sign == "!=") return !equal(a, b, limits_);
  if (sign == "in") return contains(b, a);
  if (sign == "not in") return !contains(b, a);
  const int order = compare(a, b, limits_);
  return sign == "<" ? order < 0 : sign == "<=" ? order <= 0 : sign == ">" ? order > 0 : order >= 0;
}

bool Machine::contains(const Value& container, const Value& item) {
  if (container.is_undefined()) return false;
  if (container.text() != nullptr) {
    require(item.text() != nullptr, "'in' wants a str in a str, not {}", item.type());
    limits_.spend(std::ssize(container.text()->bytes));
    return container.text()->bytes.find(item.text()->bytes) != std::string::npos;
  }
  if (container.dict() != nullptr) return find(*container.dict(), item, limits_) != nullptr;
  require(container.list() != nullptr, "{} contains nothing", container.type());
  const auto& items = container.list()->items;
  return std::any_of(items.begin(), items.end(), [&](const Value& own) { return equal(own, item, limits_); });
}

std::vector<Value> Machine::items(const Value& value) {
  std::vector<Value> out;
  if (value.list() != nullptr) out = value.list()->items;
  else if (value.dict() != nullptr)
    for (const auto& [key, item] : value.dict()->items) out.push_back(key);
  else if (value.text() != nullptr) {
    const std::vector<size_t> starts = character_starts(value.text()->bytes);
    limits_.spend(Limits::element * std::ssize(starts));
    for (size_t i = 0; i + 1 < starts.size(); ++i) out.emplace_back(value.text()->slice(starts[i], starts[i + 1]));
  } else {
    require(value.is_undefined(), "{} has no items", value.type());
  }
  limits_.spend(Limits::element * std::ssize(out));
  return out;
}

// --- statements ---

Machine::Flow Machine::execute(const Body& body) {
  for (const Statement& statement : body) {
    limits_.spend(Limits::step);
    line_ = statement.line;
    const Flow flow = execute(statement);
    if (flow != Flow::on) return flow;
  }
  return Flow::on;
}

Machine::Flow Machine::execute(const Statement& s) {
  const Deeper deeper(*this);
  switch (s.kind) {
    case Do::text:
      limits_.spend(std::ssize(s.name));
      out_.append(s.name);
      return Flow::on;
    case Do::output:
      out_.append(printed(evaluate(*s.value), limits_));
      return Flow::on;
    case Do::branch:
      for (size_t i = 0; i < s.bodies.size(); ++i)
        if (i >= s.conditions.size() || evaluate(*s.conditions[i]).is_true()) return execute(s.bodies[i]);
      return Flow::on;
    case Do::loop:
      return loop(s);
    case Do::assign:
      assign(*s.target, evaluate(*s.value));
      return Flow::on;
    case Do::capture: {
      Flow flow = Flow::on;
      captured_ = captured(s.bodies[0], flow);
      Value value = s.value ? evaluate(*s.value) : captured_;
      if (s.target) assign(*s.target, std::move(value));
      else out_.append(printed(value, limits_));
      return flow;
    }
    case Do::macro:
      scope_->set(s.name, std::shared_ptr<Object>(std::make_shared<Macro>(s)));
      return Flow::on;
    case Do::leave:
      return Flow::leave;
    case Do::next:
      return Flow::next;
  }
  return Flow::on;
}

Machine::Flow Machine::loop(const Statement& s) {
  std::vector<Value> passed = items(evaluate(*s.value));
  Scope* const outer = scope_;
  Scope inner;
  inner.parent = outer;
  scope_ = &inner;
  if (s.conditions[0])
    std::erase_if(passed, [&](const Value& item) {
      inner.values.clear();
      assign(*s.target, item);
      return !evaluate(*s.conditions[0]).is_true();
    });
  const auto position = std::make_shared<Loop>();
  position->items = &passed;
  for (size_t i = 0; i < passed.size(); ++i) {
    position->at = static_cast<int64_t>(i);
    inner.values.clear();
    inner.set("loop", std::shared_ptr<Object>(position));
    assign(*s.target, passed[i]);
    if (execute(s.bodies[0]) == Flow::leave) break;
    line_ = s.line;
  }
  static const std::vector<Value> none;
  position->items = &none;  // a namespace may keep it
  scope_ = outer;
  return passed.empty() && s.bodies.size() > 1 ? execute(s.bodies[1]) : Flow::on;
}

void Machine::assign(const Expression& target, Value value) {
  if (target.kind == Kind::variable) return scope_->set(target.name, std::move(value));
  if (target.kind == Kind::attribute) {
    const Value object = evaluate(*target.parts[0]);
    auto* space = dynamic_cast<Namespace*>(object.object());
    require(space != nullptr, "{} is no namespace, whose attributes alone can be set", object.type());
    limits_.spend(Limits::element);
    space->values[target.name] = std::move(value);
    return;
  }
  const std::vector<Value> parts = items(value);
  require(parts.size() == target.parts.size(), "{} values for {} names", parts.size(), target.parts.size());
  for (size_t i = 0; i < parts.size(); ++i) assign(*target.parts[i], parts[i]);
}

Text Machine::captured(const Body& body, Flow& flow) {
  Text before = std::exchange(out_, {});
  flow = execute(body);
  return std::exchange(out_, std::move(before));
}

Value Machine::call_macro(const Statement& macro, const Arguments& given) {
  const Deeper deeper(*this);
  const int line = line_;
  require(given.positional.size() <= macro.parameters.size(), "{}() takes {} arguments, not {}", macro.name,
          macro.parameters.size(), given.positional.size());
  const auto of_name = [](const auto& pairs, const std::string& name) {
    return std::find_if(pairs.begin(), pairs.end(), [&](const auto& own) { return own.first == name; });
  };
  for (const auto& [name, value] : given.named)
    require(of_name(macro.parameters, name) != macro.parameters.end(), "{}() has no parameter {}", macro.name, name);
  Scope* const outer = scope_;
  Scope inner;
  inner.parent = root_;
  scope_ = &inner;
  for (size_t i = 0; i < macro.parameters.size(); ++i) {
    const auto& [name, usual] = macro.parameters[i];
    const auto named = of_name(given.named, name);
    Value value = i < given.positional.size()  ? given.positional[i]
                  : named != given.named.end() ? named->second
                  : usual                      ? evaluate(*usual)
                                               : Value(Undefined{name});
    inner.set(name, std::move(value));
  }
  Flow flow = Flow::on;
  Text text = captured(macro.bodies[0], flow);
  scope_ = outer;
  line_ = line;
  return text;
}

}  // namespace headroom::models::jinja
