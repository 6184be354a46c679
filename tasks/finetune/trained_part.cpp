#include "tasks/finetune/trained_part.h"

#include "engine/name_table.h"
#include "models/costs.h"
#include "tasks/theory/model_costs.h"

namespace headroom::tasks {
namespace {

constexpr NameTable<TrainedPart, 3> part_names{
    {{TrainedPart::all, "all"}, {TrainedPart::heads, "heads"}, {TrainedPart::head, "head"}}};

}  // namespace

const char* name_of(TrainedPart part) { return name_in(part_names, part); }

TrainedPart trained_part_named(const std::string& name) { return named_in(part_names, name, "finetune", "part"); }

bool is_trained(TrainedPart part, const std::string& name, bool is_classifier) {
  if (part == TrainedPart::all) return true;
  if (name.starts_with("readout.")) return part == TrainedPart::head || is_classifier;
  // "q_proj.weight", the factors "q_proj.weight_a" and "_b", and the maps after the rotary turn.
  const bool makes_heads = name.find("q_proj.weight") != std::string::npos ||
                           name.find("k_proj.weight") != std::string::npos || name.ends_with(".q_score") ||
                           name.ends_with(".k_score");
  return part == TrainedPart::heads && makes_heads;
}

models::LoadOptions load_options(TrainedPart part, const models::TransformerConfig& config) {
  require(part != TrainedPart::head || !config.tied,
          "the model's readout is its token embedding: there is no head to train alone");
  const bool is_classifier = config.pooling != models::Pooling::none;
  return {.keep = models::Keep::stored, .weights = {.dtype = engine::DType::f32, .is_trained = [=](const auto& name) {
                                                      return is_trained(part, name, is_classifier);
                                                    }}};
}

int64_t query_key_count(const models::TransformerConfig& c) {
  int64_t count = 0;
  const auto maps = [&](int64_t heads, int64_t dim, int64_t rank, int64_t head_rank) {
    if (head_rank > 0) return heads * head_rank * (dim + c.width);
    return rank > 0 ? rank * (heads * dim + c.width) : heads * dim * c.width;
  };
  models::for_each_layer(c, [&](const models::LayerConfig& layer, int64_t times) {
    for (const models::HeadGroup& g : layer.groups) {
      const int64_t keys = g.projected_keys();
      count += times * (maps(g.heads, g.qk_dim, g.q_rank, g.q_head_rank) +
                        maps(keys, g.qk_dim, g.k_rank, g.k_head_rank) + g.score_dim * g.qk_dim * (g.heads + keys));
    }
  });
  return count;
}

int64_t trained_count(TrainedPart part, const models::TransformerConfig& c) {
  if (part == TrainedPart::all) return models::parameter_count(c);
  const bool has_readout = !c.tied && (part == TrainedPart::head || c.pooling != models::Pooling::none);
  return (has_readout ? c.output_dim * c.width : 0) + (part == TrainedPart::heads ? query_key_count(c) : 0);
}

FinetuneNeed finetune_need(TrainedPart part, const models::TransformerConfig& config, int64_t sequences, int64_t length,
                           int64_t adapter) {
  const ModelCosts costs = model_costs(config, sequences, length, widths_of(4));
  FinetuneNeed need;
  need.state = 4.0 * sizeof(float) * static_cast<double>(adapter > 0 ? adapter : trained_count(part, config));
  // The head alone is behind everything that would have to be kept.
  if (part != TrainedPart::head)
    need.activations = config.checkpoint_blocks ? costs.recompute_bytes : costs.activation_bytes;
  const bool is_classifier = config.pooling != models::Pooling::none;
  const auto outputs = static_cast<double>(config.tied ? config.vocab : config.output_dim);
  const auto rows = static_cast<double>(is_classifier ? sequences : sequences * length);
  need.activations += sizeof(float) * rows * outputs;
  return need;
}

}  // namespace headroom::tasks
