#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "models/checkpoints/model_edit.h"
#include "tasks/compression/head_maps.h"

namespace headroom::tasks {

/// The heads of a model taken apart by one method for queries and keys and one for values, once for all ranks: makes
/// the compressed model of any plan of these methods.
///
/// Biases (Qwen2, GPT-2). Where a map is one of activations (pca, the whitened ones) or heads become narrower, a bias
/// of queries and keys is mapped as they are: it is part of them; plain, product and product-grouped replace the
/// matrices alone and leave biases whole. A bias of values is mapped as they are; what that leaves out of it is a
/// constant, which goes to W_O's bias where the model has one.
class HeadDecompositions {
 public:
  /// `calibration`: may be empty where neither method reads activations. `layers`: those that plans will change; empty:
  /// all. Throws Error as require_suited(), for a layer that does not exist, a calibration that lacks what a method
  /// reads, and as the source does.
  HeadDecompositions(const models::TransformerConfig& base, models::WeightSource& weights, QkMethod qk, VoMethod vo,
                     const Calibration& calibration = {}, const std::set<int64_t>& layers = {});
  /// Decomposes the weights in a model's files, in f32.
  HeadDecompositions(const models::ModelFiles& base, QkMethod qk, VoMethod vo, const Calibration& calibration = {},
                     const std::set<int64_t>& layers = {});

  /// What a rank (0 … d) leaves out of one place, in the method's own measure; of joined heads up to twice their width.
  /// Values: E‖W_O (y − y')‖² of the heads' outputs y, as if those of query heads were independent. Queries and keys of
  /// a key-value head with its query heads: plain ‖W − W_r‖² of its matrices W; the products ‖M − M_r‖² of M = W_Qᵀ
  /// W_K; pca and the whitened ones E(s − s')² of its scores s = q·k (not scaled) before the turn, q and k independent
  /// with the calibration's moments; after the turn where the method's name says so; pairs: of the pairs' parts at
  /// uniform angles. Throws Error for pairs-even, and a layer that was not taken apart.
  double tail(const HeadPlace& place, int64_t rank) const;
  /// Whether neighbouring heads can be joined: where can_join() and the calibration looked at them together.
  bool can_join() const { return can_join_; }

  /// The compressed model; where the plan names formats of the cache, directions of values carry what each adds to the
  /// output, in place of W_O. Throws Error as validate(), for other methods than these, and a
  /// layer that was not taken apart.
  models::ModelEdit edit(const CompressionPlan& plan) const;
  /// The config of the model that was taken apart, and by what.
  const models::TransformerConfig& base() const { return base_; }
  QkMethod qk() const { return qk_; }
  VoMethod vo() const { return vo_; }

 private:
  const Tensor& weight(const std::string& name) const { return weights_.at(name); }
  const LayerMaps& maps_of(int64_t layer) const;
  ScoreMaps scores_of(int64_t layer, int64_t kv_head, const Calibration& calibration) const;
  /// The moments of a head's queries and keys.
  ScoreCovariances covariances_of(int64_t layer, int64_t kv_head, const Calibration& calibration) const;
  ScoreMaps joined_scores_of(int64_t layer, int64_t kv_head, const Calibration& calibration) const;
  /// Fills in what whitened-relative needs, over distances below `length`.
  void see_turned(ScoreCovariances& covariances, const models::HeadGroup& group, int64_t layer, int64_t length) const;
  ValueMaps values_of(int64_t layer, int64_t kv_head, const Calibration& calibration) const;
  ValueMaps joined_values_of(int64_t layer, int64_t kv_head, const Calibration& calibration) const;
  /// W_O (G·D, d) of a key-value head's query heads, stacked, f64.
  Tensor output_weights(int64_t layer, int64_t kv_head) const;

  models::TransformerConfig base_;
  QkMethod qk_;
  VoMethod vo_;
  bool can_join_ = false;
  std::map<std::string, Tensor> weights_;  ///< of the attention of the layers, by our names
  std::map<int64_t, LayerMaps> layers_;
};

}  // namespace headroom::tasks
