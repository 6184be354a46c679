#pragma once
#include <functional>
#include <map>
#include <string>

#include "models/jinja/value.h"

namespace headroom::models::jinja {

class Machine;

/// What a call was given.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// The arguments of a filter, test, method or function by their names. Throws Error naming it for one too many, one
/// that is missing, or one of another name.
class Parameters {
 public:
  /// What `body`, a function of Parameters, makes of them. Throws Error for one that it did not ask for.
  template <class Body>
  static auto of(std::string what, const Arguments& arguments, const Body& body) {
    Parameters parameters(std::move(what), arguments);
    auto out = body(parameters);
    parameters.end();
    return out;
  }
  /// The next one; nullptr if it is not given.
  const Value* next(std::string_view name);
  const Value& needed(std::string_view name);
  /// The next one as a whole number, a text's bytes or a truth; `usual` where it is not given.
  int64_t whole(std::string_view name, int64_t usual);
  std::string text(std::string_view name, const std::string& usual);
  /// The next one's bytes; nullptr if it is not given or no text.
  const std::string* text_or_none(std::string_view name);
  bool flag(std::string_view name, bool usual);
  /// All positional ones that were not asked for, and all named ones.
  Arguments rest();
  const std::string& what() const { return what_; }

 private:
  Parameters(std::string what, const Arguments& arguments) : what_(std::move(what)), given_(arguments) {}
  void end() const;
  std::string what_;
  const Arguments& given_;
  size_t position_ = 0, used_ = 0;
};

/// A value with an identity.
struct Object {
  virtual ~Object() = default;
  virtual std::string kind() const = 0;
  virtual Value attribute(std::string_view name, Machine& machine);
  /// Throws Error if it is no function.
  virtual Value call(const Arguments& arguments, Machine& machine);
  virtual bool is_callable() const { return false; }
};

/// namespace(): the one thing whose attributes a template sets.
struct Namespace : Object {
  std::map<std::string, Value, std::less<>> values;
  std::string kind() const override { return "Namespace"; }
  Value attribute(std::string_view name, Machine& machine) override;
};

/// A function of ours.
struct Builtin : Object {
  using Body = std::function<Value(Parameters& parameters, Machine& machine)>;
  Builtin(std::string function_name, Body function) : name(std::move(function_name)), body(std::move(function)) {}
  std::string name;
  Body body;
  std::string kind() const override { return "function " + name; }
  Value call(const Arguments& arguments, Machine& machine) override;
  bool is_callable() const override { return true; }
};

}  // namespace headroom::models::jinja
