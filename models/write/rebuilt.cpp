#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/error.h"
#include "models/positions.h"
#include "models/rope_cache.h"
#include "models/write/full_shape.h"

namespace headroom::models {
namespace {

using engine::DType;

/// Rows of one matrix or vector go to rows of another, which is zero elsewhere.
class RowMap {
 public:
  RowMap(int64_t rows, int64_t cols) : out_(Tensor::zeros({rows, cols}, DType::f64)) {}  // (rows, cols)
  void copy(const Tensor& from, int64_t row, int64_t to, double scale) {
    const int64_t cols = out_.dim(1);
    const double* x = from.data<double>() + row * cols;
    double* y = out_.mutable_data<double>() + to * cols;
    for (int64_t i = 0; i < cols; ++i) y[i] = scale * x[i];
  }
  Tensor matrix() const { return out_.to(DType::f32); }
  Tensor vector() const { return out_.to(DType::f32).reshape({out_.dim(0)}); }

 private:
  Tensor out_;
};

/// One group's queries, keys or values, in f64.
struct GroupRows {
  Tensor weight;  ///< (rows, D)
  Tensor bias;    ///< (rows, 1) or undefined
};

/// How the rows of a projection are kept: factors of all of it, or of each of `heads` heads.
struct Factors {
  int64_t rank = 0, heads = 1;
};
Factors factors_of(int64_t heads, int64_t rank, int64_t head_rank) {
  return head_rank > 0 ? Factors{head_rank, heads} : Factors{rank, 1};
}

/// The source of a head's rows, and the rows of a whole head they become.
struct HeadSource {
  size_t group;
  int64_t head;
  std::vector<int64_t> rows;
  double scale;
};

std::vector<int64_t> first_rows(int64_t count) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

/// The rows of a whole head's queries and keys that a head of the group has.
std::vector<int64_t> rows_of_head(const TransformerConfig& full, const TransformerConfig& edited,
                                  const HeadGroup& group, int64_t layer) {
  const int64_t narrow = group.qk_dim, wide = full.groups[0].qk_dim;
  std::vector<int64_t> rows = first_rows(narrow);
  if (!scheme_of(full).turns()) return rows;
  const std::vector<int64_t> pairs =
      matched_pairs(rope_frequencies(edited, group, layer), rope_frequencies(full, full.groups[0], layer));
  for (int64_t i = 0; i < narrow / 2; ++i) {
    const int64_t pair = pairs[static_cast<size_t>(i)];
    for (const int64_t half : {0, 1}) {
      const int64_t from = full.rope_interleaved ? 2 * i + half : i + half * (narrow / 2);
      rows[static_cast<size_t>(from)] = full.rope_interleaved ? 2 * pair + half : pair + half * (wide / 2);
    }
  }
  return rows;
}

double scale_of(const TransformerConfig& config, const HeadGroup& group) {
  return config.logit_scale.value_or(1 / std::sqrt(static_cast<double>(group.qk_dim)));
}

/// Puts the attention of one layer together.
class AttentionAtFullShape {
 public:
  AttentionAtFullShape(WeightSource& source, const TransformerConfig& full, const TransformerConfig& edited,
                       size_t index, const LayerConfig& layer)
      : path_(fmt::format("blocks.{}.attention", index)),
        scope_(source, path_),
        full_(full),
        whole_(full.groups[0]),
        layer_(layer),
        heads_(heads_in_order(layer)),
        bias_(attention_biases(full)) {
    for (const HeadGroup& group : layer.groups) {
      rows_.push_back(rows_of_head(full, edited, group, static_cast<int64_t>(index)));
      // Queries carry what the scale of the format lacks.
      const double scale = scale_of(edited, group) / scale_of(full, whole_);
      scales_.push_back(std::abs(scale - 1) < 1e-12 ? 1 : scale);
    }
  }

  /// The tensors that are not at full shape yet, by their names there.
  NamedTensors changed() {
    const HeadGroup& first = layer_.groups[0];
    const bool is_one = layer_.groups.size() == 1;
    const bool is_shared_alike = is_one && first.key_value_heads() == whole_.key_value_heads();
    const bool is_wide = is_one && rows_[0] == first_rows(whole_.qk_dim);
    if (!is_wide || scales_[0] != 1 || first.q_rank > 0 || first.q_head_rank > 0) add_queries();
    if (!is_wide || !is_shared_alike || first.k_rank > 0 || first.k_head_rank > 0) add_keys();
    const bool is_padded = std::any_of(layer_.groups.begin(), layer_.groups.end(),
                                       [&](const HeadGroup& group) { return group.v_dim != whole_.v_dim; });
    if (!is_shared_alike || is_padded || first.v_rank > 0) add_values();
    if (is_padded || layer_.o_rank > 0) add_output();
    return std::move(out_);
  }

 private:
  GroupRows read(size_t group, const char* name, int64_t rows, Factors factors, bool bias) const {
    const WeightScope scope = scope_.at(std::to_string(group)).at(name);
    const Weight weight = scope.matrix("weight", rows, full_.width, factors.rank, false, factors.heads);
    GroupRows read{weight.values(DType::f64).contiguous(), {}};  // (rows, D)
    if (bias) read.bias = scope.constant("bias", {rows}, 0).value().to(DType::f64).reshape({rows, 1});
    return read;
  }

