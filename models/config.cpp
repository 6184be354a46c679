#include "models/config.h"

#include <cmath>

#include "engine/error.h"
#include "models/count.h"

namespace headroom::models {
namespace {

/// A model beyond this is a typing error, not a wish: 4 TB of f32.
constexpr double most_parameters = 1e12;

void require_at_least(const char* field, int64_t value, int64_t least) {
  require(value >= least, "model.{} is {}; it must be at least {}", field, value, least);
}

void require_positive(const char* field, double value) {
  require(std::isfinite(value) && value > 0, "model.{} is {}; it must be finite and above 0", field, value);
}

void require_deviation(const char* field, double value) {
  require(std::isfinite(value) && value >= 0, "model.{} is {}; it must be finite and at least 0", field, value);
}

void validate_group(const HeadGroup& group, size_t index, Positions positions) {
  const auto field = [&](const char* name) { return fmt::format("groups[{}].{}", index, name); };
  require_at_least(field("heads").c_str(), group.heads, 1);
  require_at_least(field("qk_dim").c_str(), group.qk_dim, 1);
  require_at_least(field("v_dim").c_str(), group.v_dim, 1);
  require(group.kv_heads >= 0 && group.heads % group.key_value_heads() == 0,
          "model.{} is {}; it must be 0 (as many as heads) or divide heads, which is {}", field("kv_heads"),
          group.kv_heads, group.heads);
  require(positions != Positions::rope || group.qk_dim % 2 == 0, "model.{} is {}; rope needs it to be even",
          field("qk_dim"), group.qk_dim);
}

void validate_ends(const TransformerConfig& c) {
  require_at_least("vocab", c.vocab, 0);
  require_at_least("input_dim", c.input_dim, 0);
  require((c.vocab > 0) != (c.input_dim > 0),
          "model.vocab is {} and model.input_dim is {}; exactly one of them must be above 0", c.vocab, c.input_dim);
  require_at_least("readout_width", c.readout_width, 0);
  if (!c.tied) return require_at_least("output_dim", c.output_dim, 1);
  require(c.readout_width == 0, "model.readout_width is {}; with model.tied it must be 0", c.readout_width);
  require(c.vocab > 0, "model.tied is true; it needs model.vocab, for there is no token embedding to share");
  require(c.output_dim == 0 || c.output_dim == c.vocab,
          "model.output_dim is {}; with model.tied it must be 0 or model.vocab, which is {}", c.output_dim, c.vocab);
}

}  // namespace

void validate(const TransformerConfig& c) {
  require_at_least("layers", c.layers, 1);
  require_at_least("width", c.width, 1);
  require_at_least("max_length", c.max_length, 1);
  require_at_least("ffn_width", c.ffn_width, 0);
  require(!c.groups.empty(), "model.groups is empty; it must hold at least one group of heads");
  for (size_t i = 0; i < c.groups.size(); ++i) validate_group(c.groups[i], i, c.positions);
  validate_ends(c);
  require_positive("rope_base", c.rope_base);
  require_positive("alibi_slope_first", c.alibi_slope_first);
  require_positive("alibi_slope_last", c.alibi_slope_last);
  require_positive("norm_eps", c.norm_eps);
  require(c.dropout >= 0 && c.dropout < 1, "model.dropout is {}; it must be at least 0 and below 1", c.dropout);
  require(!c.logit_scale || std::isfinite(*c.logit_scale), "model.logit_scale is {}; it must be finite",
          c.logit_scale.value_or(0));
  require_deviation("init.std", c.init.std);
  require_deviation("init.embedding_std", c.init.embedding_std);
  require_deviation("init.position_std", c.init.position_std);
  const double parameters = count_parameters<double>(c);
  require(parameters <= most_parameters, "model: these widths make {:.3g} parameters; at most {:.0e} are allowed",
          parameters, most_parameters);
}

const char* name_of(Positions positions) {
  switch (positions) {
    case Positions::none:
      return "none";
    case Positions::sinusoidal:
      return "sinusoidal";
    case Positions::learned:
      return "learned";
    case Positions::rope:
      return "rope";
    case Positions::alibi:
      break;
  }
  return "alibi";
}

const char* name_of(Norm norm) {
  switch (norm) {
    case Norm::none:
      return "none";
    case Norm::layer_norm:
      return "layer_norm";
    case Norm::rms_norm:
      break;
  }
  return "rms_norm";
}

const char* name_of(NormPlace place) { return place == NormPlace::pre ? "pre" : "post"; }

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_tanh";
    case Activation::silu:
      return "silu";
    case Activation::swiglu:
      break;
  }
  return "swiglu";
}

const char* name_of(Pooling pooling) { return pooling == Pooling::none ? "none" : "mean"; }

const char* name_of(InitScheme scheme) {
  switch (scheme) {
    case InitScheme::torch_linear:
      return "torch_linear";
    case InitScheme::normal:
      return "normal";
    case InitScheme::xavier:
      return "xavier";
    case InitScheme::kaiming:
      return "kaiming";
    case InitScheme::gpt2:
      break;
  }
  return "gpt2";
}

}  // namespace headroom::models
