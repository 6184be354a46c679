#pragma once
#include <cstdint>
#include <vector>

#include "tasks/compression/plan.h"

namespace headroom::tasks {

/// The map that replaces the d numbers of a head: x' = left_r · right_r · x with the first r columns of `left` (d, n)
/// and rows of `right` (n, d), the best ones first. Without `left`, x' = right_r · x of width r. f64.
struct LowRankMap {
  Tensor left, right;
};

/// The query and key maps of one key-value head of a model. See QkMethod.
struct ScoreMaps {
  std::vector<LowRankMap> queries;  ///< per query head that it serves
  std::vector<LowRankMap> keys;     ///< one, or with keys of their own one per query head
  /// Methods of whole pairs, which have no maps: the pairs, those to be kept first; one list, or one per query head.
  std::vector<std::vector<int64_t>> pairs;
  std::vector<double> tails;  ///< what rank 0, 1, … d leave out: see HeadDecompositions::tail()
};

/// One key-value head with the query heads that it serves: weights (d, D), f64.
struct ScoreWeights {
  std::vector<Tensor> queries{};
  Tensor key;
};

/// Second moments of a head's queries and of its key head's keys, shrunk.
struct ScoreCovariances {
  std::vector<Tensor> queries{};  ///< (d, d), raw
  Tensor key;                     ///< (d, d), raw or centred as the method needs it
  /// For whitened-relative: the sum of the queries' moments as a key sees them, and the key's as a query does. See
  /// turned_moment().
  Tensor seen_queries{}, seen_key{};
};

/// The sum of moments (d, d).
Tensor sum_of(const std::vector<Tensor>& moments);

/// By the methods that read the weights: plain, product, product-grouped, product-literal.
ScoreMaps score_maps(QkMethod method, const ScoreWeights& weights);
/// By the methods that read activations: pca, pairs and the whitened ones.
ScoreMaps score_maps(QkMethod method, const ScoreCovariances& covariances, bool interleaved);

/// The map that replaces the values of one value head: v' = right_r · W_V x of width r, W_O · left_r. See VoMethod.
struct ValueMaps {
  LowRankMap map;             ///< left (d, n), right (n, d)
  std::vector<double> tails;  ///< what rank 0, 1, … d leave out
};

/// The maps of one layer's heads.
struct LayerMaps {
  std::vector<ScoreMaps> scores;  ///< per key-value head; empty without a method
  std::vector<ValueMaps> values;
  /// Of key-value heads i and i + 1 as one of twice the width, whose query maps have the columns of their own head;
  /// empty where heads are not joined.
  std::vector<ScoreMaps> joined_scores{};
  std::vector<ValueMaps> joined_values{};
};

/// Of one value head with W_O (G·D, d) of its query heads, stacked, and the second moment C (d, d) of their outputs,
/// shrunk: f64.
ValueMaps value_maps(const Tensor& output, const Tensor& moment);

/// The pairs of pairs-even for a rank, of d/2.
std::vector<int64_t> even_pairs(int64_t dim, int64_t rank);

}  // namespace headroom::tasks
