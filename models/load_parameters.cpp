#include "models/load_parameters.h"

#include <map>

namespace headroom::models {

void load_parameters(const Module& module, const std::vector<std::pair<std::string, Tensor>>& tensors) {
  std::map<std::string, Tensor> given;
  for (const auto& [name, tensor] : tensors)
    require(given.emplace(name, tensor).second, "load parameters: '{}' is given twice", name);
  const std::vector<Parameter> parameters = module.parameters();
  for (const Parameter& parameter : parameters) {
    const auto found = given.find(parameter.name);
    require(found != given.end(), "load parameters: '{}' is not given", parameter.name);
    const Tensor& wanted = parameter.var.value();
    require(found->second.shape() == wanted.shape(), "load parameters: '{}' is {}, wants {}", parameter.name,
            found->second.str(), wanted.str());
  }
  if (given.size() > parameters.size())
    for (const Parameter& parameter : parameters) given.erase(parameter.name);
  require(given.size() == parameters.size(), "load parameters: '{}' is no parameter of this model",
          given.begin()->first);
  for (const Parameter& parameter : parameters) {
    const Tensor& to = parameter.var.value();
    engine::copy_inplace(to, given.at(parameter.name).to(to.dtype()).to(to.device()));
  }
}

}  // namespace headroom::models
