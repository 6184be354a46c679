#include "models/write/full_shape.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "models/positions.h"
#include "models/rope_cache.h"

namespace headroom::models {
namespace {

/// Whether runs of `run` neighbouring query heads share one key head in every layer.
bool shares_keys(const std::vector<std::vector<QueryHeadPlace>>& layers, int64_t run) {
  for (const std::vector<QueryHeadPlace>& heads : layers)
    for (size_t i = 0; i < heads.size(); ++i) {
      const QueryHeadPlace& first = heads[i - i % static_cast<size_t>(run)];
      if (heads[i].group != first.group || heads[i].shared != first.shared) return false;
    }
  return true;
}

/// Fewest key heads that serve every layer.
int64_t fewest_key_heads(const TransformerConfig& edited, int64_t heads) {
  std::vector<std::vector<QueryHeadPlace>> layers;
  for_each_layer(edited, [&](const LayerConfig& layer, int64_t) { layers.push_back(heads_in_order(layer)); });
  for (int64_t count = 1; count < heads; ++count)
    if (heads % count == 0 && shares_keys(layers, heads / count)) return count;
  return heads;
}

void check_group(const TransformerConfig& full, const TransformerConfig& edited, const HeadGroup& group, int64_t at) {
  const HeadGroup& whole = full.groups[0];
  require(group.score_dim == 0,
          "queries and keys are mapped to {} numbers after the rotary turn, which other software cannot do: only "
          "compact holds that",
          group.score_dim);
  require(group.qk_dim <= whole.qk_dim, "queries of {} numbers do not fit a head of {}", group.qk_dim, whole.qk_dim);
  require(group.v_dim <= whole.v_dim, "values of {} numbers do not fit a head of {}", group.v_dim, whole.v_dim);
  require(!full.qk_norm || group.qk_dim == whole.qk_dim,
          "queries of {} numbers cannot be padded to {}: their norm would be another", group.qk_dim, whole.qk_dim);
  if (scheme_of(full).turns())
    (void)matched_pairs(rope_frequencies(edited, group, at), rope_frequencies(full, whole, at));
}

void check_layer(const TransformerConfig& full, const TransformerConfig& edited, const LayerConfig& layer, int64_t at) {
  for (const HeadGroup& group : layer.groups) check_group(full, edited, group, at);
  require(layer.heads() == full.groups[0].heads, "{} query heads, the base has {}", layer.heads(),
          full.groups[0].heads);
  require(layer.ffn_width == full.ffn_width, "a feed-forward network of width {}, the base's have {}", layer.ffn_width,
          full.ffn_width);
}

}  // namespace

std::vector<QueryHeadPlace> heads_in_order(const LayerConfig& layer) {
  std::vector<QueryHeadPlace> places;
  int64_t column = 0;
  for (size_t g = 0; g < layer.groups.size(); ++g) {
    const HeadGroup& group = layer.groups[g];
    for (int64_t h = 0; h < group.heads; ++h, column += group.v_dim)
      places.push_back({g, h, h / (group.heads / group.key_value_heads()), column});
  }
  return places;
}

std::vector<int64_t> matched_pairs(const std::vector<double>& have, const std::vector<double>& wanted) {
  std::vector<bool> taken(wanted.size());
  std::vector<int64_t> places;
  for (const double f : have) {
    size_t at = 0;
    while (at < wanted.size() && (taken[at] || std::abs(wanted[at] - f) > 1e-6 * std::abs(f))) ++at;
    require(at < wanted.size(), "a pair turns by {:.6g} a position, which no pair left of a head of {} does", f,
            2 * wanted.size());
    taken[at] = true;
    places.push_back(static_cast<int64_t>(at));
  }
  return places;
}

int64_t widest_head(const TransformerConfig& config) {
  int64_t widest = 0;
  for_each_layer(config, [&](const LayerConfig& layer, int64_t) {
    for (const HeadGroup& group : layer.groups) widest = std::max({widest, group.qk_dim, group.v_dim});
  });
  return widest;
}

TransformerConfig full_shape(const TransformerConfig& base, const TransformerConfig& edited, int64_t head_dim) {
  require(base.unequal_layers.empty() && base.groups.size() == 1,
          "the model has layers of unequal shape, or heads in several groups: files of other software hold one shape");
  require(edited.layers == base.layers && edited.width == base.width,
          "{} layers of width {}; the model that it was made of has {} of {}", edited.layers, edited.width, base.layers,
          base.width);
  const bool is_classifier = edited.pooling == Pooling::last && !edited.tied && !edited.readout_bias;
  require(edited.readout_width == 0 && (is_classifier || (edited.pooling == Pooling::none &&
                                                          (edited.tied || edited.output_dim == edited.vocab))),
          "its readout has {} outputs, neither one for each of {} tokens nor a classifier's", edited.output_dim,
          edited.vocab);
  TransformerConfig full = base;
  full.tied = edited.tied, full.output_dim = edited.output_dim, full.readout_bias = edited.readout_bias;
  full.pooling = edited.pooling;
  HeadGroup& whole = full.groups[0];
  if (head_dim > 0) whole.qk_dim = whole.v_dim = head_dim, whole.rope_frequencies.clear();
  size_t index = 0;
  for_each_layer(edited, [&](const LayerConfig& layer, int64_t) {
    try {
      check_layer(full, edited, layer, static_cast<int64_t>(index));
    } catch (const Error& error) {
      if (edited.unequal_layers.empty()) throw;
      fail("layer {}: {}", index, error.what());
    }
    ++index;
  });
  const int64_t shared = fewest_key_heads(edited, whole.heads);
  whole.kv_heads = shared == whole.heads ? 0 : shared;
  return full;
}

}  // namespace headroom::models
