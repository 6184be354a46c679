#pragma once
#include "engine/cuda/blas.h"
#include "engine/tensor.h"

// bf16 products whose extents are not multiples of 8. cuBLASLt uses its large tiles only for multiples, however rows
// are aligned: with 50,257 logits GPT-2's readout takes seven times as long as with 50,264 (H100).
namespace headroom::engine::cuda {

/// Matrices as stored, rows of stride 1: a (M, K), or (K, M) if transposed, b likewise, y (M, N).
struct ProductTensors {
  Tensor a, b, y;
  Tensor bias{};   ///< (N), for BlasEpilogue::bias
  Tensor added{};  ///< (M, N) contiguous, if BlasProduct::adds
};

/// Queues the product with extents rounded up, which adds zeros to sums and unread rows or columns to y. Works in place
/// if the matrices have declared padding (Tensor::declare_padding()), else on copies if the product is long enough to
/// pay for them. `product` describes the unpadded matrices, without bias_grad. Returns false, having done nothing, if
/// there is nothing to round, it is not worth it, or the library lacks the epilogue.
bool padded_product(const BlasProduct& product, const ProductTensors& tensors);

}  // namespace headroom::engine::cuda
