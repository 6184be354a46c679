#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/config.h"
#include "tasks/compression/calibration.h"

namespace headroom::tasks {

/// How the queries and keys of a head are made smaller. With W_Q, W_K (d, D) of a query head and the key head that
/// serves it, C_q, C_k their second moments on a calibration text. Products are written back at full width d in two
/// factors, so that the rotary turn stays what it was, unless a line says otherwise. "Own keys": each query head gets
/// key and value projections of its own, unlike in a model with grouped queries.
enum class QkMethod {
  none,
  plain,    ///< W_Q and W_K each by its truncated SVD: what the paper's Figs. 4 and 5 do
  product,  ///< U, V of W_Qᵀ W_K = U S Vᵀ: W_Q U_r U_rᵀ, W_K V_r V_rᵀ, whose product is the best one. Own keys
  product_grouped,  ///< V of the group's products, stacked: W_K V_r V_rᵀ; each W_Q U_r U_rᵀ, U of its own
                    ///< rest
  product_literal,  ///< the paper's Algorithm 1 as printed: heads of width r, √S U_rᵀ and √S V_rᵀ, which turn as such
  pca,              ///< q and k each within the first r eigenvectors of their C_q and C_k before the turn
  pairs,          ///< the r/2 rotary pairs of each query head of largest E|q_p|² E|k_p|²: heads of width r. Own keys
  pairs_grouped,  ///< the same pairs in a group: those of largest (Σ over its query heads E|q_p|²) E|k_p|²
  pairs_even,     ///< every (d/r)th pair of all heads: the pairs of a plain head of width r
  whitened,       ///< C_q^½ C_k^½ = U S Vᵀ, B = C_q^-½ U_r U_rᵀ C_q^½: Bᵀ W_Q, B W_K. Own keys
  whitened_grouped,  ///< the same with C_q summed over the query heads that share a key head
  /// Keys by B as above, queries by a B of their own, each against what it meets after the turn: C_q the sum over the
  /// group of E_Δ[R_Δ C_q R_Δᵀ], the queries as a key Δ tokens before them sees them; for each query E_Δ[R_Δᵀ C_k R_Δ].
  whitened_relative,
  whitened_rotated,  ///< C_q, and C_k centred, after the turn: U_rᵀ C_q^-½ q and U_rᵀ C_q^½ k of width r then. Own keys
  whitened_rotated_grouped,  ///< the same with C_q summed over the group
};

/// How the values of a head and its part of W_O are made smaller: v' = E W_V x of width r, W_O F. With W_O (G·D, d) of
/// the G query heads that share a value head stacked, C the sum of their outputs' second moments.
enum class VoMethod {
  none,
  whitened,  ///< W_O C^½ = U S Vᵀ: F = C^½ V_r, E = V_rᵀ C^-½
};

/// "plain", "product-grouped", …
const char* name_of(QkMethod method);
const char* name_of(VoMethod method);
/// All names but "none".
std::vector<std::string> qk_method_names();
std::vector<std::string> vo_method_names();
/// Throw Error that lists the names.
QkMethod qk_method_named(std::string_view name);
VoMethod vo_method_named(std::string_view name);

/// True if these methods can give two key-value heads of a model one key and one value.
bool can_join(QkMethod qk, VoMethod vo, const models::TransformerConfig& base);

/// The calibration that they need.
CalibrationNeeds needs_of(QkMethod qk, VoMethod vo = VoMethod::none);

/// True if every query head gets key and value projections of its own.
bool has_own_keys(QkMethod method);
/// True if whole rotary pairs are kept and others dropped.
bool keeps_pairs(QkMethod method);
/// True if the head's width itself changes: its queries and keys are `rank` wide before they turn.
bool is_narrower(QkMethod method);
/// True if queries and keys are mapped after they turn, which weights of the original's shape cannot express.
bool maps_after_turn(QkMethod method);

/// The formats of one head's rows in a key-value cache.
struct HeadCache {
  engine::BlockFormat keys = engine::BlockFormat::f16, values = engine::BlockFormat::f16;
};

/// A rank for the queries and keys, and one for the values, of every key-value head of the original with the query
/// heads that it serves: [layer][key-value head]; 0 leaves it as it is.
struct CompressionPlan {
  QkMethod qk = QkMethod::none;
  VoMethod vo = VoMethod::none;
  std::vector<std::vector<int64_t>> qk_ranks{}, vo_ranks{};
  /// Key-value heads that share one key and one value with the next: the two are one head of twice the width, whose
  /// ranks and formats stand at the first, 0 at the second. Empty: none.
  std::vector<std::vector<bool>> joined{};
  bool is_joined(size_t layer, size_t kv_head) const { return !joined.empty() && joined[layer][kv_head]; }
  /// The formats of each head's cached keys and values; empty: the model names none.
  std::vector<std::vector<HeadCache>> cache{};
};

/// One part of one key-value head, or of that and the next as one: its queries and keys, or its values.
struct HeadPlace {
  bool is_vo = false;
  int64_t layer = 0, kv_head = 0;
  bool is_joined = false;
  /// Its entry of what is listed by layer and key-value head, and its rank in a plan.
  template <class List>
  decltype(auto) of(List& list) const {
    return list.at(static_cast<size_t>(layer)).at(static_cast<size_t>(kv_head));
  }
  template <class Plan>
  decltype(auto) rank_in(Plan& plan) const {
    return of(is_vo ? plan.vo_ranks : plan.qk_ranks);
  }
};

/// A plan that leaves all as it is, in the shape of the model.
CompressionPlan empty_plan(const models::TransformerConfig& base, QkMethod qk, VoMethod vo);
/// The same rank for all heads of some layers.
CompressionPlan uniform_plan(const models::TransformerConfig& base, QkMethod qk, VoMethod vo, int64_t qk_rank,
                             int64_t vo_rank, const std::set<int64_t>& layers);
/// The layers that a plan changes; those whose cache it names, too.
std::set<int64_t> changed_layers(const CompressionPlan& plan);

/// The ranks that a method takes for a head of that width, rising.
std::vector<int64_t> possible_ranks(QkMethod method, const models::TransformerConfig& base, int64_t dim);
std::vector<int64_t> possible_ranks(VoMethod method, int64_t dim);

/// The reason why a model cannot be compressed or a method does not suit it, "" for none: normed queries and keys
/// (Qwen3) with methods that change them before their norm, rotary pairs without rotary positions, layers whose heads
/// differ or are factored already.
std::string unsuited_because(QkMethod qk, const models::TransformerConfig& base);
/// Throws Error with unsuited_because().
void require_suited(QkMethod qk, const models::TransformerConfig& base);
/// require_suited(), and ranks that the methods take, in the model's shape. Throws Error naming layer and head.
void validate(const CompressionPlan& plan, const models::TransformerConfig& base);

/// Query heads [first, first + count) of the original, which its key-value head `kv` serves, with is_joined that and
/// the next.
struct HeadSpan {
  int64_t kv = 0, first = 0, count = 1;
  bool is_joined = false;
};
/// The groups of heads that a layer has after a plan, and which of the original's heads are in each; neighbours of one
/// shape are one group.
struct CompressedLayer {
  std::vector<models::HeadGroup> groups;
  std::vector<std::vector<HeadSpan>> members;
};
CompressedLayer compressed_layer(const models::TransformerConfig& base, const CompressionPlan& plan, size_t layer);

/// A config with other layers, as many: those of every layer where all are the same.
models::TransformerConfig with_layers(models::TransformerConfig config, std::vector<models::LayerConfig> layers);

/// The config after a plan. Which pairs a head keeps depends on the weights: here they are its first. Throws Error as
/// validate().
models::TransformerConfig compressed_config(const models::TransformerConfig& base, const CompressionPlan& plan);

}  // namespace headroom::tasks
