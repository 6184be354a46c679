#include "autograd/optim/arena.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "engine/error.h"
#include "engine/optim/update.h"

namespace headroom::autograd {
namespace {

/// The number of elements. Throws Error, with the name, for a leaf that cannot be in the arena.
int64_t check_parameters(const std::vector<Parameter>& parameters, bool has_copies) {
  require(!parameters.empty(), "parameter arena: no parameters");
  const Tensor& first = parameters[0].var.value();
  std::unordered_set<const Node*> seen;
  int64_t total = 0;
  for (const Parameter& parameter : parameters) {
    const Tensor& value = parameter.var.value();
    require(value.dtype() == first.dtype() && value.device() == first.device(), "parameter arena: {} is {}, {} is {}",
            parameters[0].name, first.str(), parameter.name, value.str());
    require(!has_copies || value.dtype() == engine::DType::f32,
            "parameter arena: {} is {}; bf16 copies are of f32 masters", parameter.name, value.str());
    require(parameter.var.requires_grad(), "parameter arena: {} {} does not require a gradient", parameter.name,
            value.str());
    require(seen.insert(parameter.var.node().get()).second, "parameter arena: {} was given twice", parameter.name);
    require(!parameter.var.is_bound(), "parameter arena: {} {} is in another arena already", parameter.name,
            value.str());
    total += value.numel();
  }
  return total;
}

}  // namespace

ParameterArena::ParameterArena(std::vector<Parameter> parameters, const ArenaOptions& options)
    : parameters_(std::move(parameters)), identity_(std::make_shared<const char>()) {
  const int64_t total = check_parameters(parameters_, options.has_copies);
  const Tensor& first = parameters_[0].var.value();
  const engine::DType dtype = first.dtype();
  const engine::Device device = options.device.value_or(first.device());
  std::stable_partition(parameters_.begin(), parameters_.end(), [](const Parameter& e) { return e.decays; });
  values_ = Tensor::empty({total}, dtype, device);                                        // (N)
  gradients_ = Tensor::zeros({total}, dtype, device);                                     // (N)
  if (options.has_copies) copies_ = Tensor::empty({total}, engine::DType::bf16, device);  // (N)
  int64_t offset = 0;
  for (const Parameter& parameter : parameters_) {
    const Shape shape = parameter.var.shape();
    const auto part = [&](const Tensor& flat) { return flat.slice(0, offset, offset + shape.numel()).reshape(shape); };
    engine::copy_inplace(part(values_), parameter.var.value().to(device));
    parameter.var.bind(part(options.has_copies ? copies_ : values_), part(gradients_), identity_);
    if (parameter.decays) decayed_ += shape.numel();
    offset += shape.numel();
  }
  refresh_copies();
}

const Tensor& ParameterArena::gradients() const {
  int64_t offset = 0;
  for (const Parameter& parameter : parameters_) {
    const int64_t n = parameter.var.value().numel();
    // A leaf whose gradient is fresh got none: its part of the buffer is from an earlier step.
    if (!parameter.var.grad().defined()) {
      const Tensor part = gradients_.slice(0, offset, offset + n);
      engine::copy_inplace(part, Tensor::zeros({n}, part.dtype(), part.device()));
    }
    offset += n;
  }
  return gradients_;
}

std::vector<std::pair<std::string, Tensor>> ParameterArena::named_values() const {
  std::vector<std::pair<std::string, Tensor>> named;
  int64_t offset = 0;
  for (const Parameter& parameter : parameters_) {
    const int64_t n = parameter.var.value().numel();
    named.emplace_back(parameter.name, values_.slice(0, offset, offset + n).reshape(parameter.var.shape()));
    offset += n;
  }
  return named;
}

void ParameterArena::refresh_copies() const {
  if (copies_.defined()) engine::convert_inplace(copies_, values_);
}

void ParameterArena::zero_grad() const {
  for (const Parameter& parameter : parameters_) parameter.var.zero_grad();
}

double ParameterArena::gradient_norm() const { return engine::norm(gradients()); }

}  // namespace headroom::autograd
