#include "tasks/compression/head_removal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/linalg/cholesky.h"
#include "engine/name_table.h"
#include "engine/ops/concat/concat.h"
#include "engine/ops/matmul/matmul.h"
#include "models/validate.h"
#include "tasks/compression/layer_weights.h"
#include "tasks/compression/plan.h"
#include "tasks/permutation.h"

namespace headroom::tasks {
namespace {

using models::HeadGroup;
using models::LayerConfig;

constexpr NameTable<RemovedPart, 4> part_table{{{RemovedPart::heads, "heads"},
                                                {RemovedPart::key_value_heads, "kv-heads"},
                                                {RemovedPart::attention, "attention"},
                                                {RemovedPart::layers, "layers"}}};

/// Pieces of a layer.
int64_t count_in(RemovedPart part, const HeadGroup& group) {
  switch (part) {
    case RemovedPart::heads:
      return group.heads;
    case RemovedPart::key_value_heads:
      return group.key_value_heads();
    case RemovedPart::attention:
    case RemovedPart::layers:
      break;
  }
  return 1;
}

/// What stays of a layer.
struct Kept {
  std::vector<bool> heads;  ///< by query head
  bool feed_forward = true;
  bool has_heads() const { return std::find(heads.begin(), heads.end(), true) != heads.end(); }
};

HeadGroup group_of(const models::TransformerConfig& base, int64_t layer) {
  return models::layers_of(base)[static_cast<size_t>(layer)].groups[0];
}

/// What stays of each layer that loses something. `all`: every piece, ascending.
std::map<int64_t, Kept> kept_beside(const models::TransformerConfig& base, RemovedPart part, const RemovedPieces& all,
                                    const RemovedPieces& removed) {
  std::map<int64_t, Kept> kept;
  std::set<RemovedPiece> seen;
  for (const RemovedPiece& piece : removed) {
    require(std::binary_search(all.begin(), all.end(), piece), "removal: there is no piece {} of layer {}", piece.index,
            piece.layer);
    require(seen.insert(piece).second, "removal: piece {} of layer {} is given twice", piece.index, piece.layer);
    const HeadGroup group = group_of(base, piece.layer);
    Kept& own = kept[piece.layer];
    own.heads.resize(static_cast<size_t>(group.heads), true);
    const int64_t at_once = group.heads / count_in(part, group);
    for (int64_t i = 0; i < at_once; ++i) own.heads[static_cast<size_t>(piece.index * at_once + i)] = false;
    own.feed_forward = part != RemovedPart::layers;
  }
  return kept;
}

/// Heads of the base that are one group now: each key is read by as many queries.
struct KeptGroup {
  std::vector<int64_t> queries, keys;
};

/// Those whose keys are read by most queries first.
std::vector<KeptGroup> kept_groups(const Kept& kept, const HeadGroup& base) {
  const int64_t shared = base.heads / base.key_value_heads();
  std::map<size_t, KeptGroup, std::greater<>> groups;
  for (int64_t key = 0; key < base.key_value_heads(); ++key) {
    std::vector<int64_t> queries;
    for (int64_t head = key * shared; head < (key + 1) * shared; ++head)
      if (kept.heads[static_cast<size_t>(head)]) queries.push_back(head);
    if (queries.empty()) continue;
    KeptGroup& group = groups[queries.size()];
    group.keys.push_back(key);
    group.queries.insert(group.queries.end(), queries.begin(), queries.end());
  }
  std::vector<KeptGroup> out;
  for (auto& [count, group] : groups) out.push_back(std::move(group));
  return out;
}

LayerConfig layer_with(const Kept& kept, LayerConfig layer) {
  const HeadGroup base = layer.groups[0];
  if (!kept.feed_forward) layer.ffn_width = 0;
  layer.groups.clear();
  for (const KeptGroup& own : kept_groups(kept, base)) {
    HeadGroup& group = layer.groups.emplace_back(base);
    group.heads = std::ssize(own.queries);
    if (base.kv_heads != 0) group.kv_heads = std::ssize(own.keys);
  }
  return layer;
}

/// The model's config with these layers in place of its own.
models::TransformerConfig config_with(const models::TransformerConfig& base, const std::map<int64_t, Kept>& all) {
  std::vector<LayerConfig> layers = models::layers_of(base);
  for (const auto& [layer, kept] : all) {
    LayerConfig& own = layers[static_cast<size_t>(layer)];
    own = layer_with(kept, own);
  }
  models::TransformerConfig config = with_layers(base, std::move(layers));
  models::validate(config);
  return config;
}

/// The rows of some heads of a projection (H·d, …), or of its bias.
Tensor rows_of(const Tensor& whole, const std::vector<int64_t>& heads, int64_t dim) {
  std::vector<Tensor> parts;
  for (const int64_t head : heads) parts.push_back(whole.slice(0, head * dim, (head + 1) * dim).contiguous());
  return engine::concat(parts, 0);
}

void require_count(const HeadRemoval& removal, int64_t count) {
  require(count >= 0 && count < std::ssize(removal.pieces()), "removal: {} of {} {}: one must stay", count,
          removal.pieces().size(), name_of(removal.part()));
}

}  // namespace

const char* name_of(RemovedPart part) { return name_in(part_table, part); }
std::vector<std::string> removed_part_names() { return names_in(part_table); }
RemovedPart removed_part_named(std::string_view name) { return named_in(part_table, name, "removal", "part"); }

RemovedPieces pieces_of(RemovedPart part, const models::TransformerConfig& base, const std::set<int64_t>& layers) {
  require_suited(QkMethod::none, base);
  require(base.norm_place != models::NormPlace::post, "removal: a layer that norms its sums has none without a branch");
  const std::vector<LayerConfig> all = models::layers_of(base);
  RemovedPieces pieces;
  for (const int64_t layer : layers) {
    require(layer >= 0 && layer < base.layers, "removal: there is no layer {}, the model has {}", layer, base.layers);
    const int64_t count = count_in(part, all[static_cast<size_t>(layer)].groups[0]);
    for (int64_t index = 0; index < count; ++index) pieces.push_back({layer, index});
  }
  return pieces;
}

HeadRemoval::HeadRemoval(const models::TransformerConfig& base, models::WeightSource& weights, RemovedPart part,
                         const std::set<int64_t>& layers)
    : base_(base), part_(part), pieces_(pieces_of(part, base, layers)) {
  for (const int64_t layer : layers) weights_.merge(attention_weights(base_, weights, layer));
}

int64_t HeadRemoval::count_beside(double share) const {
  const auto all = static_cast<double>(pieces_.size());
  return static_cast<int64_t>(all - std::max(1.0, std::round(all * share)));
}

models::TransformerConfig config_without(const models::TransformerConfig& base, RemovedPart part,
                                         const RemovedPieces& removed) {
  std::set<int64_t> layers;
  for (const RemovedPiece& piece : removed) layers.insert(piece.layer);
  return config_with(base, kept_beside(base, part, pieces_of(part, base, layers), removed));
}

const Tensor& HeadRemoval::output_of(int64_t layer) const {
  return weights_.at(fmt::format("blocks.{}.attention.o_proj.weight", layer));
}

Tensor HeadRemoval::refitted(int64_t layer, const std::vector<bool>& heads, const Calibration& calibration) const {
  const Tensor& whole = output_of(layer);
  const int64_t dim = group_of(base_, layer).v_dim, width = whole.dim(0), columns = whole.dim(1);
  std::vector<int64_t> kept;
  for (size_t head = 0; head < heads.size(); ++head)
    if (heads[head]) kept.push_back(static_cast<int64_t>(head));
  // E|W a − W' a_k|² is least where W' C_kk = W C_ak, of the outputs' second moments C.
  const Tensor moment = calibration.shrunk(calibration.layers[static_cast<size_t>(layer)].whole_outputs.at(0), false);
  const Tensor across = rows_of(moment, kept, dim);                                      // (k·d, H·d)
  const Tensor own = rows_of(across.transpose(0, 1), kept, dim);                         // (k·d, k·d), symmetric
  const Tensor turned = whole.to(engine::DType::f64).transpose(0, 1).contiguous();       // (H·d, D)
  const Tensor fitted = engine::linalg::solve_spd(own, engine::matmul(across, turned));  // (k·d, D)
  const Tensor out = Tensor::zeros(whole.shape());                                       // (D, H·d)
  const auto* from = fitted.data<double>();
  auto* to = out.mutable_data<float>();
  for (const int64_t head : kept)
    for (int64_t j = head * dim; j < (head + 1) * dim; ++j, from += width)
      for (int64_t row = 0; row < width; ++row) to[row * columns + j] = static_cast<float>(from[row]);
  return out;
}

Tensor HeadRemoval::silenced(int64_t layer, const std::vector<bool>& heads) const {
  const Tensor out = output_of(layer).clone();  // (D, H·d)
  const int64_t dim = group_of(base_, layer).v_dim;
  for (size_t head = 0; head < heads.size(); ++head)
    if (!heads[head])
      for (int64_t row = 0; row < out.dim(0); ++row)
        std::fill_n(out.mutable_data<float>() + row * out.dim(1) + static_cast<int64_t>(head) * dim, dim, 0.0F);
  return out;
}

models::ModelEdit HeadRemoval::edit(const RemovedPieces& removed, const Calibration* refit) const {
  const std::map<int64_t, Kept> all = kept_beside(base_, part_, pieces_, removed);
  models::ModelEdit out{.config = config_with(base_, all), .weights = {}};
  for (const auto& [layer, kept] : all) {
    if (!kept.has_heads()) continue;
    const HeadGroup base = group_of(base_, layer);
    const std::string path = fmt::format("blocks.{}.attention.", layer);
    std::vector<Tensor> columns;  // of W_O (D, d), of the heads in the order of the groups
    const Tensor output = refit ? refitted(layer, kept.heads, *refit) : output_of(layer);
    int64_t index = 0;
    for (const KeptGroup& own : kept_groups(kept, base)) {
      const std::string from = path + "0.", to = fmt::format("{}{}.", path, index++);
      const auto put = [&](const std::string& name, const std::vector<int64_t>& heads, int64_t dim) {
        if (const auto whole = weights_.find(from + name); whole != weights_.end())
          out.weights.emplace_back(to + name, rows_of(whole->second, heads, dim));
      };
      for (const std::string kind : {"weight", "bias"}) {
        put("q_proj." + kind, own.queries, base.qk_dim);
        put("k_proj." + kind, own.keys, base.qk_dim);
        put("v_proj." + kind, own.keys, base.v_dim);
      }
      for (const std::string norm : {"q_norm.weight", "k_norm.weight"})
        if (const auto weight = weights_.find(from + norm); weight != weights_.end())
          out.weights.emplace_back(to + norm, weight->second);
      for (const int64_t head : own.queries)
        columns.push_back(output.slice(1, head * base.v_dim, (head + 1) * base.v_dim).contiguous());
    }
    out.weights.emplace_back(path + "o_proj.weight", engine::concat(columns, 1));
  }
  return out;
}

models::ModelEdit HeadRemoval::silenced(const RemovedPieces& removed, const Calibration* refit) const {
  const std::map<int64_t, Kept> all = kept_beside(base_, part_, pieces_, removed);
  (void)config_with(base_, all);  // refuses what cannot go
  models::ModelEdit out{.config = base_, .weights = {}};
  for (const auto& [layer, kept] : all) {
    const std::string path = fmt::format("blocks.{}.", layer), name = path + "attention.o_proj";
    out.weights.emplace_back(name + ".weight", refit && kept.has_heads() ? refitted(layer, kept.heads, *refit)
                                                                         : silenced(layer, kept.heads));
    if (const auto bias = weights_.find(name + ".bias"); bias != weights_.end() && !kept.has_heads())
      out.weights.emplace_back(name + ".bias", Tensor::zeros(bias->second.shape()));
    if (kept.feed_forward) continue;
    const int64_t hidden = models::layers_of(base_)[static_cast<size_t>(layer)].ffn_width;
    out.weights.emplace_back(path + "ffn.down.weight", Tensor::zeros({base_.width, hidden}));
    if (base_.ffn_bias) out.weights.emplace_back(path + "ffn.down.bias", Tensor::zeros({base_.width}));
  }
  return out;
}

RemovalOrder::RemovalOrder(std::shared_ptr<const HeadRemoval> removal, std::shared_ptr<const LayerProbe> probe,
                           std::function<void(int64_t, int64_t, double)> progress, std::shared_ptr<KeptLosses> kept)
    : removal_(std::move(removal)),
      probe_(std::move(probe)),
      progress_(std::move(progress)),
      kept_(std::move(kept)),
      left_(removal_->pieces()) {}

double RemovalOrder::kl_without(const RemovedPieces& removed) const {
  return probe_->kl(removal_->edit(removed), std::min_element(removed.begin(), removed.end())->layer);
}

int64_t RemovalOrder::at_once() const { return std::max<int64_t>(1, std::ssize(removal_->pieces()) / 16); }

int64_t RemovalOrder::measurements(int64_t count) const {
  const int64_t all = std::ssize(removal_->pieces());
  int64_t sum = 0;
  for (int64_t gone = 0; gone < count; gone += at_once()) sum += all - gone;
  return sum;
}

void RemovalOrder::measure(int64_t goal) {
  const auto without = models::load(probe_->base(), removal_->edit(gone_));
  const EnteringStates states = probe_->states_of(*without);
  std::vector<std::pair<double, RemovedPiece>> losses;
  const auto layers = [&](const RemovedPiece& piece) {
    return static_cast<double>(removal_->base().layers - piece.layer);
  };
  double runs = 0, run = 0;
  for (const RemovedPiece& piece : left_) runs += layers(piece);
  for (const RemovedPiece& piece : left_) {
    const std::string name =
        fmt::format("{}/{}/{}/{}", name_of(removal_->part()), gone_.size(), piece.layer, piece.index);
    losses.emplace_back(kept_loss(kept_.get(), name,
                                  [&] {
                                    const double done = static_cast<double>(measurements(std::ssize(gone_))) +
                                                        static_cast<double>(std::ssize(left_)) * run / runs;
                                    if (progress_)
                                      progress_(std::ssize(gone_), std::ssize(losses),
                                                done / static_cast<double>(measurements(goal)));
                                    RemovedPieces tried = gone_;
                                    tried.push_back(piece);
                                    return probe_->kl(removal_->edit(tried), piece.layer, states);
                                  }),
                        piece);
    run += layers(piece);
  }
  std::sort(losses.begin(), losses.end());
  losses.resize(static_cast<size_t>(std::min(at_once(), std::ssize(left_) - 1)));
  for (const auto& [kl, piece] : losses) {
    gone_.push_back(piece);
    left_.erase(std::find(left_.begin(), left_.end(), piece));
  }
}

RemovedPieces RemovalOrder::first(int64_t count) { return first(count, count); }

RemovedPieces RemovalOrder::first(int64_t count, int64_t goal) {
  require_count(*removal_, count);
  const std::lock_guard lock(mutex_);
  while (std::ssize(gone_) < count) measure(goal);
  return {gone_.begin(), gone_.begin() + count};
}

RemovedPieces RemovalOrder::within(double kl) {
  require(std::isfinite(kl) && kl > 0, "removal: a KL divergence of {} cannot be kept within", kl);
  RemovedPieces best;
  const int64_t most = std::ssize(removal_->pieces()) - 1;
  while (std::ssize(best) < most) {
    RemovedPieces more = first(std::ssize(best) + 1, most);
    if (kl_without(more) > kl) break;
    best = std::move(more);
  }
  return best;
}

RemovedPieces drawn(const HeadRemoval& removal, int64_t count, uint64_t seed) {
  require_count(removal, count);
  RemovedPieces gone;
  for (const int64_t i : permutation(std::ssize(removal.pieces()), {.seed = seed, .stream = "removal"}))
    if (std::ssize(gone) < count) gone.push_back(removal.pieces()[static_cast<size_t>(i)]);
  return gone;
}

}  // namespace headroom::tasks
