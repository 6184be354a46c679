#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace headroom::tasks {

/// How much each lag of a text adds to the best linear prediction of its next symbol.
struct DecayEstimate {
  std::vector<double> norms;  ///< lags 1, 2, …
  int64_t symbols = 0;        ///< kinds that are distinguished; the rarest count as one
  double explained = 0;       ///< share of the next symbol's variance that the prediction explains
  double noise = 0;           ///< what sampling alone adds to a norm, taken off in squares
};

/// Symbols are bytes, x_t their one-hot vectors less the mean (‖x_t‖ <= √2, so B is about 1). Fits x_{t+1} ≈
/// Σ_{i=0}^{lags} ρ_i x_{t−i} by least squares over the whole text, read as a ring so that its covariances are a
/// Toeplitz matrix that is positive semi-definite, and gives norms[i−1] = √E‖ρ_i x_{t−i}‖², less what sampling noise
/// adds. (Operator norms of ρ_i would be ruled by the rarest symbols.) Lag 0 is fitted, too, and left out: the residual
/// carries it. At most `most_symbols` kinds. Throws Error unless lags >= 1 and the text is longer than 100 lags and
/// holds two kinds.
DecayEstimate estimate_decay(std::string_view text, int64_t lags, int64_t most_symbols = 64);

}  // namespace headroom::tasks
