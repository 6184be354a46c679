#pragma once
#include "engine/cuda/blas.h"
#include "engine/tensor.h"

// Products in bf16 whose extents are no multiples of 8. cuBLASLt has its large tiles for multiples alone, however rows
// are aligned: with 50,257 logits GPT-2's readout takes seven times as long as with 50,264 (H100).
namespace headroom::engine::cuda {

/// Matrices as they are stored, rows of stride 1: a (M, K), or (K, M) where it is transposed, b likewise, y (M, N).
struct ProductTensors {
  Tensor a, b, y;
  Tensor bias{};   ///< (N), for BlasEpilogue::bias
  Tensor added{};  ///< (M, N) contiguous, where BlasProduct::adds
};

/// Queues the product with its extents rounded up, which adds zeros to sums and rows or columns to y that nobody reads:
/// where the matrices have padding declared (Tensor::declare_padding()) in place, else in copies, if the product is
/// long enough to be worth them. `product` is of the matrices as they are, without bias_grad. False where there is
/// nothing to round, it is not worth it, or the library lacks the epilogue: nothing was done then.
bool padded_product(const BlasProduct& product, const ProductTensors& tensors);

}  // namespace headroom::engine::cuda
