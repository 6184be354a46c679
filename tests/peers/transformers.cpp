#include "tests/peers/transformers.h"

#include "autograd/ops.h"
#include "models/transformer.h"

namespace headroom::peers {
namespace {

using namespace headroom::models;

template <class E>
E any_of(Random& random, E last) {
  return static_cast<E>(random.integer(0, static_cast<int64_t>(last)));
}

TransformerConfig drawn_config(Random& random) {
  TransformerConfig c;
  c.layers = random.integer(1, 3);
  c.width = 2 * random.integer(2, 8);
  c.positions = any_of(random, Positions::alibi);
  for (int64_t i = 0, groups = random.chance(0.3) ? 2 : 1; i < groups; ++i) {
    HeadGroup g;
    const int64_t kv = random.integer(1, 2);
    g.heads = kv * random.integer(1, 3);
    g.kv_heads = g.heads == kv ? 0 : kv;
    g.qk_dim = c.positions == Positions::rope ? 2 * random.integer(1, 4) : random.integer(1, 8);
    g.v_dim = random.integer(1, 8);
    c.groups.push_back(g);
  }
  c.max_length = random.integer(3, 9);
  if (random.chance(0.6)) c.vocab = random.integer(3, 17);
  else c.input_dim = random.integer(1, 6);
  c.tied = c.vocab > 0 && random.chance(0.4);
  c.output_dim = c.tied ? 0 : random.integer(2, 7);
  c.pooling = random.chance(0.25) ? Pooling::mean : Pooling::none;
  c.causal = random.chance(0.5);
  c.rope_base = random.chance(0.5) ? 10000 : 100;
  c.norm = any_of(random, Norm::rms_norm);
  c.norm_place = any_of(random, NormPlace::post);
  c.final_norm = random.chance(0.7);
  c.norm_eps = random.chance(0.5) ? 1e-5 : 1e-6;
  c.ffn_width = random.integer(2, 20);
  c.activation = any_of(random, Activation::swiglu);
  c.attention_bias = random.chance(0.5);
  c.ffn_bias = random.chance(0.5);
  if (random.chance(0.3)) c.logit_scale = 0.2 + random.uniform();
  return c;
}

/// As tests/golden/make_golden.py reads it.
Json json_of(const TransformerConfig& c) {
  Json groups = Json::array();
  for (const HeadGroup& g : c.groups)
    groups.push_back({{"heads", g.heads}, {"qk_dim", g.qk_dim}, {"v_dim", g.v_dim}, {"kv_heads", g.kv_heads}});
  return {{"layers", c.layers},
          {"width", c.width},
          {"groups", groups},
          {"max_length", c.max_length},
          {"vocab", c.vocab},
          {"input_dim", c.input_dim},
          {"output_dim", c.output_dim},
          {"tied", c.tied},
          {"pooling", name_of(c.pooling)},
          {"causal", c.causal},
          {"positions", name_of(c.positions)},
          {"rope_base", c.rope_base},
          {"norm", name_of(c.norm)},
          {"norm_place", name_of(c.norm_place)},
          {"final_norm", c.final_norm},
          {"norm_eps", c.norm_eps},
          {"ffn_width", c.ffn_width},
          {"activation", name_of(c.activation)},
          {"attention_bias", c.attention_bias},
          {"ffn_bias", c.ffn_bias},
          {"logit_scale", c.logit_scale ? Json(*c.logit_scale) : Json()}};
}

}  // namespace

Json write_transformer(Random& random, DType dtype, const std::string& prefix, NamedTensors& tensors) {
  const TransformerConfig config = drawn_config(random);
  engine::Rng rng(static_cast<uint64_t>(random.integer(0, 1 << 30)));
  const Transformer model(config, rng, dtype);
  const int64_t batch = random.integer(1, 3), length = random.integer(1, config.max_length);
  const bool has_tokens = config.vocab > 0;
  const Tensor input = has_tokens ? drawn_integers(random, "input", {batch, length}, 0, config.vocab - 1).value
                                  : drawn(random, "input", {batch, length, config.input_dim}, dtype, {-2, 2}).value;
  Json parameters = Json::array();
  for (const Parameter& p : model.parameters()) {
    // Weights away from their start, where gains are 1 and biases 0.
    const bool is_norm = p.name.find("norm") != std::string::npos, is_matrix = p.var.shape().rank() == 2;
    const Tensor noise = drawn(random, p.name, p.var.shape(), dtype, {is_norm ? 0.6 : -0.5, is_norm ? 1.4 : 0.5}).value;
    if (!is_matrix) engine::copy_inplace(p.var.value(), noise);
    parameters.push_back(p.name);
  }
  ForwardContext context;
  const bool has_mask = random.chance(0.3);
  Tensor mask = Tensor::full({batch, length}, 1, DType::f32);
  if (has_mask)
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t t = random.integer(1, length); t < length; ++t) mask.mutable_data<float>()[b * length + t] = 0;
  if (has_mask) context.key_mask = mask.to(DType::boolean);
  const Var y = model.forward(input, context);
  const Tensor dy = drawn(random, "dy", y.shape(), dtype, {-1, 1}).value;
  y.backward(dy);
  const auto add = [&](const std::string& name, const Tensor& x) { tensors.emplace_back(prefix + name, x); };
  add("input", input);
  add("mask", mask.to(DType::boolean));
  add("y", y.value());
  add("dy", dy);
  for (const Parameter& p : model.parameters()) {
    add("value." + p.name, p.var.value());
    add("gradient." + p.name, p.var.grad().defined() ? p.var.grad() : Tensor::zeros(p.var.shape(), dtype));
  }
  return {{"config", json_of(config)}, {"parameters", parameters}};
}

}  // namespace headroom::peers
