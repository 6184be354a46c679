#pragma once
#include "engine/optim/step_state.h"
#include "engine/tensor.h"

namespace headroom::engine {

/// Adam (Kingma & Ba, 2015) over flat arrays of N elements, f32 or f64, in PyTorch's arithmetic. It reads from the
/// step's state, on the device, lr = rate·learning_rate, f = gradient_factor and t = updates + 1; if is_finite is 0 it
/// writes nothing.
///   g ← f·g
///   p ← p·(1 - lr·decay)                         (decoupled: AdamW, Loshchilov & Hutter, 2019)
///   g ← g + l2·p                                 (coupled: Adam)
///   m ← m + (1-β₁)(g - m),   v ← β₂·v + (1-β₂)·g²
///   p ← p - lr/(1-β₁ᵗ) · m / (√v/√(1-β₂ᵗ) + eps)
struct AdamConfig {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double decoupled_decay = 0, l2_decay = 0;  ///< for elements [0, decayed); others have 0
  int64_t decayed = 0;
  double rate = 1;  ///< factor on the state's learning rate, for arrays with a rate of their own
};
/// `copies`: undefined, or bf16 (N) with f32 values as masters: gets p rounded to nearest even. Throws Error if arrays
/// differ in length or overlap, for betas outside [0, 1) and a negative eps, and if the state is not on the values'
/// device.
void adam_inplace(const Tensor& values, const Tensor& gradients, const Tensor& mean, const Tensor& square,
                  const Tensor& copies, const AdamConfig& config, const Tensor& state);

/// SGD over flat arrays, with the same state: g ← f·g + l2·p; b ← μ·b + g (b ← g at the first update);
/// p ← p - lr·(nesterov ? g + μ·b : b). `momentum` undefined when μ = 0: p ← p - lr·g.
struct SgdConfig {
  double momentum = 0;
  bool nesterov = false;
  double l2_decay = 0;  ///< of elements [0, decayed)
  int64_t decayed = 0;
};
/// Throws Error as adam_inplace.
void sgd_inplace(const Tensor& values, const Tensor& gradients, const Tensor& momentum, const Tensor& copies,
                 const SgdConfig& config, const Tensor& state);

/// Muon (Jordan et al., 2024) over one flat matrix of `rows` rows, with the same state. O approximates the orthogonal
/// factor of a direction u (engine/optim/newton_schulz.h):
///   g ← f·g,   b ← μ·b + (1-μ)·g,   u = nesterov ? μ·b + (1-μ)·g : b
///   p ← p·(1 - lr·decay) - lr·√max(1, rows/columns)·O(u)
struct MuonConfig {
  int64_t rows = 1;
  double momentum = 0.95;
  bool nesterov = true;
  int64_t iterations = 5;  ///< of Newton and Schulz
  double decoupled_decay = 0;
};
/// Throws Error as adam_inplace, if `rows` does not divide the length, and for a momentum outside [0, 1). Products are
/// in the values' dtype, f32 or f64, whatever precision the context sets. Not available on CUDA.
void muon_inplace(const Tensor& values, const Tensor& gradients, const Tensor& momentum, const Tensor& copies,
                  const MuonConfig& config, const Tensor& state);

/// √Σx² of f32 or f64, any shape, over fixed chunks added in f64: the same bits on any number of threads. Rescales if
/// the plain sum overflows or underflows, so it is right whenever the result fits f64. NaN if an element is NaN, else
/// infinite if one is.
double norm(const Tensor& x);
/// The same as f64 () on x's device, without waiting for it.
Tensor norm_of(const Tensor& x);

}  // namespace headroom::engine
