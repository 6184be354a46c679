#include "models/validate.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/error.h"
#include "engine/ops/packed_rows/packed_rows.h"
#include "models/costs.h"
#include "models/positions.h"

namespace headroom::models {
namespace {

/// A model beyond this is a typing error, not a wish: 4 TB of f32.
constexpr double most_parameters = 1e12;
/// Each has a description of its own in memory before a weight is read: a wrong file must not ask for all of it.
constexpr int64_t most_layers = 1 << 16;

/// Throws InvalidConfig unless `ok`.
template <class... Args>
void check(bool ok, const std::string& field, fmt::format_string<Args...> problem, Args&&... args) {
  if (!ok) throw InvalidConfig(field, fmt::format(problem, std::forward<Args>(args)...));
}

void require_at_least(const std::string& field, int64_t value, int64_t least) {
  check(value >= least, field, "is {}; it must be at least {}", value, least);
}

void require_positive(const std::string& field, double value) {
  check(std::isfinite(value) && value > 0, field, "is {}; it must be finite and above 0", value);
}

void require_deviation(const std::string& field, double value) {
  check(std::isfinite(value) && value >= 0, field, "is {}; it must be finite and at least 0", value);
}

/// A rank of a matrix whose smaller side is the model's width or `heads` heads of `dim`.
void validate_rank(const std::string& field, int64_t rank, int64_t width, int64_t heads, int64_t dim) {
  const double most = std::min(static_cast<double>(width), static_cast<double>(heads) * static_cast<double>(dim));
  check(rank >= 0 && static_cast<double>(rank) <= most, field,
        "is {}; it must be 0 (no factors) or at most the matrix's smaller side, which is {}", rank, most);
}

/// A rank of each head's (dim, width) rows; `rank`: of the whole matrix.
void validate_head_rank(const std::string& field, int64_t head_rank, int64_t width, int64_t dim, int64_t rank) {
  validate_rank(field, head_rank, width, 1, dim);
  check(head_rank == 0 || rank == 0, field, "is {}; factors per head and of the whole matrix ({}) exclude each other",
        head_rank, rank);
}

/// `path`: "" or "unequal_layers[3]." before each field.
void validate_group(const HeadGroup& group, const std::string& path, size_t index, const TransformerConfig& c) {
  const auto field = [&](const char* name) { return fmt::format("{}groups[{}].{}", path, index, name); };
  require_at_least(field("heads"), group.heads, 1);
  require_at_least(field("qk_dim"), group.qk_dim, 1);
  require_at_least(field("v_dim"), group.v_dim, 1);
  check(group.kv_heads >= 0 && group.heads % group.key_value_heads() == 0, field("kv_heads"),
        "is {}; it must be 0 (as many as heads) or divide heads, which is {}", group.kv_heads, group.heads);
  require_at_least(field("joined_keys"), group.joined_keys, 1);
  check(
      group.heads / group.key_value_heads() % group.joined_keys == 0 && (group.joined_keys == 1 || group.score_dim > 0),
      field("joined_keys"), "is {}; it must be 1, or with a score_dim divide the {} query heads of a key",
      group.joined_keys, group.heads / group.key_value_heads());
  check(!scheme_of(c).turns() || group.qk_dim % 2 == 0, field("qk_dim"),
        "is {}, the head_dim of its {} heads; rope needs it to be even, for it turns pairs of numbers", group.qk_dim,
        group.heads);
  validate_rank(field("q_rank"), group.q_rank, c.width, group.heads, group.qk_dim);
  validate_rank(field("k_rank"), group.k_rank, c.width, group.projected_keys(), group.qk_dim);
  validate_rank(field("v_rank"), group.v_rank, c.width, group.key_value_heads(), group.v_dim);
  validate_head_rank(field("q_head_rank"), group.q_head_rank, c.width, group.qk_dim, group.q_rank);
  validate_head_rank(field("k_head_rank"), group.k_head_rank, c.width, group.qk_dim, group.k_rank);
  check(group.score_dim >= 0 && (group.score_dim == 0 || (group.score_dim - 1) / group.joined_keys < group.qk_dim),
        field("score_dim"), "is {}; it must be 0 (no map) or at most {}qk_dim, which is {}", group.score_dim,
        group.joined_keys == 1 ? "" : "joined_keys times ", group.qk_dim);
  const auto pairs = static_cast<size_t>(group.qk_dim / 2);
  check(group.rope_frequencies.empty() || group.rope_frequencies.size() == pairs, field("rope_frequencies"),
        "holds {} frequencies; it must hold none or one for each pair of numbers of a head, qk_dim/2, which is {}",
        group.rope_frequencies.size(), pairs);
  for (const double f : group.rope_frequencies)
    check(std::isfinite(f), field("rope_frequencies"), "holds {}; each must be finite", f);
  check(group.key_cache.has_value() == group.value_cache.has_value(), field("key_cache"),
        "and value_cache: expected both or neither");
  if (!group.key_cache) return;
  engine::packed_bytes(*group.key_cache, group.key_dim());
  engine::packed_bytes(*group.value_cache, group.v_dim);
}

void validate_layer(const LayerConfig& layer, const std::string& path, const TransformerConfig& c) {
  require_at_least(path + "ffn_width", layer.ffn_width, 0);
  double values = 0;
  for (size_t i = 0; i < layer.groups.size(); ++i) {
    validate_group(layer.groups[i], path, i, c);
    values += static_cast<double>(layer.groups[i].heads) * static_cast<double>(layer.groups[i].v_dim);
  }
  const double most = std::min(values, static_cast<double>(c.width));
  check(layer.o_rank >= 0 && static_cast<double>(layer.o_rank) <= most, path + "o_rank",
        "is {}; it must be 0 (no factors) or at most the matrix's smaller side, which is {}", layer.o_rank, most);
}

void validate_layers(const TransformerConfig& c) {
  if (c.unequal_layers.empty()) {
    check(!c.groups.empty(), "groups", "is empty; it must hold at least one group of heads");
    return validate_layer({c.groups, c.ffn_width, c.o_rank}, "", c);
  }
  check(static_cast<int64_t>(c.unequal_layers.size()) == c.layers, "unequal_layers",
        "holds {} layers; model.layers is {}", c.unequal_layers.size(), c.layers);
  require(c.groups.empty() && c.ffn_width == 0 && c.o_rank == 0,
          "model.groups, model.ffn_width and model.o_rank are of every layer; with model.unequal_layers they must be "
          "left out");
  check(std::any_of(c.unequal_layers.begin(), c.unequal_layers.end(),
                    [](const LayerConfig& l) { return !l.groups.empty(); }),
        "unequal_layers", "holds no group of heads; at least one layer must have one");
  for (size_t i = 0; i < c.unequal_layers.size(); ++i)
    validate_layer(c.unequal_layers[i], fmt::format("unequal_layers[{}].", i), c);
}

void validate_factors(const std::string& field, const std::vector<double>& factors, const TransformerConfig& c) {
  for (const double factor : factors) require_positive(field, factor);
  for_each_layer(c, [&](const LayerConfig& layer, int64_t) {
    for (const HeadGroup& group : layer.groups)
      check(!group.rope_frequencies.empty() || std::ssize(factors) == group.qk_dim / 2, field,
            "holds {}; it must hold one for each pair of numbers of a head, which has {}", factors.size(),
            group.qk_dim / 2);
  });
}

void validate_scaling(const std::string& path, const RopeScaling& s, double base, const TransformerConfig& c) {
  require_positive(path + ".attention_factor", s.attention_factor);
  if (s.kind == RopeScalingKind::none) return;
  require_positive(path + ".factor", s.factor);
  if (s.kind == RopeScalingKind::linear) return;
  require_at_least(path + ".original_length", s.original_length, 1);
  if (s.kind == RopeScalingKind::longrope) {
    validate_factors(path + ".short_factors", s.short_factors, c);
    validate_factors(path + ".long_factors", s.long_factors, c);
  }
  if (s.kind != RopeScalingKind::llama3 && s.kind != RopeScalingKind::yarn) return;
  check(s.kind != RopeScalingKind::yarn || base > 1, "rope_base", "is {}; with yarn it must be above 1", base);
  require_positive(path + ".low", s.low);
  check(std::isfinite(s.high) && s.high > s.low, path + ".high", "is {}; it must be above low, which is {}", s.high,
        s.low);
}

void validate_rope(const TransformerConfig& c) {
  require_positive("rope_base", c.rope_base);
  validate_scaling("rope_scaling", c.rope_scaling, c.rope_base, c);
  validate_scaling("window_rope_scaling", c.window_rope_scaling, c.window_rope_base, c);
}

void validate_window(const TransformerConfig& c) {
  require_at_least("window", c.window, 0);
  check(c.window == 0 || c.causal, "window", "is {}; it needs a causal model", c.window);
  check(c.full_layers.empty() || c.window > 0, "full_layers", "is given; it must be left out without a window");
  int64_t least = 0;
  for (const int64_t layer : c.full_layers) {
    check(layer >= least && layer < c.layers, "full_layers", "holds {}; it must hold ascending layers below {}", layer,
          c.layers);
    least = layer + 1;
  }
  check(std::isfinite(c.window_rope_base) && c.window_rope_base >= 0, "window_rope_base",
        "is {}; it must be 0 (that of all layers) or above", c.window_rope_base);
}

void validate_ends(const TransformerConfig& c) {
  require_at_least("vocab", c.vocab, 0);
  require_at_least("input_dim", c.input_dim, 0);
  check((c.vocab > 0) != (c.input_dim > 0), "vocab",
        "is {} and model.input_dim is {}; exactly one of them must be above 0", c.vocab, c.input_dim);
  require_at_least("readout_width", c.readout_width, 0);
  if (!c.tied) return require_at_least("output_dim", c.output_dim, 1);
  check(c.readout_width == 0, "readout_width", "is {}; with model.tied it must be 0", c.readout_width);
  check(c.vocab > 0, "tied", "is true; it needs model.vocab, for there is no token embedding to share");
  check(c.output_dim == 0 || c.output_dim == c.vocab, "output_dim",
        "is {}; with model.tied it must be 0 or model.vocab, which is {}", c.output_dim, c.vocab);
}

}  // namespace

void validate(const TransformerConfig& c) {
  require_at_least("layers", c.layers, 1);
  require_at_least("width", c.width, 1);
  require_at_least("max_length", c.max_length, 1);
  validate_layers(c);
  validate_ends(c);
  validate_rope(c);
  validate_window(c);
  require_positive("embedding_scale", c.embedding_scale);
  require_positive("alibi_slope_first", c.alibi_slope_first);
  require_positive("alibi_slope_last", c.alibi_slope_last);
  require_at_least("alibi_slopes", c.alibi_slopes, 0);
  require_positive("norm_eps", c.norm_eps);
  check(c.dropout >= 0 && c.dropout < 1, "dropout", "is {}; it must be at least 0 and below 1", c.dropout);
  check(!c.logit_scale || std::isfinite(*c.logit_scale), "logit_scale", "is {}; it must be finite",
        c.logit_scale.value_or(0));
  require_deviation("init.std", c.init.std);
  require_deviation("init.embedding_std", c.init.embedding_std);
  require_deviation("init.position_std", c.init.position_std);
  const double parameters = unchecked_parameter_count(c);
  require(parameters <= most_parameters, "model: these widths make {:.3g} parameters; at most {:.0e} are allowed",
          parameters, most_parameters);
  check(c.layers <= most_layers, "layers", "is {}; at most {} are allowed", c.layers, most_layers);
}

}  // namespace headroom::models
