#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "models/transformer.h"

namespace headroom::tasks {

using engine::Tensor;

/// Texts of equal length that go through a model together.
using TokenBatch = std::vector<std::vector<int64_t>>;

/// Throws Error for a model that predicts no tokens: a classifier.
void require_language_model(const models::TransformerConfig& config);

/// The hidden states before the final norm, one (1, T, D) per text. The model is run layer by layer over all texts, so
/// that its weights, which may lie in a file larger than memory, are read once. Without gradients.
std::vector<Tensor> hidden_states(const models::Transformer& model, const TokenBatch& texts,
                                  const models::ForwardContext& context = {});

/// The same of groups of texts: what all texts of a group begin with goes through the model once, and all rows of a
/// group through each product together. The bits are those of hidden_states() where products add in the same order
/// whatever the number of rows.
std::vector<std::vector<Tensor>> hidden_states_of_groups(const models::Transformer& model,
                                                         const std::vector<TokenBatch>& groups,
                                                         const models::ForwardContext& context = {});

/// Replaces each text's hidden states (1, T, D) by those after layers [begin, end), layer by layer over all texts.
/// Without gradients.
void run_layers(const models::Transformer& model, std::vector<Tensor>& states, int64_t begin, int64_t end,
                const models::ForwardContext& context = {});

/// f(row, logits) for rows [begin, end) of a text's hidden states (1, T, D), in parallel and in no order: the logits
/// (V, f32) that follow token `row`. Few rows of logits are in memory at a time. Throws Error naming the row when a
/// logit is not finite.
void for_each_logits(const models::Transformer& model, const Tensor& hidden, int64_t begin, int64_t end,
                     const std::function<void(int64_t row, const float* logits)>& f);

/// KL(p ‖ q) = Σ p (log p − log q) in nats, of two rows of logits (V) and their log-sum-exps.
double kl_of_logits(const float* p, double p_norm, const float* q, double q_norm, int64_t vocab);

}  // namespace headroom::tasks
