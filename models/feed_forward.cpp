#include "models/feed_forward.h"

#include "autograd/ops.h"

namespace headroom::models {

FeedForward::FeedForward(const TransformerConfig& config, const Initializer& init)
    : activation_(config.activation), width_(config.width), hidden_(config.ffn_width) {
  if (activation_ == Activation::swiglu) {
    gate_ = std::make_unique<Linear>(width_, hidden_, config.ffn_bias, init);
    add_child("gate", *gate_);
  }
  up_ = std::make_unique<Linear>(width_, hidden_, config.ffn_bias, init);
  add_child("up", *up_);
  down_ = std::make_unique<Linear>(hidden_, width_, config.ffn_bias, init, true);
  add_child("down", *down_);
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
    case Activation::swiglu:
      break;
  }
  return down_->forward(autograd::swiglu(gate_->forward(x), h));
}

std::string FeedForward::describe() const {
  return fmt::format("{} feed-forward {} -> {} -> {}", name_of(activation_), width_, hidden_, width_);
}

}  // namespace headroom::models
