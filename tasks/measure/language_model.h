#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "models/transformer.h"

namespace headroom::tasks {

using engine::Tensor;

/// Texts of equal length that pass through a model together.
using TokenBatch = std::vector<std::vector<int64_t>>;

/// Throws Error for a model that does not predict tokens: a classifier.
void require_language_model(const models::TransformerConfig& config);

/// The hidden states before the final norm, one (1, T, D) per text. Runs the model layer by layer over all texts, so
/// that weights, possibly in a file larger than memory, are read once. Without gradients.
std::vector<Tensor> hidden_states(const models::Transformer& model, const TokenBatch& texts,
                                  const models::ForwardContext& context = {});

/// The same for groups of texts: a group's common beginning goes through the model once, and all its rows through each
/// product together. Gives the bits of hidden_states() if products add in the same order for any number of rows.
std::vector<std::vector<Tensor>> hidden_states_of_groups(const models::Transformer& model,
                                                         const std::vector<TokenBatch>& groups,
                                                         const models::ForwardContext& context = {});

/// Replaces each text's hidden states (1, T, D) by those after layers [begin, end), layer by layer over all texts.
/// Without gradients.
void run_layers(const models::Transformer& model, std::vector<Tensor>& states, int64_t begin, int64_t end,
                const models::ForwardContext& context = {});

/// Calls f(row, logits) for rows [begin, end) of a text's hidden states (1, T, D), in parallel and in no order, with
/// the logits (V, f32) after token `row`. Keeps few rows of logits in memory. Throws Error naming the row if a logit is
/// not finite.
void for_each_logits(const models::Transformer& model, const Tensor& hidden, int64_t begin, int64_t end,
                     const std::function<void(int64_t row, const float* logits)>& f);

/// KL(p ‖ q) = Σ p (log p − log q) in nats, from two rows of logits (V) and their log-sum-exps.
double kl_of_logits(const float* p, double p_norm, const float* q, double q_norm, int64_t vocab);

}  // namespace headroom::tasks
