#pragma once
#include <cstdint>
#include <vector>

#include "tasks/measure/language_model.h"

namespace headroom::tasks {

/// The singular values of a trained model's query head, descending, d_H of each.
struct HeadSpectra {
  int64_t layer = 0, head = 0;
  std::vector<double> query, key;  ///< of W_Q and W_K (d_H, D)
  std::vector<double> product;     ///< of W_Qᵀ W_K
  /// Singular values of C_q^½ C_k^½, with C_q = E[qqᵀ] and C_k = Cov[k] over a text before the rotary turn: they make
  /// up the head's scores. Softmax ignores the keys' mean.
  std::vector<double> weighted;
};

/// The same, with that of the moments after the turn: the head's scores over all pairs of tokens, the mean of each row
/// taken out.
struct TurnedSpectra : HeadSpectra {
  std::vector<double> turned;
};

/// Accumulates x xᵀ and x over tokens, for second moments of vectors of width d. f64, summed in token order.
class SecondMoments {
 public:
  explicit SecondMoments(int64_t width);
  /// The vectors of head `head` in x (1, T, H, d), f64.
  void add(const Tensor& x, int64_t head);
  /// E[xxᵀ], or with `centred` the covariance: (d, d).
  Tensor moment(bool centred) const;
  double count() const { return count_; }

 private:
  Tensor squares_, sums_;  ///< (d, d), only its upper half, and (d)
  double count_ = 0;
};

/// Second moments by head of the vectors in x (1, T, H, d); empty before the first text.
using MomentsByHead = std::vector<SecondMoments>;
/// Adds another text's.
void add_moments(MomentsByHead& moments, const Tensor& x);

/// Second moments of the queries and keys of one group of heads, before the rotary turn.
class ScoreMoments {
 public:
  /// Another text, from what attention's observer is told with a batch of one.
  void add(const models::AttentionInputs& in) { add(in.raw_q.to(engine::cpu), in.raw_k.to(engine::cpu)); }
  /// The same of any queries (1, T, H, d) and keys (1, T, H_kv, d).
  void add(const Tensor& q, const Tensor& k);
  const MomentsByHead& queries() const { return queries_; }  ///< per query head
  const MomentsByHead& keys() const { return keys_; }        ///< per key head

 private:
  MomentsByHead queries_, keys_;
};

/// The spectra of a group's query heads, numbered from 0, with layer 0. Throws Error if no text was added.
std::vector<HeadSpectra> group_spectra(const models::HeadGroupLayer& layer, const ScoreMoments& moments);

/// The spectra of every head, layer by layer, with activations from `texts`. Throws Error for an empty text.
std::vector<TurnedSpectra> head_spectra(const models::Transformer& model, const TokenBatch& texts);

/// The least number of singular values whose squares hold `energy` of the sum of all squares. 0 if all are 0. Throws
/// Error unless energy is in (0, 1].
int64_t effective_rank(const std::vector<double>& values, double energy);

}  // namespace headroom::tasks
