#pragma once
#include <cstdint>
#include <vector>

#include "tasks/measure/language_model.h"

namespace headroom::tasks {

/// A trained model's head at one query. Logits are softmax's inputs: turned, scaled, for keys up to the query itself.
struct QueryMeasures {
  double jacobian_norm = 0;     ///< ‖diag(p) − pp^T‖₂, by the secular equation
  double entropy = 0;           ///< of p, nats
  double sink_mass = 0;         ///< p of the first token
  double largest = 0;           ///< the largest p
  double logits_rms = 0;        ///< ‖z‖₂ / √n over the n keys that the query sees
  double logits_rms_all = 0;    ///< over all keys of the text, including those after the query: before the mask
  double logits_deviation = 0;  ///< standard deviation of z over the keys seen: softmax ignores the mean
  double largest_logit = 0;     ///< max |z| over the keys seen: the data's Δ for Theorem 2
  double log10_paper = 0;       ///< log10 of Theorem 2's bound 2 e^{2Δ}/n over the norm, with that Δ; 0 for n = 1
  double log10_spread = 0;      ///< the same for e^{max z − min z}/n
  int violations = 0;           ///< of the theorem's inequalities (broken_inequalities())
};

/// Measures of every head at some queries of one text: at(layer, head, i) is for query positions[i].
class AttentionProbe {
 public:
  AttentionProbe(int64_t layers, int64_t heads, int64_t queries)
      : heads_(heads), queries_(queries), measures_(static_cast<size_t>(layers * heads * queries)) {}
  QueryMeasures& at(int64_t layer, int64_t head, int64_t query) { return measures_[index(layer, head, query)]; }
  const QueryMeasures& at(int64_t layer, int64_t head, int64_t query) const {
    return measures_[index(layer, head, query)];
  }

 private:
  size_t index(int64_t layer, int64_t head, int64_t query) const {
    return static_cast<size_t>((layer * heads_ + head) * queries_ + query);
  }
  int64_t heads_, queries_;
  std::vector<QueryMeasures> measures_;
};

/// Query heads per layer. Throws Error if layers differ.
int64_t heads_per_layer(const models::TransformerConfig& config);

/// Throws Error for models we do not probe: not causal, or with biases on scores (ALiBi).
void require_probed(const models::TransformerConfig& config);

/// Measures each head of a group at some queries of one text, from attention's observer with a batch of one: head h at
/// positions[i] is element h * positions.size() + i. Throws Error for a logit that is not finite.
std::vector<QueryMeasures> query_measures(const models::AttentionInputs& in, const std::vector<int64_t>& positions);

/// Makes one probe per text, for queries at `positions` (0-based). Numbers the heads of all groups in order. Sums
/// products of queries and keys in f64, without an L×L matrix. Throws Error for a position outside a text, a model that
/// is not causal or adds biases to its scores (ALiBi), and a logit that is not finite.
std::vector<AttentionProbe> probe_attention(const models::Transformer& model, const TokenBatch& texts,
                                            const std::vector<int64_t>& positions);

}  // namespace headroom::tasks
