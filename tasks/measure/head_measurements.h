#pragma once
#include <set>
#include <string>

#include "tasks/measure/head_loader.h"
#include "tasks/theory/rope_errors.h"

namespace headroom::tasks {

/// Theorem 2 on the queries of one head.
struct SoftmaxBoundConfig {
  using Made = class SoftmaxBound;
  HeadSource head{};
  HeadTokens tokens = HeadTokens::random;
  int64_t length = 64;     ///< L
  double token_norm = 1;   ///< B of random tokens
  double alibi_slope = 0;  ///< of a random head: bias −slope·(l − j); 0: none. A trained one has its own
};
/// Corollary 2 for the same: M = W_Qᵀ W_K replaced by rank `rank`.
struct SvdBoundConfig {
  using Made = class SvdBound;
  HeadSource head{};
  HeadTokens tokens = HeadTokens::random;
  int64_t length = 64, rank = 4;
  double token_norm = 1, alibi_slope = 0;
  double late = 0.1;  ///< α: late queries are l >= αL
};
/// The proposition on rotary positions: W_Q and W_K truncated to rank `rank`. It holds for any maps, so models with
/// other positions count too; one trained with rotary positions keeps its own base and pairing.
struct RopeBoundConfig {
  using Made = class RopeBound;
  HeadSource head{};
  HeadTokens tokens = HeadTokens::random;
  int64_t length = 32, rank = 4;
  double token_norm = 1;
  Pairing pairing = Pairing::half_split;
  double base = 10000;
};

/// Throw Error naming the field and what is allowed.
void validate(const SoftmaxBoundConfig& config);
void validate(const SvdBoundConfig& config);
void validate(const RopeBoundConfig& config);

/// Metrics: `jacobian_norm` of the last query; log10(bound / norm) there for the theorem (`log10_paper`), without its
/// factor 2 (`log10_sharp`), with max z − min z for 2Δ (`log10_spread`) and for Gershgorin's disc (`log10_gershgorin`),
/// with the theorem's Δ from the maps' norms; `log10_tightest`, the theorem's least over all queries; `scaled_norm`,
/// the norm times L; `violations`, the inequalities that fail over all queries: those bounds, ‖J‖ <= 1/2, p_(2) <= ‖J‖
/// <= p_(1), e^{−2Δ}/l <= p <= e^{2Δ}/l, and J·1 = 0 (rank <= l − 1) to rounding; `delta`, the theorem's Δ, and
/// `largest_logit`, max |z| over all queries and keys, which Δ bounds. Throws Error for a head trained without a causal
/// mask.
class SoftmaxBound : public HeadMeasurement<SoftmaxBoundConfig> {
 public:
  using HeadMeasurement::HeadMeasurement;
  void check() const override;
  Metrics compute(uint64_t seed) const override;
  std::string describe() const override;
};

/// Metrics: `query_error` of the last query, `late_rms` (root mean square over late queries), `late_frobenius` (root of
/// their sum, the paper's), `log10_paper` and `log10_sharp`, the least log10(bound / error) over queries,
/// `log10_ratio`, our gain in sharpness at the last query, `sigma_next`, and `violations` of either bound. Throws Error
/// for a head trained without a causal mask or with rotary positions, and for one of rank <= r, which loses nothing.
class SvdBound : public HeadMeasurement<SvdBoundConfig> {
 public:
  using HeadMeasurement::HeadMeasurement;
  void check() const override;
  Metrics compute(uint64_t seed) const override;
  std::string describe() const override;
};

/// Metrics: `map_error` the largest ‖B − B̃‖₂ and its `map_bound`, `logit_error` and `logit_bound`, `tightness` =
/// map_bound / map_error, `logit_tightness`, `least_error` of any rank-r matrices, `rank_excess` = rank of B̃ beyond r,
/// and for even r `pairs_error` and `mixed_error`, of two true heads of width r (see RopeErrors). Throws Error for maps
/// of rank <= r, which lose nothing.
class RopeBound : public HeadMeasurement<RopeBoundConfig> {
 public:
  using HeadMeasurement::HeadMeasurement;
  void check() const override;
  Metrics compute(uint64_t seed) const override;
  std::string describe() const override;
};

/// The metric names of each config.
std::set<std::string> metric_names_of(const SoftmaxBoundConfig& config);
std::set<std::string> metric_names_of(const SvdBoundConfig& config);
std::set<std::string> metric_names_of(const RopeBoundConfig& config);

}  // namespace headroom::tasks
