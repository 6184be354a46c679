#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "engine/name_table.h"
#include "engine/rng.h"
#include "models/checkpoints/model_edit.h"

namespace headroom::tasks {

/// How the factors of a head start.
enum class FactorInit {
  svd,  ///< the truncated SVD of its weights, U_r √S_r and √S_r V_rᵀ: the singular values are shared out evenly
  kaiming,  ///< N(0, 2/fan_in), both
};
inline constexpr NameTable<FactorInit, 2> factor_init_names{
    {{FactorInit::svd, "svd"}, {FactorInit::kaiming, "kaiming"}}};

/// Which layers' heads become factors, and how.
struct FactoredHeads {
  std::set<int64_t> layers;
  int64_t rank = 16;
  FactorInit init = FactorInit::svd;
};

/// The edit in which every query head and every key head of some layers is W_h = L_h R_h, L_h (qk_dim, rank) and R_h
/// (rank, D); all else is the base's. Kaiming's numbers come from rng's stream "init". Throws Error for a layer that is
/// not there, a rank outside [1, qk_dim], and heads that are factors already.
models::ModelEdit factored_heads(const models::Transformer& base, const FactoredHeads& heads, engine::Rng& rng);

/// Whether a weight of such a model is a factor.
bool is_head_factor(const std::string& name);

}  // namespace headroom::tasks
