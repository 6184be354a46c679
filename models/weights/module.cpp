#include "models/weights/module.h"

#include <algorithm>
#include <map>
#include <regex>

#include "engine/error.h"

namespace headroom::models {

std::vector<Parameter> Module::parameters() const {
  std::vector<Parameter> all = leaves();
  std::erase_if(all, [](const Parameter& leaf) { return !leaf.var.requires_grad(); });
  return all;
}

std::vector<std::pair<std::string, Tensor>> Module::weights() const {
  std::vector<std::pair<std::string, Tensor>> all;
  for (const Entry& entry : own_) {
    require(entry.leaf.var.defined(), "weights: '{}{}{}' is quantised", path(), parent_ ? "." : "", entry.leaf.name);
    all.emplace_back(entry.leaf.name, entry.leaf.var.value());
  }
  for (const auto& [name, child] : children_)
    for (auto& [path, tensor] : child->weights()) all.emplace_back(name + "." + path, tensor);
  return all;
}

std::vector<Parameter> Module::leaves() const {
  std::vector<Parameter> all;
  for (const Entry& entry : own_)
    if (entry.leaf.var.defined()) all.push_back(entry.leaf);
  for (const auto& [name, child] : children_)
    for (Parameter& leaf : child->leaves()) {
      leaf.name = fmt::format("{}.{}", name, leaf.name);
      all.push_back(std::move(leaf));
    }
  return all;
}

void Module::load(const std::vector<std::pair<std::string, Tensor>>& tensors) {
  std::map<std::string, Tensor> given;
  for (const auto& [name, tensor] : tensors)
    require(given.emplace(name, tensor).second, "load: '{}' is given twice", name);
  const std::vector<Parameter> all = leaves();
  for (const Parameter& leaf : all) {
    const auto found = given.find(leaf.name);
    require(found != given.end(), "load: no '{}'", leaf.name);
    const Tensor& own = leaf.var.value();
    require(found->second.shape() == own.shape(), "load: '{}' is {}, expected {}", leaf.name, found->second, own);
    require(leaf.var.grad_dtype() == own.dtype(), "load: '{}' is a copy of an optimizer's weight: load before",
            leaf.name);
  }
  std::vector<Tensor> values;
  for (const Parameter& leaf : all) values.push_back(given.extract(leaf.name).mapped().to(leaf.var.value().device()));
  require(given.empty(), "load: there is no weight '{}'", given.empty() ? "" : given.begin()->first);
  for (size_t i = 0; i < all.size(); ++i) engine::convert_inplace(all[i].var.value(), values[i]);
}

void Module::set_requires_grad(bool required) {
  for (const Parameter& leaf : leaves()) leaf.var.set_requires_grad(required);
}

int64_t Module::parameter_count() const {
  int64_t count = 0;
  for (const Entry& entry : own_) count += entry.numel;
  for (const auto& [name, child] : children_) count += child->parameter_count();
  return count;
}

std::string Module::describe() const { return std::to_string(parameter_count()) + " weights"; }

int64_t Module::weight_bytes() const {
  int64_t bytes = 0;
  for (const Entry& entry : own_) bytes += entry.bytes;
  for (const auto& [name, child] : children_) bytes += child->weight_bytes();
  return bytes;
}

bool Module::has_wide_matrices() const {
  return std::any_of(own_.begin(), own_.end(),
                     [](const Entry& entry) {
                       const Var& leaf = entry.leaf.var;
                       return leaf.defined() && leaf.value().rank() > 1 && engine::size_of(leaf.value().dtype()) >= 4;
                     }) ||
         std::any_of(children_.begin(), children_.end(),
                     [](const auto& child) { return child.second->has_wide_matrices(); });
}

engine::Device Module::device() const {
  const Tensor* const weight = first_weight();
  return weight ? weight->device() : engine::cpu;
}

const Tensor* Module::first_weight() const {
  for (const Entry& entry : own_)
    if (entry.leaf.var.defined()) return &entry.leaf.var.value();
  for (const auto& [name, child] : children_)
    if (const Tensor* const weight = child->first_weight()) return weight;
  return nullptr;
}

std::string Module::path() const {
  if (!parent_) return "";
  const std::string outer = parent_->path();
  const std::string dotted = outer.empty() ? name_ : outer + "." + name_;
  static const std::regex number("\\.([0-9]+)(?=\\.|$)");
  return std::regex_replace(dotted, number, "[$1]");
}

void Module::add_entry(Entry entry) {
  for (const Entry& other : own_)
    require(other.leaf.name != entry.leaf.name, "module: two parameters named '{}'", entry.leaf.name);
  own_.push_back(std::move(entry));
}

Var Module::add_parameter(const std::string& name, Var leaf, bool decays, autograd::Placement placement) {
  const int64_t numel = leaf.value().numel(), bytes = numel * engine::size_of(leaf.value().dtype());
  add_entry({{name, leaf, decays, placement}, numel, bytes});
  return leaf;
}

Weight Module::add_weight(const std::string& name, Weight weight, bool decays, autograd::Placement placement) {
  if (const auto* leaf = std::get_if<Var>(&weight.form())) {
    add_parameter(name, *leaf, decays, placement);
  } else if (const auto* factors = std::get_if<LowRank>(&weight.form())) {
    add_parameter(name + "_a", factors->a, decays);
    add_parameter(name + "_b", factors->b, decays);
  } else if (const auto* adapted = std::get_if<Adapted>(&weight.form())) {
    (void)add_weight(name, *adapted->base, decays);
    add_parameter(name + ".lora_a", adapted->a, decays);
    add_parameter(name + ".lora_b", adapted->b, decays);
  } else {
    const auto& matrix = std::get<engine::QuantizedMatrix>(weight.form());
    add_entry({{name, {}, decays}, matrix.rows() * matrix.cols(), matrix.bytes()});
  }
  return weight;
}

void Module::add_child(std::string name, Module& child) {
  for (const auto& [other, module] : children_) require(other != name, "module: two parts named '{}'", name);
  child.parent_ = this;
  child.name_ = name;
  children_.emplace_back(std::move(name), &child);
}

}  // namespace headroom::models
