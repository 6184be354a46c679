#pragma once
#include "engine/cuda/blas.h"

// Products of f32 on the tensor cores of bf16. A number is split into three of bf16 that together hold all of its 24
// bits, a = a1 + a2 + a3, and a product is the sum of six: a1b1, a1b2, a2b1, a1b3, a2b2, a3b1. The rest is below 2^-24
// of it.
namespace headroom::engine::cuda {

/// Rows and columns of a block's tile.
inline constexpr int split_side = 128;

/// Parts that k is cut into: as many as fill the GPU with tiles, of at least 256 terms.
int64_t split_parts(const BlasProduct& product);

/// True if split_product() should take this product of f32: HEADROOM_F32_PRODUCTS=split asks for it where the model of
/// docs/performance.md predicts that it is faster than the library by a tenth, split-always wherever it can. Otherwise,
/// and where the context asks for TF32, the library multiplies.
bool is_split(const BlasProduct& product);

/// Queues the product on the context's stream: f32, any layout, stacks, `adds`, bias; bias_grad with transpose_a. From
/// 256 terms on errors are no larger than those of terms added one after another in f32; those of 8,192 terms of one
/// sign, or of many sizes, are 1.2 times a sum's by blocks. Elements that are not finite are summed again in plain f32,
/// so infinities and overflow are what they are there. Sums are in an order fixed by the shape and the GPU's
/// architecture; a long sum into few tiles is cut into parts, which a second kernel adds.
void split_product(const BlasProduct& product, const BlasOperands& operands);

}  // namespace headroom::engine::cuda
