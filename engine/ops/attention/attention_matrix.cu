#include "engine/ops/attention/attention_matrix.cuh"

#include "engine/ops/attention/attention_cuda.h"

namespace headroom::engine::cuda {
namespace {

template <int W>
struct ForwardTiles {
  MatrixTile<W, matrix_rows> queries;
  MatrixTile<W, matrix_columns<W>> keys[2], values[2];  ///< the tile that is computed, and the next
};

template <int W, bool plain>
__global__ void matrix_forward(AttentionArguments<bf16> a, Heads<bf16> y, float* lse, int tiles) {
  constexpr int N = matrix_columns<W>;
  ForwardTiles<W>& shared = *dynamic_shared<ForwardTiles<W>>();
  const MatrixPlace place;
  const HeadTile at(static_cast<int>(blockIdx.x), tiles, a.heads);
  const int b = at.sequence, h = at.head, kv_head = h / a.group, first = at.tile * matrix_rows;
  const HeadRules<bf16> rules(a, b, h);
  const float to_score = a.score_scale();
  float result[W / 8][4], top[2] = {least_top<float>, least_top<float>}, total[2] = {0, 0};
  matrix_clear<W>(result);
  const int end = rules.visible(smaller(first + matrix_rows, rules.queries) - 1);
  const auto fill = [&](int j0, int buffer) {
    shared.keys[buffer].fill(a.k.rows(b, j0, kv_head, N));
    shared.values[buffer].fill(a.v.rows(b, j0, kv_head, N));
  };
  shared.queries.fill(a.q.rows(b, first, h, matrix_rows));
  if (end > 0) fill(0, 0);
  commit_copies();
  for (int j0 = 0; j0 < end; j0 += N) {
    const int buffer = j0 / N % 2;
    wait_for_copies<0>();
    __syncthreads();  // the tile is there, and the one before is no longer read
    if (j0 + N < end) fill(j0 + N, 1 - buffer);
    commit_copies();
    float s[N / 8][4];
    matrix_product(shared.queries, shared.keys[buffer], s);
    uint32_t kept = ~0u;
    if (!plain && a.dropout) kept = matrix_kept<false, N>(a, rules, first + place.row, j0 + place.column);
    const bool hides = j0 + N > rules.visible(first + 16 * place.warp);  // any key from any of the warp's queries
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = first + place.row + 8 * half, visible = rules.visible(i);
      float largest = top[half];
#pragma unroll
      for (int x = 0; x < N / 8; ++x)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int j = j0 + 8 * x + place.column + e;
          float& score = s[x][2 * half + e];
          score *= to_score;
          if (!plain) score = rules.score(score, i, j);
          else if (hides && j >= visible) score = -infinity<float>;
          largest = fmaxf(largest, score);
        }
      largest = matrix_row_reduce(largest, Larger{});
      const float factor = fast_exp2(top[half] - largest);
      top[half] = largest;
      total[half] *= factor;
#pragma unroll
      for (int x = 0; x < W / 8; ++x) result[x][2 * half] *= factor, result[x][2 * half + 1] *= factor;
#pragma unroll
      for (int x = 0; x < N / 8; ++x)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& p = s[x][2 * half + e];
          p = fast_exp2(p - largest);
          total[half] += p;
          if (!plain && !(kept >> (4 * x + 2 * half + e) & 1)) p = 0;
        }
    }
    matrix_accumulate(s, shared.values[buffer], result);
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int i = first + place.row + 8 * half;
    const float sum = matrix_row_reduce(total[half], Add{});
    if (i >= rules.queries) continue;
    matrix_write<W>(result, half, sum == 0 ? 0 : a.kept / sum, y.row(b, i, h), y.width);
    if (place.column == 0) lse[rules.row + i] = top[half] * ln_2<float> + logf(sum);
  }
}

}  // namespace

void attention_tensor_core(AttentionCall& c) {
  lay_out(c);
  const AttentionProblem& p = c.problem;
  const AttentionArguments<bf16> a(p, c.q, c.k, c.v, c.slopes);
  const int64_t tiles = (p.queries + matrix_rows - 1) / matrix_rows;
  with_matrix_kernel(std::max(p.qk_dim, p.v_dim), a.is_plain(), [&](auto width, auto plain) {
    constexpr int W = decltype(width)::value;
    launch_kernel("attention_tensor_core", matrix_forward<W, decltype(plain)::value>,
                  {static_cast<unsigned>(tiles * p.heads * p.batch), matrix_threads, sizeof(ForwardTiles<W>)}, a,
                  mutable_heads_of<bf16>(c.out.y), c.out.lse.mutable_data<float>(), static_cast<int>(tiles));
  });
}

}  // namespace headroom::engine::cuda