  /// `target` heads of `dim` rows each; source_of(t) says where each comes from.
  template <class SourceOf>
  void add(const char* name, const std::vector<GroupRows>& groups, int64_t target, int64_t dim,
           const SourceOf& source_of) {
    const bool bias = groups[0].bias.defined();
    RowMap weight(target * dim, full_.width), biases(target * dim, 1);
    for (int64_t t = 0; t < target; ++t) {
      const HeadSource source = source_of(t);
      const auto narrow = static_cast<int64_t>(source.rows.size());
      for (int64_t i = 0; i < narrow; ++i) {
        const int64_t from = source.head * narrow + i, to = t * dim + source.rows[static_cast<size_t>(i)];
        weight.copy(groups[source.group].weight, from, to, source.scale);
        if (bias) biases.copy(groups[source.group].bias, from, to, source.scale);
      }
    }
    out_.emplace_back(fmt::format("{}.0.{}.weight", path_, name), weight.matrix());
    if (bias) out_.emplace_back(fmt::format("{}.0.{}.bias", path_, name), biases.vector());
  }

  /// A query head that key head t serves.
  const QueryHeadPlace& reader_of(int64_t t) const {
    return heads_[static_cast<size_t>(t * (whole_.heads / whole_.key_value_heads()))];
  }

  void add_queries() {
    std::vector<GroupRows> groups;
    for (const HeadGroup& group : layer_.groups)
      groups.push_back(read(groups.size(), "q_proj", group.heads * group.qk_dim,
                            factors_of(group.heads, group.q_rank, group.q_head_rank), bias_.q));
    add("q_proj", groups, whole_.heads, whole_.qk_dim, [&](int64_t t) {
      const QueryHeadPlace& place = heads_[static_cast<size_t>(t)];
      return HeadSource{place.group, place.head, rows_[place.group], scales_[place.group]};
    });
  }

  void add_keys() {
    std::vector<GroupRows> groups;
    for (const HeadGroup& group : layer_.groups)
      groups.push_back(read(groups.size(), "k_proj", group.key_value_heads() * group.qk_dim,
                            factors_of(group.key_value_heads(), group.k_rank, group.k_head_rank), bias_.k));
    add("k_proj", groups, whole_.key_value_heads(), whole_.qk_dim, [&](int64_t t) {
      const QueryHeadPlace& place = reader_of(t);
      return HeadSource{place.group, place.shared, rows_[place.group], 1};
    });
  }

  void add_values() {
    std::vector<GroupRows> groups;
    for (const HeadGroup& group : layer_.groups)
      groups.push_back(
          read(groups.size(), "v_proj", group.key_value_heads() * group.v_dim, {group.v_rank, 1}, bias_.v));
    add("v_proj", groups, whole_.key_value_heads(), whole_.v_dim, [&](int64_t t) {
      const QueryHeadPlace& place = reader_of(t);
      return HeadSource{place.group, place.shared, first_rows(layer_.groups[place.group].v_dim), 1};
    });
  }

  void add_output() {
    int64_t columns = 0;
    for (const HeadGroup& group : layer_.groups) columns += group.heads * group.v_dim;
    const Weight weight = scope_.at("o_proj").matrix("weight", full_.width, columns, layer_.o_rank);
    const Tensor narrow = weight.values(DType::f64).transpose(0, 1).contiguous();  // (columns, D)
    RowMap wide(whole_.heads * whole_.v_dim, full_.width);
    for (size_t h = 0; h < heads_.size(); ++h)
      for (int64_t i = 0; i < layer_.groups[heads_[h].group].v_dim; ++i)
        wide.copy(narrow, heads_[h].column + i, static_cast<int64_t>(h) * whole_.v_dim + i, 1);
    out_.emplace_back(path_ + ".o_proj.weight", wide.matrix().transpose(0, 1).contiguous());  // (D, H · d_v)
  }

  std::string path_;
  WeightScope scope_;
  const TransformerConfig& full_;
  const HeadGroup& whole_;
  const LayerConfig& layer_;
  std::vector<QueryHeadPlace> heads_;
  AttentionBiases bias_;
  std::vector<std::vector<int64_t>> rows_;  ///< of each group
  std::vector<double> scales_;              ///< of each group's queries
  NamedTensors out_;
};

}  // namespace

bool has_full_shape_name(const std::string& name) {
  if (!name.ends_with(".weight") && !name.ends_with(".bias")) return false;
  const std::string attention = ".attention.";
  const size_t at = name.find(attention);
  if (at == std::string::npos) return true;
  const std::string rest = name.substr(at + attention.size());
  return rest.starts_with("0.") || rest.starts_with("o_proj.");
}

ModelEdit rebuilt(const ModelFiles& base, const ModelEdit& edit, const TransformerConfig& full) {
  EditedWeights source(base.weights({}), edit.weights, {.dtype = DType::f32, .is_trained = none_trained});
  ModelEdit out{full, {}};
  const std::vector<LayerConfig> layers = layers_of(edit.config);
  for (size_t i = 0; i < layers.size(); ++i)
    for (auto& changed : AttentionAtFullShape(source, full, edit.config, i, layers[i]).changed())
      out.weights.push_back(std::move(changed));
  std::set<std::string> names;
  for (const auto& [name, tensor] : out.weights) names.insert(name);
  for (const auto& [name, tensor] : edit.weights)
    if (has_full_shape_name(name) && !names.contains(name)) out.weights.emplace_back(name, tensor.to(DType::f32));
  return out;
}

}  // namespace headroom::models
