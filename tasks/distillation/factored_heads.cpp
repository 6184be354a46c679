#include "tasks/distillation/factored_heads.h"

#include <cmath>

#include "engine/error.h"
#include "engine/linalg/svd.h"
#include "engine/ops/concat/concat.h"
#include "engine/ops/elementwise/unary.h"
#include "engine/ops/operators.h"

namespace headroom::tasks {
namespace {

using engine::DType;
using engine::Tensor;

/// L (heads · qk_dim, r) and R (heads · r, D).
struct HeadFactors {
  Tensor left, right;
};

HeadFactors svd_factors(const Tensor& weight, int64_t heads, int64_t rank) {
  const int64_t dim = weight.dim(0) / heads;
  std::vector<Tensor> left, right;
  for (int64_t h = 0; h < heads; ++h) {
    const Tensor own = weight.slice(0, h * dim, (h + 1) * dim).contiguous();  // (qk_dim, D)
    const engine::linalg::SVD svd = engine::linalg::svd(own, engine::linalg::SvdMethod::fast);
    const Tensor root = engine::sqrt(svd.s.slice(0, 0, rank).contiguous());  // (r)
    left.push_back(svd.u.slice(1, 0, rank) * root);                          // (qk_dim, r)
    right.push_back(svd.vt.slice(0, 0, rank) * root.reshape({rank, 1}));     // (r, D)
  }
  return {engine::concat(left, 0), engine::concat(right, 0)};
}

HeadFactors kaiming_factors(const Tensor& weight, int64_t heads, int64_t rank, engine::Rng& rng) {
  const auto drawn = [&](int64_t rows, int64_t columns) {
    const double deviation = std::sqrt(2 / static_cast<double>(columns));
    return engine::random_normal({rows, columns}, rng, "init", 0, deviation, DType::f64);
  };
  Tensor left = drawn(weight.dim(0), rank);
  return {left, drawn(heads * rank, weight.dim(1))};
}

}  // namespace

bool is_head_factor(const std::string& name) {
  return (name.find(".q_proj.") != std::string::npos || name.find(".k_proj.") != std::string::npos) &&
         (name.ends_with(".weight_a") || name.ends_with(".weight_b"));
}

models::ModelEdit factored_heads(const models::Transformer& base, const FactoredHeads& heads, engine::Rng& rng) {
  models::ModelEdit edit{base.config(), {}};
  edit.config.unequal_layers = models::layers_of(base.config());
  edit.config.groups.clear(), edit.config.ffn_width = edit.config.o_rank = 0;
  for (const int64_t layer : heads.layers) {
    require(layer >= 0 && layer < base.config().layers, "factored heads: there is no layer {}, the model has {}", layer,
            base.config().layers);
    models::LayerConfig& own = edit.config.unequal_layers[static_cast<size_t>(layer)];
    for (size_t g = 0; g < own.groups.size(); ++g) {
      models::HeadGroup& group = own.groups[g];
      require(heads.rank >= 1 && heads.rank <= group.qk_dim, "factored heads: rank {}: expected 1 to d_H = {}",
              heads.rank, group.qk_dim);
      require(group.q_rank + group.k_rank + group.q_head_rank + group.k_head_rank == 0,
              "factored heads: layer {}'s queries and keys are factors already", layer);
      const models::HeadGroupLayer& maps = base.attention(static_cast<size_t>(layer)).group(g);
      const auto add = [&](const char* name, const models::Projection& projection, int64_t count) {
        const Tensor weight = projection.weight().values(DType::f64);  // (heads · qk_dim, D)
        const HeadFactors factors = heads.init == FactorInit::svd ? svd_factors(weight, count, heads.rank)
                                                                  : kaiming_factors(weight, count, heads.rank, rng);
        const std::string path = fmt::format("blocks.{}.attention.{}.{}", layer, g, name);
        edit.weights.emplace_back(path + ".weight_a", factors.left.to(DType::f32).contiguous());
        edit.weights.emplace_back(path + ".weight_b", factors.right.to(DType::f32).contiguous());
      };
      add("q_proj", maps.q_proj(), group.heads);
      add("k_proj", maps.k_proj(), group.key_value_heads());
      group.q_head_rank = group.k_head_rank = heads.rank;
    }
  }
  return edit;
}

}  // namespace headroom::tasks
