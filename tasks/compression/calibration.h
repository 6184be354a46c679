#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tasks/measure/head_spectra.h"

namespace headroom::tasks {

/// The second moments that a calibration keeps.
struct CalibrationNeeds {
  bool before_turn = false;    ///< of queries and keys as they leave their projections (and norms)
  bool after_turn = false;     ///< of queries and keys as they are multiplied, after the rotary turn
  bool outputs = false;        ///< of each head's attention output, Σ_j p_j v_j
  bool joined = false;         ///< of the keys after the turn, and of the outputs, of two neighbouring key-value heads
  bool whole_outputs = false;  ///< of all heads' outputs of a layer, side by side as W_O reads them
  bool any() const { return before_turn || after_turn || outputs || joined || whole_outputs; }
  CalibrationNeeds operator|(const CalibrationNeeds& o) const {
    return {before_turn || o.before_turn, after_turn || o.after_turn, outputs || o.outputs, joined || o.joined,
            whole_outputs || o.whole_outputs};
  }
};

/// Moments of one layer's heads on the texts of a calibration; empty where not needed.
struct LayerMoments {
  ScoreMoments before, after;
  MomentsByHead outputs;  ///< per query head, of width d_v
  /// Of key-value heads i and i + 1: their keys after the turn, (2d); and Σ_j p_j (v_j, v'_j), (2d_v), with the p of
  /// all query heads of the two.
  MomentsByHead joined_keys, joined_outputs;
  MomentsByHead whole_outputs;  ///< one, of width H·d_v
};

/// What trained heads do on a text: what activation-aware methods of compression are made from.
struct Calibration {
  std::vector<LayerMoments> layers;  ///< of every layer; empty for those that were not asked for
  CalibrationNeeds has;
  int64_t tokens = 0;
  int64_t longest = 0;  ///< tokens of the longest text
  /// Square roots are of C + shrinkage · mean(diag C) · I.
  double shrinkage = 1e-7;

  /// The second moment (d, d), with `centred` the covariance, after that shrinkage; I where all of it is 0. Throws
  /// Error naming what is not finite.
  Tensor shrunk(const SecondMoments& moments, bool centred) const;
  /// C + shrinkage · mean(diag C) · I of a sum of moments (d, d).
  Tensor shrunk(const Tensor& moment) const;
  /// "" or, where fewer tokens were read than a head has dimensions, so that its moments are singular, a sentence that
  /// says so, with the shrinkage that makes up for it.
  std::string shortage(int64_t head_dim) const;
};

/// The needs and layers of a calibration, and a callback for its progress.
struct CalibrationOptions {
  CalibrationNeeds needs;
  std::set<int64_t> layers{};                                 ///< empty: all
  std::function<void(int64_t done, int64_t all)> progress{};  ///< layers
};

/// Runs the model layer by layer over the texts, up to the last layer that is looked at. Throws Error for no text, an
/// empty one, a layer that does not exist, and a model that is not causal, biases its scores by distance (ALiBi) or has
/// several groups of heads in a layer.
Calibration calibrate(const models::Transformer& model, const TokenBatch& texts, const CalibrationOptions& options);

/// E|x_p|² of each rotary pair p of a head with that second moment (d, d), before or after the turn, which does not
/// change it: pairs (2p, 2p + 1) where interleaved, else (p, p + d/2).
std::vector<double> pair_energies(const Tensor& moment, bool interleaved);

/// E_Δ[R_Δ C R_Δᵀ], or with `back` E_Δ[R_Δᵀ C R_Δ], of a second moment C (d, d) before the rotary turn: that of a query
/// as a key Δ tokens earlier sees it, and of a key as a query does. Δ goes over 0, 1, 2, 3, 4, 6, 8, … below `length`,
/// nearly even in log Δ, as attention looks at near tokens more. `frequencies` (d/2): f of the turn.
Tensor turned_moment(const Tensor& moment, const std::vector<double>& frequencies, bool interleaved, int64_t length,
                     bool back);

/// A text's tokens [begin, end) in pieces of `context`, the last one as long as what is left (dropped when it is a
/// single token). `bos`, if any, stands before each piece. Throws Error when the range is not in the text.
TokenBatch pieces_of(const std::vector<int32_t>& tokens, int64_t begin, int64_t end, int64_t context,
                     std::optional<int64_t> bos = std::nullopt);

}  // namespace headroom::tasks
