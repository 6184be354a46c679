#pragma once
#include <span>
#include <string_view>

#include "engine/tensor.h"
#include "models/config.h"

namespace headroom::models {

using engine::Tensor;

/// The part of a model that a position scheme changes.
enum class ActsOn {
  nothing,
  tokens,             ///< adds a vector per position to each embedded token
  queries_and_keys,   ///< turns them by angles that grow with the position (RoPE)
  scores,             ///< adds a bias that grows with distance, with a learnable slope per head (ALiBi)
  angles_and_scores,  ///< both of these
};

/// A position scheme. To add one, add a value to Positions, a row to the table in positions.cpp, and the formula of the
/// vectors it adds.
struct PositionScheme {
  Positions positions;
  const char* name;   ///< in study files and describe()
  const char* words;  ///< before "positions" in a sentence
  ActsOn acts_on;
  bool is_in_files;  ///< trained models' files may use it
  /// For ActsOn::tokens: makes the vectors (length, width); null: a parameter of max_length rows.
  Tensor (*table)(int64_t length, int64_t width, engine::DType dtype) = nullptr;

  bool is_learned() const { return acts_on == ActsOn::tokens && table == nullptr; }
  bool turns() const { return acts_on == ActsOn::queries_and_keys || acts_on == ActsOn::angles_and_scores; }
  bool biases_scores() const { return acts_on == ActsOn::scores || acts_on == ActsOn::angles_and_scores; }
  /// True if scores are plain products of queries and keys, as compressions and probes assume.
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

/// Logarithms of ALiBi's initial slopes, one vector (heads) per group: geometric from `first` to `last` over all heads
/// in order; a single head takes their geometric mean. With `distinct` > 0, so many slopes or one per head, if these
/// are fewer, each shared by heads that follow one another.
std::vector<Tensor> alibi_log_slopes(const std::vector<HeadGroup>& groups, double first, double last,
                                     engine::DType dtype, int64_t distinct = 0);

/// The dim/2 frequencies of a head of which RoPE turns `turned` numbers alone, as it would a head of that width; the
/// other pairs stand still ("partial RoPE"). Throws Error unless turned is even and in [2, dim].
std::vector<double> partial_rope_frequencies(int64_t turned, int64_t dim, double base);

}  // namespace headroom::models
