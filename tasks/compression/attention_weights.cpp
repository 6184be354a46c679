#include "tasks/compression/attention_weights.h"

#include <fmt/format.h>

namespace headroom::tasks {
namespace {

/// Where no weight is drawn.
const models::Draw not_drawn{};

}  // namespace

std::map<std::string, engine::Tensor> attention_weights(const models::TransformerConfig& base,
                                                        models::WeightSource& source, int64_t layer) {
  const models::HeadGroup group = models::layers_of(base)[static_cast<size_t>(layer)].groups.at(0);
  const int64_t kv_heads = group.key_value_heads(), width = base.width;
  const models::AttentionBiases biases = models::attention_biases(base);
  const std::string path = fmt::format("blocks.{}.attention.", layer);
  std::map<std::string, engine::Tensor> weights;
  const auto projection = [&](const std::string& name, int64_t out, int64_t in, bool biased) {
    const std::string weight = path + name + ".weight", bias = path + name + ".bias";
    weights[weight] = source.matrix(weight, out, in, not_drawn).values(engine::DType::f32);
    if (biased) weights[bias] = source.tensor(bias, {out}, not_drawn).value();
  };
  projection("0.q_proj", group.heads * group.qk_dim, width, biases.q);
  projection("0.k_proj", kv_heads * group.qk_dim, width, biases.k);
  projection("0.v_proj", kv_heads * group.v_dim, width, biases.v);
  projection("o_proj", width, group.heads * group.v_dim, biases.o);
  if (!base.qk_norm) return weights;
  for (const char* norm : {"0.q_norm.weight", "0.k_norm.weight"})
    weights[path + norm] = source.tensor(path + norm, {group.qk_dim}, not_drawn).value();
  return weights;
}

}  // namespace headroom::tasks
