#pragma once
#include <vector>

#include "engine/linalg/dense.h"

/// Reflectors H = I - tau·v·vᵀ with v₀ = 1, and products of them in blocks (Golub & Van Loan, "Matrix computations",
/// 4th ed., §5.1–5.2; Schreiber & Van Loan, "A storage-efficient WY representation", 1989).
namespace headroom::engine::linalg {

/// ‖x‖₂ without overflow or harmful underflow.
double norm(int64_t n, const double* x);

/// Turns x into (beta, v₁, v₂, …) with H·x = beta·e₁, and returns tau (0 if x is zero below its first element).
double make_reflector(int64_t n, double* x);

/// Reflectors of consecutive columns as one operator: H₀·H₁⋯ = I - V·T·Vᵀ.
struct Reflectors {
  Dense v;  ///< (m, k), unit lower trapezoidal, explicit
  Dense t;  ///< (k, k), upper triangular
};
/// Makes them from columns that hold v below their diagonal: `a` (m, k), tau (k).
Reflectors reflectors_of(const View& a, const double* tau);
/// c = H₀·H₁⋯·c, or the transpose applied: (I - V·Tᵀ·Vᵀ)·c.
void apply(const Reflectors& h, const View& c, bool transpose);

/// a = Q·R in place: R on and above the diagonal, v below, min(m, n) taus. Blocked.
std::vector<double> factor_qr(const View& a);
/// a·P = Q·R with |R₀₀| ≥ |R₁₁| ≥ …: column j of R was column permutation[j] of a. Norms are downdated and
/// recomputed as in Drmač & Bujanović, "On the failure of rank-revealing QR factorization software" (2008).
struct PivotedFactors {
  std::vector<double> tau;
  std::vector<int64_t> permutation;
};
PivotedFactors factor_qr_pivoted(const View& a);

/// The first `columns` columns of Q (at most m).
Dense form_q(const View& factored, const std::vector<double>& tau, int64_t columns);
/// c = Q·c or Qᵀ·c.
void apply_q(const View& factored, const std::vector<double>& tau, const View& c, bool transpose);
/// R of a factored (m, n) matrix: (min(m, n), n), zero below the diagonal.
Dense form_r(const View& factored);

}  // namespace headroom::engine::linalg
