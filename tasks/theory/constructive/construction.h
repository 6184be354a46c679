#pragma once
#include <cstdint>
#include <vector>

#include "engine/name_table.h"
#include "tasks/theory/constructive/fetch.h"

namespace headroom::tasks {

/// The five places where Theorem 1's proof (paper, appendix "Proof of Theorem 1") fails as printed; true if mended.
struct Mended {
  /// Zero tokens in front, their outputs dropped. Printed: none. A softmax over n keys then delivers Σ_j f(s + jn): for
  /// n <= lag, the token at lag mod n, although the target is zero there.
  bool zero_front = true;
  /// Queries look back. Printed: softmax over the columns of a mask that is −∞ for i < j, so that they look ahead.
  bool looks_back = true;
  /// Each group writes to its own rows, below the token's d. Printed: the first group overwrites the token.
  bool own_rows = true;
  /// Values scaled by Σ_{i>=0} e^{−βi} = 1/(1 − x). Printed: the sum ends at the number of heads.
  bool whole_normaliser = true;
  /// Coefficients by interpolation at Chebyshev nodes. The paper prints none; if false: slow_fetch(), with the rates
  /// that its constants imply.
  bool interpolation = true;

  bool all() const { return zero_front && looks_back && own_rows && whole_normaliser && interpolation; }
};

/// `groups`: each lag has its own heads, as in the proof. `residual`: they may leak the current token, which the
/// feed-forward network removes; heads = lag then suffices. `shared`: one set of heads serves every lag, with the
/// amplitudes in the output matrix.
enum class Construction { groups, residual, shared };
inline constexpr NameTable<Construction, 3> construction_names{
    {{Construction::groups, "groups"}, {Construction::residual, "residual"}, {Construction::shared, "shared"}}};

/// A term weight·x_{t−lag} of the target: ρ_lag = weight·I.
struct TargetTerm {
  int64_t lag = 0;
  double weight = 1;
};

/// Heads of one width that fetch a lag. Those narrower than the token read rows first_row, first_row + 1, … (mod d) of
/// the token's orthonormal DCT-II; two groups of one lag must read different rows.
struct FetchGroup {
  int64_t lag = 0, heads = 0, head_dim = 0;
  double scale = 0;  ///< c of the Chebyshev nodes; 0 = the best at the config's unit roundoff
  int64_t first_row = 0;
};

struct ConstructionConfig {
  Construction kind = Construction::groups;
  int64_t token_dim = 8;  ///< d
  int64_t width = 0;      ///< D; 0 = the least that fits the rows and Σ heads·head_dim
  std::vector<TargetTerm> target;
  std::vector<FetchGroup> groups;  ///< shared: the same heads, head_dim = d and scale for each lag
  Mended mended;
  double epsilon = 0x1p-53;  ///< unit roundoff used to choose scales
};

/// A config with its coefficients.
struct ConstructionPlan {
  ConstructionConfig config;         ///< with its width
  std::vector<Fetch> fetches;        ///< of each group
  int64_t zeros = 0;                 ///< tokens in front
  double weight(int64_t lag) const;  ///< of the target; 0 if it has no such lag
  /// The first row of the residual stream that group i writes to.
  int64_t row(size_t group) const;
};

/// Throws Error naming the field if a size is < 1, a lag is fetched wrongly (< 1, or the same rows twice), a weight is
/// not finite, the width is too small (mended: d + Σ d_m <= D), or a kind lacks what it needs.
ConstructionPlan plan_construction(const ConstructionConfig& config);

/// The DCT-II rows that group i reads; all of them if it is as wide as the token.
std::vector<int64_t> rows_read(const ConstructionPlan& plan, size_t group);

/// Theorem 1 without the concentration term, B = 1: Σ_fetched |ρ| (√(1 − d_m/d) + 1.3 e^{0.02m}/H_m) + Σ_others |ρ|.
double paper_bound(const ConstructionPlan& plan);
/// The same with each fetch's actual ℓ1 error for the lemma's, and the rows that a lag's groups read together for d_m.
double sharp_bound(const ConstructionPlan& plan);
/// sup over inputs in the unit ball of the mended construction's error in exact arithmetic, by the triangle inequality
/// over lags: Σ_s ‖Σ_m ρ_m f_m(s) P_mᵀP_m − ρ_s‖₂; attained if all groups are as wide as the token.
double worst_case(const ConstructionPlan& plan);

}  // namespace headroom::tasks
