#pragma once
#include <cstdint>
#include <vector>

#include "tasks/pretrained/language_model.h"

namespace headroom::tasks {

/// The singular values of one query head of a trained model, descending, d_H of each.
struct HeadSpectra {
  int64_t layer = 0, head = 0;
  std::vector<double> query, key;  ///< of W_Q and W_K (d_H, D)
  std::vector<double> product;     ///< of W_Qᵀ W_K
  /// Of C_q^½ C_k^½, with C_q = E[qqᵀ] and C_k = Cov[k] over a text before the rotary turn: what the head's scores are
  /// made of. Softmax ignores the mean of the keys.
  std::vector<double> weighted;
};

/// The spectra of every head, layer after layer. `texts` are what the activations are taken from. Throws Error for a
/// text that is empty.
std::vector<HeadSpectra> head_spectra(const models::Transformer& model, const TokenBatch& texts);

/// The least number of singular values whose squares hold `energy` of all squares' sum. 0 where all are 0. Throws Error
/// unless energy is in (0, 1].
int64_t effective_rank(const std::vector<double>& values, double energy);

}  // namespace headroom::tasks
