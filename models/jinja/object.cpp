#include "models/jinja/object.h"

#include <algorithm>
#include <ctime>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/jinja/machine.h"

namespace headroom::models::jinja {
namespace {

Value range(Parameters& p, Machine& machine) {
  const int64_t first = p.needed("start").whole();
  const Value* const second = p.next("stop");
  const int64_t begin = second == nullptr ? 0 : first, end = second == nullptr ? first : second->whole(),
                step = p.whole("step", 1);
  require(step != 0, "range(): a step of 0");
  std::vector<Value> items;
  // The difference of the bounds may be beyond an integer.
  for (int64_t at = begin; step > 0 ? at < end : at > end;) {
    machine.limits().spend(Limits::element);
    items.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return make_list(std::move(items), machine.limits());
}

Value make_namespace(Parameters& p, Machine& machine) {
  const auto space = machine.make_namespace();
  const Arguments given = p.rest();
  if (!given.positional.empty()) {
    const Value& first = given.positional[0];
    require(first.dict() != nullptr && given.positional.size() == 1, "namespace() takes a dict and names");
    for (const auto& [key, value] : first.dict()->items) space->values[printed(key, machine.limits()).bytes] = value;
  }
  for (const auto& [name, value] : given.named) space->values[name] = value;
  return std::shared_ptr<Object>(space);
}

Value make_dict_of_names(Parameters& p, Machine& machine) {
  std::vector<std::pair<Value, Value>> items;
  const Arguments arguments = p.rest();
  if (!arguments.positional.empty()) {
    const Value& first = arguments.positional[0];
    require(first.dict() != nullptr && arguments.positional.size() == 1, "dict() takes a dict and names");
    items = first.dict()->items;
  }
  for (const auto& given : arguments.named) {
    std::erase_if(
        items, [&](const auto& own) { return own.first.text() != nullptr && own.first.text()->bytes == given.first; });
    items.emplace_back(Text(given.first), given.second);
  }
  return make_dict(std::move(items), machine.limits());
}

Value raise_exception(Parameters& p, Machine& machine) {
  const std::string message = printed(p.needed("message"), machine.limits()).bytes;
  fail("the template refuses: {}", quoted_name(message));
}

Value strftime_now(Parameters& p, Machine& /*machine*/) {
  const std::string format = p.text("format", "");
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  require(format.size() <= 256, "strftime_now(): a format of {} bytes", format.size());
  char text[4096];
  // The format is the template's: that is what it is for.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const size_t size = std::strftime(text, sizeof text, format.c_str(), &local);
#pragma GCC diagnostic pop
  return Text(std::string_view(text, size));
}

}  // namespace

const Value* Parameters::next(std::string_view name) {
  const size_t at = position_++;
  if (at < given_.positional.size()) {
    ++used_;
    return &given_.positional[at];
  }
  for (const auto& [own, value] : given_.named)
    if (own == name) {
      ++used_;
      return &value;
    }
  return nullptr;
}

const Value& Parameters::needed(std::string_view name) {
  const Value* const found = next(name);
  require(found != nullptr, "{} wants {}", what_, name);
  return *found;
}

int64_t Parameters::whole(std::string_view name, int64_t usual) {
  const Value* const found = next(name);
  if (found == nullptr || found->is_none()) return usual;
  require(found->is_integer() || found->is_bool(), "{}: {} is {}, not an int", what_, name, found->type());
  return found->whole();
}

std::string Parameters::text(std::string_view name, const std::string& usual) {
  const Value* const found = next(name);
  if (found == nullptr || found->is_none()) return usual;
  require(found->text() != nullptr, "{}: {} is {}, not a str", what_, name, found->type());
  return found->text()->bytes;
}

const std::string* Parameters::text_or_none(std::string_view name) {
  const Value* const found = next(name);
  return found == nullptr || found->text() == nullptr ? nullptr : &found->text()->bytes;
}

bool Parameters::flag(std::string_view name, bool usual) {
  const Value* const found = next(name);
  return found == nullptr ? usual : found->is_true();
}

Arguments Parameters::rest() {
  const auto begin =
      given_.positional.begin() + static_cast<std::ptrdiff_t>(std::min(position_, given_.positional.size()));
  used_ = given_.positional.size() + given_.named.size();
  return {{begin, given_.positional.end()}, given_.named};
}

void Parameters::end() const {
  require(used_ == given_.positional.size() + given_.named.size(), "{} was given an argument that it does not take",
          what_);
}

Value Object::attribute(std::string_view name, Machine& /*machine*/) {
  return Undefined{quoted_name(std::string(name)) + " of a " + kind()};
}

Value Object::call(const Arguments& /*arguments*/, Machine& /*machine*/) { fail("a {} cannot be called", kind()); }

Value Namespace::attribute(std::string_view name, Machine& machine) {
  const auto found = values.find(name);
  return found == values.end() ? Object::attribute(name, machine) : found->second;
}

Value Builtin::call(const Arguments& arguments, Machine& machine) {
  return Parameters::of(name + "()", arguments, [&](Parameters& parameters) { return body(parameters, machine); });
}

Value global(const std::string& name) {
  static const std::map<std::string, Builtin::Body> known{{"range", range},
                                                          {"namespace", make_namespace},
                                                          {"dict", make_dict_of_names},
                                                          {"raise_exception", raise_exception},
                                                          {"strftime_now", strftime_now}};
  const auto found = known.find(name);
  if (found == known.end()) return {};
  return std::shared_ptr<Object>(std::make_shared<Builtin>(name, found->second));
}

}  // namespace headroom::models::jinja
