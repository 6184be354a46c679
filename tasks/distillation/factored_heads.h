#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "engine/name_table.h"
#include "engine/rng.h"
#include "models/checkpoints/model_edit.h"

namespace headroom::tasks {

/// The initialisation of a head's factors.
enum class FactorInit {
  svd,      ///< the truncated SVD of its weights, U_r √S_r and √S_r V_rᵀ, which splits the singular values evenly
  kaiming,  ///< N(0, 2/fan_in) for both
};
inline constexpr NameTable<FactorInit, 2> factor_init_names{
    {{FactorInit::svd, "svd"}, {FactorInit::kaiming, "kaiming"}}};

/// The layers whose heads become factors, and their initialisation.
struct FactoredHeads {
  std::set<int64_t> layers;
  int64_t rank = 16;
  FactorInit init = FactorInit::svd;
};

/// Makes an edit that factors every query and key head of some layers: W_h = L_h R_h, L_h (qk_dim, rank) and R_h (rank,
/// D); all else is the base's. Kaiming draws from rng's stream "init". Throws Error for a layer that does not exist, a
/// rank outside [1, qk_dim], and heads that are already factored.
models::ModelEdit factored_heads(const models::Transformer& base, const FactoredHeads& heads, engine::Rng& rng);

/// True if a weight of such a model is a factor.
bool is_head_factor(const std::string& name);

}  // namespace headroom::tasks
