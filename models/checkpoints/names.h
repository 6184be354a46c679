#pragma once
#include <optional>
#include <string>
#include <vector>

#include "models/families/family.h"

namespace headroom::models {

/// The place of one of our weights in the files.
struct WeightPlace {
  std::string name;         ///< the files' name for it
  int part = 0, parts = 1;  ///< its rows (columns if transposed) are one of `parts` equal runs: a fused Q, K, V
  bool transposed = false;  ///< stored as (in, out), as in GPT-2's release
};

/// The place of our Transformer's weight `name` ("blocks.2.attention.0.q_proj.weight"). Throws Error if the scheme has
/// no such weight.
WeightPlace place_of(NameScheme scheme, const std::string& name, bool fused_qkv);

/// Translates a tensor's name from one scheme to another; a fused matrix stays fused. Throws Error for a name that
/// either scheme lacks.
std::string renamed(NameScheme from, NameScheme to, const std::string& name);

/// True if a matrix of that name is stored as (in, out).
bool is_transposed(NameScheme scheme, const std::string& name);

/// The number to add to a stored tensor to get the weight: 1 for Gemma's norms in folders, else 0.
double added_to(NameScheme scheme, const std::string& name);

/// True if the rows of a weight or bias belong to heads with rotary positions.
bool has_turned_rows(NameScheme scheme, const std::string& name);

/// True if files may hold a tensor of that name without any weight being read from it: a mask, or a table we compute.
bool is_buffer(NameScheme scheme, const std::string& name);

}  // namespace headroom::models
