#pragma once
#include <span>
#include <string_view>

#include "engine/tensor.h"
#include "models/config.h"

namespace headroom::models {

using engine::Tensor;

/// What a scheme of positions changes.
enum class ActsOn {
  nothing,
  tokens,             ///< a vector per position is added to each embedded token
  queries_and_keys,   ///< they turn by angles that grow with the position (RoPE)
  scores,             ///< a bias that grows with the distance, by a learnable slope per head (ALiBi)
  angles_and_scores,  ///< both of these
};

/// One way to tell positions. The table is in positions.cpp: a new scheme is a value of Positions, a row there, and the
/// formula of the vectors that it adds.
struct PositionScheme {
  Positions positions;
  const char* name;   ///< in study files and describe()
  const char* words;  ///< before "positions" in a sentence
  ActsOn acts_on;
  bool is_in_files;  ///< of trained models
  /// ActsOn::tokens: the vectors (length, width); null: a parameter of max_length rows.
  Tensor (*table)(int64_t length, int64_t width, engine::DType dtype) = nullptr;

  bool is_learned() const { return acts_on == ActsOn::tokens && table == nullptr; }
  bool turns() const { return acts_on == ActsOn::queries_and_keys || acts_on == ActsOn::angles_and_scores; }
  bool biases_scores() const { return acts_on == ActsOn::scores || acts_on == ActsOn::angles_and_scores; }
  /// Whether scores are products of queries and keys and nothing else, as compressions and probes take them.
  bool has_plain_scores() const { return !biases_scores(); }
};

std::span<const PositionScheme> position_schemes();
const PositionScheme& scheme_of(const TransformerConfig& config);
/// Throws Error for a value without a row, and for an unknown name.
const PositionScheme& scheme_of(Positions positions);
const PositionScheme& scheme_named(std::string_view name);

/// Sinusoids of amplitude 1 (Vaswani et al., 2017), sines and cosines interleaved: (length, width) with
///   p[t, 2i] = sin(t · 10000^(-2i/width)),   p[t, 2i+1] = cos(t · 10000^(-2i/width)).
Tensor sinusoids(int64_t length, int64_t width, engine::DType dtype);

/// 0, 1, …, length - 1 as i64 (length).
Tensor position_indices(int64_t length);

/// Logarithms of ALiBi's first slopes, one vector (heads) per group: geometric from `first` to `last` over the heads of
/// all groups in order; a single head takes their geometric mean.
std::vector<Tensor> alibi_log_slopes(const std::vector<HeadGroup>& groups, double first, double last,
                                     engine::DType dtype);

}  // namespace headroom::models
