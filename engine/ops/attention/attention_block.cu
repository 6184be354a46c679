#include "engine/ops/attention/attention_block.cuh"

#include "engine/ops/attention/attention_cuda.h"

namespace headroom::engine::cuda {
namespace {

template <int keys, int N>
struct BlockForwardMemory {
  BlockMemory<keys> scores;
  alignas(16) float values[2][block_depth][N + 4];
  alignas(16) float weights[keys][block_rows + 4];  ///< [key][query]
};

/// A row's maximum or sum, which 8 lanes share; known to all of them.
template <class Join>
__device__ inline float block_row_reduce(float value, const Join& join) {
#pragma unroll
  for (int distance = 4; distance > 0; distance /= 2) value = join(value, __shfl_xor_sync(all_lanes, value, distance));
  return value;
}

/// The value of lane tx, of the 8 lanes that share a row.
__device__ inline float block_row_of(float value, int tx) {
  return __shfl_sync(all_lanes, value, static_cast<int>(threadIdx.x) % warp_size / 8 * 8 + tx);
}

/// 128 queries and N columns of their values, from blockIdx.y · N on; this many keys at a time.
template <bool drops, int keys, int N>
__global__ void __launch_bounds__(block_threads, N == 32 && !drops ? 3 : 2)
    block_forward(AttentionArguments<float> a, Heads<float> y, float* lse, int tiles) {
  using Memory = BlockForwardMemory<keys, N>;
  Memory& memory = *dynamic_shared<Memory>();
  const BlockPlace place;
  const HeadTile at(static_cast<int>(blockIdx.x), tiles, a.heads);
  const int b = at.sequence, h = at.head, kv_head = h / a.group, i0 = at.tile * block_rows;
  const int first_column = static_cast<int>(blockIdx.y) * N;
  const WindowedRules<float> rules(a, b, h);
  const float to_score = a.score_scale();
  BlockSum<N> sum;
  sum.clear();
  // Lane tx keeps the largest score and the sum of exponentials of the row that is number tx of the eight.
  float own_top = least_top<float>, own_total = 0;
  const int end = rules.visible(smaller(i0 + block_rows, rules.queries) - 1);
  for (int j0 = rules.first_key(i0) / keys * keys; j0 < end; j0 += keys) {
    const BlockRules<drops, keys> seen(a, rules, i0, j0);
    BlockSum<keys> s;
    s.clear();
    s.template add<true, true>(a.q.rows(b, i0, h, block_rows), 0, a.k.rows(b, j0, kv_head, keys), 0, 0, a.q.width,
                               memory.scores);
#pragma unroll
    for (int n = 0; n < 2; ++n)
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const float top = block_row_of(own_top, 4 * n + r);
        float largest = top, added = 0;
#pragma unroll
        for (int m = 0; m < keys / 32; ++m)
#pragma unroll
          for (int c = 0; c < 4; ++c) {
            float& x = s.value[n][m][r][c];
            x = seen.sees(n, r, m, c) ? to_score * x : -infinity<float>;
            largest = x > largest ? x : largest;
          }
        largest = block_row_reduce(largest, Larger{});
#pragma unroll
        for (int m = 0; m < keys / 32; ++m)
#pragma unroll
          for (int c = 0; c < 4; ++c) {
            float& x = s.value[n][m][r][c];
            x = std::exp2(x - largest);
            added += x;
            if (!seen.keeps(n, r, m, c)) x = 0;
          }
        const float factor = std::exp2(top - largest);
        const float sum_of_row = block_row_reduce(added, Add{});
        if (place.tx == 4 * n + r) own_top = largest, own_total = own_total * factor + sum_of_row;
        sum.scale(n, r, factor);
      }
#pragma unroll
    for (int n = 0; n < 2; ++n)
#pragma unroll
      for (int c = 0; c < keys / 8; ++c) {
        const int line = place.column(c / 4) + c % 4;
        const auto& x = s.value[n][c / 4];
        *reinterpret_cast<Quad<float>*>(&memory.weights[line][block_held_row(place.row(n), line)]) = {
            x[0][c % 4], x[1][c % 4], x[2][c % 4], x[3][c % 4]};
      }
    sum.template add_held<keys>(memory.weights, a.v.rows(b, j0, kv_head, keys), first_column, memory.values);
  }
#pragma unroll
  for (int n = 0; n < 2; ++n)
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int i = i0 + place.row(n) + r;
      const float total = block_row_of(own_total, 4 * n + r);
      sum.scale(n, r, total == 0 ? 0.0f : a.kept / total);
      if (i < rules.queries && place.tx == 4 * n + r && first_column == 0)
        lse[rules.row + i] = own_top * ln_2<float> + std::log(total);
    }
  sum.write([&](int i) { return y.row(b, i, h); }, i0, rules.queries, first_column, y.width, 1);
}

/// Wide results leave registers for the scores of fewer keys.
template <int keys, int N>
void run_blocks(AttentionCall& c) {
  const AttentionProblem& p = c.problem;
  const AttentionArguments<float> a(p, c.q, c.k, c.v, c.slopes);
  const int64_t tiles = (p.queries + block_rows - 1) / block_rows;
  launch_kernel(
      "attention_block", a.dropout ? block_forward<true, keys, N> : block_forward<false, keys, N>,
      {{tiles * p.heads * p.batch, (p.v_dim + N - 1) / N}, block_threads, sizeof(BlockForwardMemory<keys, N>)}, a,
      mutable_heads_of<float>(c.out.y), c.out.lse.mutable_data<float>(), static_cast<int>(tiles));
}

}  // namespace

void attention_block(AttentionCall& c) {
  for (Tensor* x : {&c.q, &c.k, &c.v}) *x = with_packed_rows(*x);
  if (c.problem.v_dim <= 32) run_blocks<64, 32>(c);
  else if (c.problem.v_dim <= 64) run_blocks<64, 64>(c);
  else run_blocks<32, 128>(c);
}

}  // namespace headroom::engine::cuda
