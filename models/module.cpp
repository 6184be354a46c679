#include "models/module.h"

#include <regex>

namespace headroom::models {

std::vector<Parameter> Module::parameters() const {
  std::vector<Parameter> all = own_;
  for (const auto& [name, child] : children_)
    for (Parameter& parameter : child->parameters())
      all.push_back({name + "." + parameter.name, parameter.var, parameter.decays});
  return all;
}

int64_t Module::parameter_count() const {
  int64_t count = 0;
  for (const Parameter& parameter : own_) count += parameter.var.value().numel();
  for (const auto& [name, child] : children_) count += child->parameter_count();
  return count;
}

std::string Module::path() const {
  if (!parent_) return "";
  const std::string outer = parent_->path();
  const std::string dotted = outer.empty() ? name_ : outer + "." + name_;
  static const std::regex number("\\.([0-9]+)(?=\\.|$)");
  return std::regex_replace(dotted, number, "[$1]");
}

Var Module::add_parameter(std::string name, Tensor value, bool decays) {
  for (const Parameter& other : own_) require(other.name != name, "module: two parameters named '{}'", name);
  own_.push_back({std::move(name), Var(std::move(value), true), decays});
  return own_.back().var;
}

void Module::add_child(std::string name, Module& child) {
  for (const auto& [other, module] : children_) require(other != name, "module: two parts named '{}'", name);
  child.parent_ = this;
  child.name_ = name;
  children_.emplace_back(std::move(name), &child);
}

}  // namespace headroom::models
