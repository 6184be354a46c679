#pragma once
#include <optional>
#include <string>
#include <vector>

#include "models/families/family.h"

namespace headroom::models {

/// Where one of our weights lies in the files.
struct WeightPlace {
  std::string name;         ///< theirs
  int part = 0, parts = 1;  ///< its rows (columns where transposed) are one of so many equal runs: a fused Q, K, V
  bool transposed = false;  ///< there (in, out), as GPT-2's release has its matrices
};

/// Where the weight lies that our Transformer calls `name` ("blocks.2.attention.0.q_proj.weight"). Throws Error for a
/// name that the scheme has no word for.
WeightPlace place_of(NameScheme scheme, const std::string& name, bool fused_qkv);

/// What a tensor of one scheme's files is called in another's; a fused matrix stays one. Throws Error for a name that
/// either scheme lacks.
std::string renamed(NameScheme from, NameScheme to, const std::string& name);

/// Whether a matrix of that name lies as (in, out).
bool is_transposed(NameScheme scheme, const std::string& name);

/// What is added to a tensor of that name for the weight that it stands for: 1 to Gemma's norms in folders, else 0.
double added_to(NameScheme scheme, const std::string& name);

/// Whether the rows of a weight or bias are those of heads that turn with the position.
bool has_turned_rows(NameScheme scheme, const std::string& name);

/// Whether the files may hold a tensor of that name although no weight is read from it: a mask, a table that we
/// compute.
bool is_buffer(NameScheme scheme, const std::string& name);

}  // namespace headroom::models
