#pragma once
#include <cstdint>

namespace headroom::tasks {

/// Matrix-product FLOPs of one encoder layer over a sequence of `length` L, counted as in the paper's efficiency
/// analysis (a multiply-add is 2): 4 L D H (d_qk + d_v) for Q, K, V and O, 2 H L² (d_qk + d_v) for scores and weighted
/// values, 4 L D F for a feed-forward network of two matrices. With d_qk = d_v = d_h: 8 L D H d_h + 4 H L² d_h + 4 L D
/// F, affine in d_h.
double layer_flops(int64_t length, int64_t width, int64_t heads, int64_t qk_dim, int64_t v_dim, int64_t ffn_width);

}  // namespace headroom::tasks
