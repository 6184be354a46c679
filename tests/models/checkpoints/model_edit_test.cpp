#include "models/checkpoints/model_edit.h"

#include "models/model_cache.h"
#include "tests/models/pretrained/checkpoints.h"
#include "tests/support/error_of.h"

namespace headroom::models {
namespace {

using engine::DType;
using testing::checkpoints;
using testing::contains;
using testing::error_of;

std::vector<double> logits_of(const Transformer& model) {
  const std::vector<int32_t> ids = testing::some_tokens(6);
  return model.forward(Tensor::from({1, 6}, std::vector<int64_t>(ids.begin(), ids.end()))).value().to_vector<double>();
}

}  // namespace

TEST_CASE("an edit takes its own weights and the base's others", "[model edit]") {
  const auto base = ModelFiles::open(checkpoints() / "llama2-gqa");
  const TransformerConfig& config = base->description().config;
  const std::vector<double> before = logits_of(*base->load());
  CHECK(logits_of(*load(*base, {config, {}})) == before);

  const std::string name = "blocks.1.attention.0.q_proj.weight";
  const Tensor zeros = Tensor::zeros({config.groups[0].heads * config.groups[0].qk_dim, config.width});
  const auto edited = load(*base, {config, {{name, zeros}}});
  CHECK(logits_of(*edited) != before);
  CHECK(edited->attention(1).group(0).q_proj().weight().values(DType::f32).to_vector<float>() ==
        zeros.to_vector<float>());

  // Another shape of one layer: the base is not asked for what that layer lacks.
  ModelEdit thin{config, {}};
  thin.config.unequal_layers = layers_of(config);
  thin.config.groups.clear(), thin.config.ffn_width = 0;
  HeadGroup& group = thin.config.unequal_layers[0].groups[0];
  group.q_head_rank = 1;
  thin.weights = {{"blocks.0.attention.0.q_proj.weight_a", Tensor::zeros({group.heads * group.qk_dim, 1})},
                  {"blocks.0.attention.0.q_proj.weight_b", Tensor::zeros({group.heads, config.width})}};
  const auto small = load(*base, thin, {.keep = Keep::computed}),
             in_memory = load(*base->load({.keep = Keep::computed}), thin);
  CHECK(logits_of(*small) == logits_of(*in_memory));
  CHECK(small->parameter_count() == parameter_count(thin.config));
  CHECK(small->parameter_count() < parameter_count(config));
}

TEST_CASE("an edit that does not fit is refused", "[model edit]") {
  const auto base = ModelFiles::open(checkpoints() / "llama2-gqa");
  const TransformerConfig& config = base->description().config;
  CHECK_THAT(error_of([&] {
               (void)load(*base, {config, {{"blocks.0.nothing", Tensor::zeros({1})}}});
             }),
             contains("'blocks.0.nothing' is no parameter of this model"));
  CHECK_THAT(error_of([&] {
               (void)load(*base, {config, {{"final_norm.weight", Tensor::zeros({1})}}});
             }),
             contains("'final_norm.weight' is f32 (1), expected f32 ("));
  ModelEdit wider{config, {}};
  wider.config.ffn_width *= 2;
  CHECK_THAT(error_of([&] { (void)load(*base, wider); }), contains("the model needs"));
}

}  // namespace headroom::models
