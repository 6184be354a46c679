#include "models/feed_forward.h"

#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::models {

FeedForward::FeedForward(const TransformerConfig& config, int64_t hidden, const WeightScope& scope)
    : activation_(config.activation), width_(config.width), hidden_(hidden) {
  const auto project = [&](const char* name, int64_t in, int64_t out, bool ends_branch) {
    auto projection = std::make_unique<Projection>(
        ProjectionShape{.in = in, .out = out, .bias = config.ffn_bias, .ends_branch = ends_branch}, scope.at(name));
    add_child(name, *projection);
    return projection;
  };
  if (is_gated(activation_)) gate_ = project("gate", width_, hidden_, false);
  up_ = project("up", width_, hidden_, false);
  down_ = project("down", hidden_, width_, true);
}

Var FeedForward::forward(const Var& x) const {
  const Var h = up_->forward(x);  // (B, T, F)
  switch (activation_) {
    case Activation::relu:
      return down_->forward(autograd::relu(h));
    case Activation::gelu:
      return down_->forward(autograd::gelu(h));
    case Activation::gelu_tanh:
      return down_->forward(autograd::gelu_tanh(h));
    case Activation::silu:
      return down_->forward(autograd::silu(h));
    case Activation::geglu:
      return down_->forward(autograd::gelu_tanh(gate_->forward(x)) * h);
    case Activation::swiglu:
      break;
  }
  return down_->forward(autograd::swiglu(gate_->forward(x), h));
}

std::string FeedForward::describe() const {
  return fmt::format("{} feed-forward {} -> {} -> {}", name_of(activation_), width_, hidden_, width_);
}

}  // namespace headroom::models
