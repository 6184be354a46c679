#include "tasks/measure/head_source.h"

#include <cmath>

#include "engine/error.h"
#include "engine/ops/concat/concat.h"
#include "models/positions.h"

namespace headroom::tasks {
namespace {

using engine::DType;

/// Rows [begin, end) of a projection in f64, with `biased` its biases, or zeros, as one more column.
Tensor rows_with_bias(const models::Projection& projection, int64_t begin, int64_t end, bool biased) {
  const Tensor weight = projection.weight().values(DType::f64).slice(0, begin, end).contiguous();  // (d_H, D)
  if (!biased) return weight;
  const autograd::Var& bias = projection.bias();
  const Tensor column = bias.defined() ? bias.value().to(DType::f64).slice(0, begin, end).reshape({end - begin, 1})
                                       : Tensor::zeros({end - begin, 1}, DType::f64);  // (d_H, 1)
  return engine::concat({weight, column.contiguous()}, 1);                             // (d_H, D + 1)
}

}  // namespace

HeadMaps head_of_model(StudiedModel& model, const HeadSource& source) {
  const models::TransformerConfig& config = model.description().config;
  const std::string& name = source.model.model;
  require(source.layer < config.layers, "{}: there is no layer {}, it has {}", name, source.layer, config.layers);
  require(models::scheme_of(config).has_plain_scores(), "{}: its scores have ALiBi's biases", name);
  const auto layer = static_cast<size_t>(source.layer);
  const models::LayerConfig own = models::layers_of(config)[layer];
  int64_t head = source.head;
  for (size_t g = 0; g < own.groups.size(); head -= own.groups[g++].heads) {
    const models::HeadGroup& group = own.groups[g];
    if (head >= group.heads) continue;
    const models::HeadGroupLayer& heads = model.transformer().attention(layer).group(g);
    const int64_t dim = group.qk_dim, key = head / (group.heads / group.projected_keys());
    HeadMaps maps;
    maps.has_biases = heads.q_proj().bias().defined() || heads.k_proj().bias().defined();
    maps.wq = rows_with_bias(heads.q_proj(), head * dim, (head + 1) * dim, maps.has_biases);
    maps.wk = rows_with_bias(heads.k_proj(), key * dim, (key + 1) * dim, maps.has_biases);
    maps.scale = models::score_scale(config, group, source.layer);
    maps.is_causal = config.causal;
    if (heads.q_norm()) {
      maps.q_gain = heads.q_norm()->weight().value().to(DType::f64).contiguous();
      maps.k_gain = heads.k_norm()->weight().value().to(DType::f64).contiguous();
      maps.norm_eps = config.norm_eps;
    }
    if (!models::scheme_of(config).turns() || source.ignores_rotation) return maps;
    maps.rope_base = config.rope_base;
    maps.rope_interleaved = config.rope_interleaved;
    if (config.rope_scaling.kind != models::RopeScalingKind::none || !group.rope_frequencies.empty() ||
        config.window_rope_base > 0)
      maps.rope_frequencies = models::rope_frequencies(config, group, source.layer);
    return maps;
  }
  fail("{}: layer {} has {} heads, there is no head {}", name, source.layer, source.head - head, source.head);
}

engine::Tensor layer_inputs(StudiedModel& model, const HeadSource& source, int64_t length, uint64_t seed) {
  const autograd::NoGrad no_grad;
  const int64_t limit = models::rope_limit(model.description().config);
  require(length <= limit, "{}: in texts beyond {} tokens, as of {}, its heads turn by other frequencies",
          source.model.model, limit, length);
  const std::vector<int64_t> span = model.span(source.text, length, static_cast<int64_t>(seed));
  Tensor inputs;
  models::ForwardContext context;
  context.observer = [&](const models::AttentionInputs& in) {
    if (static_cast<int64_t>(in.layer) == source.layer) inputs = in.x;
  };
  const models::Transformer& transformer = model.transformer();
  autograd::Var h = transformer.embed(Tensor::from({1, length}, span));  // (1, L, D)
  for (size_t layer = 0; layer <= static_cast<size_t>(source.layer); ++layer) h = transformer.layer(layer, h, context);
  const int64_t width = inputs.dim(2);
  return inputs.to(DType::f64).reshape({length, width}).transpose(0, 1).contiguous();  // (D, L)
}

}  // namespace headroom::tasks
