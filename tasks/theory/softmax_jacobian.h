#pragma once
#include <cstdint>
#include <vector>

namespace headroom::tasks {

/// The Jacobian J = diag(p) − pp^T of softmax at one query's logits, p = softmax(z), and its bounds (paper, Thm. 2 and
/// its proof; the sharper ones are ours). Logarithms are natural; they stay correct even if a norm underflows a double.
/// O(n) in the number n of keys, no matrix.
struct SoftmaxJacobian {
  double norm = 0;         ///< ‖J‖₂; 0 for n = 1
  double ln_norm = 0;      ///< −∞ for n = 1
  double largest = 0;      ///< p_(1)
  double second = 0;       ///< p_(2); 0 for n = 1: ‖J‖₂ lies in [p_(2), p_(1)] for n >= 2
  double ln_smallest = 0;  ///< of the least p
  double spread = 0;       ///< max z − min z
  double delta = 0;        ///< Δ = max |z|, the data's own; the theorem's M_Q M_K B² + R_0 is no smaller
  double ln_paper = 0;     ///< of 2 e^{2Δ} / n, the theorem
  double ln_sharp = 0;     ///< of e^{2Δ} / n: J ⪯ diag(p) needs no factor 2
  double ln_spread = 0;    ///< of e^{max z − min z} / n: softmax ignores a shift of the logits
  double gershgorin = 0;   ///< 2 max p(1 − p), from the theorem's proof
  double diagonal = 0;     ///< max p(1 − p), the largest diagonal element: a lower bound
  double entropy = 0;      ///< of p, nats
  double first = 0;        ///< p of the first key
  double row_sum = 0;      ///< largest |(J·1)_i| in units of p_i: 0 up to rounding, so rank(J) <= n − 1
};

/// ‖J‖₂ is the largest root λ of the secular equation Σ p_i²/(p_i − λ) = 1, the only root in [p_(2), p_(1)]. Found by
/// bisection in units of p_(2)/p_(1), so that nothing underflows. Throws Error if there are no logits or one is not
/// finite.
SoftmaxJacobian softmax_jacobian(const std::vector<double>& logits);

/// ln of the theorem's 2 e^{2Δ}/s for a Δ and a number of keys.
double ln_softmax_bound(double delta, int64_t keys);

/// The number of inequalities that fail, up to rounding: the bounds above, ‖J‖ <= 1/2, p_(2) <= ‖J‖ <= p_(1), e^{−2Δ}/n
/// <= p <= e^{2Δ}/n, and J·1 = 0 (rank <= n − 1). `delta`: the theorem's Δ, at least the data's own.
int broken_inequalities(const SoftmaxJacobian& j, double delta, int64_t keys);

}  // namespace headroom::tasks
