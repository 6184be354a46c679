#include "tasks/theory/decay_estimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "engine/error.h"
#include "engine/linalg/cholesky.h"
#include "engine/parallel.h"

namespace headroom::tasks {
namespace {

using engine::Tensor;

/// Bytes as symbols 0..kinds − 1, the most frequent first; all others are the last one.
struct Symbols {
  std::vector<uint8_t> of_position;
  int64_t kinds = 0;
};

Symbols symbols_of(std::string_view text, int64_t most) {
  std::array<int64_t, 256> counts{};
  for (const char c : text) ++counts[static_cast<uint8_t>(c)];
  std::array<int, 256> order{};
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return counts[static_cast<size_t>(a)] > counts[static_cast<size_t>(b)]; });
  const auto present =
      static_cast<int64_t>(std::count_if(counts.begin(), counts.end(), [](int64_t count) { return count > 0; }));
  Symbols symbols;
  symbols.kinds = std::min(present, most);
  std::array<uint8_t, 256> symbol{};
  for (int64_t i = 0; i < present; ++i)
    symbol[static_cast<size_t>(order[static_cast<size_t>(i)])] = static_cast<uint8_t>(std::min(i, symbols.kinds - 1));
  symbols.of_position.reserve(text.size());
  for (const char c : text) symbols.of_position.push_back(symbol[static_cast<uint8_t>(c)]);
  return symbols;
}

/// Cov[a, b] of the one-hot vectors at positions t and t + lag of the ring, row-major (kinds, kinds).
std::vector<double> covariance(const Symbols& symbols, size_t lag) {
  const auto kinds = static_cast<size_t>(symbols.kinds), length = symbols.of_position.size();
  std::vector<int64_t> pairs(kinds * kinds), single(kinds);
  const std::vector<uint8_t>& s = symbols.of_position;
  for (size_t t = 0, u = lag % length; t < length; ++t, u = u + 1 == length ? 0 : u + 1) {
    ++pairs[s[t] * kinds + s[u]];
    ++single[s[t]];
  }
  const auto n = static_cast<double>(length);
  std::vector<double> out(kinds * kinds);
  for (size_t a = 0; a < kinds; ++a)
    for (size_t b = 0; b < kinds; ++b)
      out[a * kinds + b] = static_cast<double>(pairs[a * kinds + b]) / n -
                           static_cast<double>(single[a]) / n * (static_cast<double>(single[b]) / n);
  return out;
}

/// Adds nothing that a fit would notice, but makes the Gram matrix definite: one-hot vectors sum to a constant.
constexpr double ridge = 1e-6;

}  // namespace

DecayEstimate estimate_decay(std::string_view text, int64_t lags, int64_t most_symbols) {
  require(lags >= 1, "decay estimate: {} lags: expected >= 1", lags);
  require(most_symbols >= 2 && most_symbols <= 256, "decay estimate: {} symbols: expected 2 to 256", most_symbols);
  require(static_cast<int64_t>(text.size()) > 100 * lags,
          "decay estimate: the text has {} bytes: {} lags need more "
          "than {}",
          text.size(), lags, 100 * lags);
  const Symbols symbols = symbols_of(text, most_symbols);
  require(symbols.kinds >= 2, "decay estimate: the text repeats one symbol: there is nothing to predict");
  const auto kinds = static_cast<size_t>(symbols.kinds), blocks = static_cast<size_t>(lags) + 1, n = kinds * blocks;
  std::vector<std::vector<double>> at_lag(blocks + 1);  // C_k
  engine::parallel_for(static_cast<int64_t>(blocks) + 1, [&](int64_t k) {
    at_lag[static_cast<size_t>(k)] = covariance(symbols, static_cast<size_t>(k));
  });
  // Features: x_t, x_{t−1}, …, x_{t−lags}. x_{t−i} comes i − j steps before x_{t−j}.
  std::vector<double> gram(n * n), with_next(n * kinds);
  double scale = 0;
  for (size_t a = 0; a < kinds; ++a) scale += at_lag[0][a * kinds + a] / static_cast<double>(kinds);
  for (size_t i = 0; i < blocks; ++i)
    for (size_t a = 0; a < kinds; ++a) {
      double* row = &gram[(i * kinds + a) * n];
      for (size_t j = 0; j < blocks; ++j)
        for (size_t b = 0; b < kinds; ++b)
          row[j * kinds + b] = i >= j ? at_lag[i - j][a * kinds + b] : at_lag[j - i][b * kinds + a];
      row[i * kinds + a] += ridge * scale;
      for (size_t b = 0; b < kinds; ++b) with_next[(i * kinds + a) * kinds + b] = at_lag[i + 1][a * kinds + b];
    }
  const auto rows = static_cast<int64_t>(n);
  const Tensor solved =
      engine::linalg::solve_spd(Tensor::from({rows, rows}, gram), Tensor::from({rows, symbols.kinds}, with_next));
  const std::vector<double> rho = solved.to_vector<double>();  // (blocks · kinds, kinds), the transposes of ρ_i
  double total = 0, explained = 0;
  for (size_t a = 0; a < kinds; ++a) total += at_lag[0][a * kinds + a];
  for (size_t i = 0; i < rho.size(); ++i) explained += rho[i] * with_next[i];
  DecayEstimate out;
  out.symbols = symbols.kinds;
  out.explained = explained / total;
  const double freedom = static_cast<double>(kinds - 1) / static_cast<double>(text.size());
  const double noise = freedom * std::max(0.0, total - explained);
  out.noise = std::sqrt(noise);
  for (size_t i = 1; i < blocks; ++i) {
    double square = 0;  // Σ_c ρ_cᵀ C_0 ρ_c over the columns c of this block
    for (size_t a = 0; a < kinds; ++a)
      for (size_t b = 0; b < kinds; ++b) {
        double products = 0;
        for (size_t c = 0; c < kinds; ++c)
          products += rho[(i * kinds + a) * kinds + c] * rho[(i * kinds + b) * kinds + c];
        square += at_lag[0][a * kinds + b] * products;
      }
    out.norms.push_back(std::sqrt(std::max(0.0, square - noise)));
  }
  return out;
}

}  // namespace headroom::tasks
