#include "models/feed_forward.h"

#include <type_traits>

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/switch.h"

namespace headroom::models {

static Var geglu(const Var& gate, const Var& up) { return autograd::gelu_tanh(gate) * up; }

FeedForward::FeedForward(const TransformerConfig& config, int64_t hidden, const WeightScope& scope)
    : activation_(config.activation),
      width_(config.width),
      hidden_(hidden),
      pads_rows_(activation_ == Activation::swiglu && !engine::is_off("HEADROOM_PADDED_FFN")) {
  const auto project = [&](const char* name, int64_t in, int64_t out, bool ends_branch) {
    return make_child<Projection>(scope, name,
                                  ProjectionShape{.in = in,
                                                  .out = out,
                                                  .bias = config.ffn_bias,
                                                  .ends_branch = ends_branch,
                                                  .placement = {.pads_rows = ends_branch && pads_rows_}});
  };
  if (is_gated(activation_)) gate_ = project("gate", width_, hidden_, false);
  up_ = project("up", width_, hidden_, false);
  down_ = project("down", hidden_, width_, true);
}

Var FeedForward::forward(const Var& x) const {
  using namespace autograd;                   // the ops that name the activations
  const Var h = up_->forward(x, pads_rows_);  // (B, T, F)
  const auto activated = [&](auto op) {
    if constexpr (std::is_invocable_v<decltype(op), Var, Var>) return op(gate_->forward(x, pads_rows_), h);
    else return op(h);
  };
  switch (activation_) {
#define HEADROOM_CASE(NAME, GATED) \
  case Activation::NAME:           \
    return down_->forward(activated(NAME));
    HEADROOM_ACTIVATIONS(HEADROOM_CASE)
#undef HEADROOM_CASE
  }
  fail("feed-forward: no activation");
}

std::string FeedForward::describe() const {
  return fmt::format("{} feed-forward {} -> {} -> {}", name_of(activation_), width_, hidden_, width_);
}

}  // namespace headroom::models
