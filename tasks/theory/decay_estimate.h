#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace headroom::tasks {

/// Each lag's contribution to the best linear prediction of a text's next symbol.
struct DecayEstimate {
  std::vector<double> norms;  ///< lags 1, 2, …
  int64_t symbols = 0;        ///< distinct kinds; the rarest count as one
  double explained = 0;       ///< share of the next symbol's variance explained by the prediction
  double noise = 0;           ///< the part of a norm due to sampling alone, subtracted in squares
};

/// Takes bytes as symbols, x_t their one-hot vectors minus the mean (‖x_t‖ <= √2, so B is about 1). Fits x_{t+1} ≈
/// Σ_{i=0}^{lags} ρ_i x_{t−i} by least squares over the whole text, read as a ring so that its covariances form a
/// positive semi-definite Toeplitz matrix, and gives norms[i−1] = √E‖ρ_i x_{t−i}‖², minus sampling noise. (The rarest
/// symbols would dominate operator norms of ρ_i.) Lag 0 is fitted too, but left out: the residual carries it. At most
/// `most_symbols` kinds. Throws Error unless lags >= 1 and the text is longer than 100 lags and holds two kinds.
DecayEstimate estimate_decay(std::string_view text, int64_t lags, int64_t most_symbols = 64);

}  // namespace headroom::tasks
