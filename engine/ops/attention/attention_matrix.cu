#include "engine/ops/attention/attention_matrix.cuh"

#include "engine/ops/attention/attention_cuda.h"

namespace headroom::engine::cuda {
namespace {

template <int W>
struct ForwardTiles {
  MatrixTile<W, matrix_rows> queries;
  MatrixTile<W, matrix_columns<W>> keys[2], values[2];  ///< the tile that is computed, and the next
};

struct Largest {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

template <int W, MatrixRules kind>
__global__ void matrix_forward(AttentionArguments<bf16> a, PhiloxKeys round_keys, Heads<bf16> y, float* lse,
                               int tiles) {
  constexpr int N = matrix_columns<W>, C = N < 64 ? N : 64;  // C columns of scores at a time
  constexpr bool is_plain = kind == MatrixRules::causal, is_ruled = kind == MatrixRules::any;
  ForwardTiles<W>& shared = *dynamic_shared<ForwardTiles<W>>();
  const MatrixPlace place;
  const HeadTile at(static_cast<int>(blockIdx.x), tiles, a.heads);
  const int b = at.sequence, h = at.head, kv_head = h / a.group, first = at.tile * matrix_rows;
  const HeadRules<bf16> rules(a, b, h);
  const float unit = is_ruled ? 1 : a.score_scale();  // of the scores that are exponentiated
  float result[W / 8][4], top[2] = {least_top<float>, least_top<float>}, total[2] = {0, 0};
  matrix_clear(result);
  const int end = rules.visible(smaller(first + matrix_rows, rules.queries) - 1);
  MatrixRows<W> keys(a.k.rows(b, 0, kv_head, a.k.tokens)), values(a.v.rows(b, 0, kv_head, a.k.tokens));
  const auto fill = [&](int buffer) {
    shared.keys[buffer].fill(keys), shared.values[buffer].fill(values);
    keys.skip(N), values.skip(N);
  };
  shared.queries.fill(MatrixRows<W>(a.q.rows(b, first, h, matrix_rows)));
  if (end > 0) fill(0);
  commit_copies();
  for (int j0 = 0; j0 < end; j0 += N) {
    const int buffer = j0 / N % 2;
    wait_for_copies<0>();
    __syncthreads();  // the tile is there, and the one before is no longer read
    if (j0 + N < end) fill(1 - buffer);
    commit_copies();
#pragma unroll 1
    for (int n = 0; n < N; n += C) {
      const int own = first + 16 * place.warp, column = j0 + n + place.column;
      if (j0 + n >= rules.visible(own + 15)) break;  // none of these keys is seen by any of the warp's queries
      float s[C / 8][4];
      matrix_clear(s);
      matrix_product(shared.queries, shared.keys[buffer].row(n), s);
      uint32_t kept = ~0u;
      if (kind == MatrixRules::dropout || (is_ruled && a.dropout))
        kept = matrix_kept<false, C>(a, round_keys, rules, first + place.row, column);
      if (is_ruled) matrix_apply<false, true>(rules, a.score_scale(), s, first + place.row, column);
      else if (j0 + n + C > rules.visible(own)) matrix_apply<false, false>(rules, 1, s, first + place.row, column);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float largest = -infinity<float>;
#pragma unroll
        for (int x = 0; x < C / 8; ++x) largest = fmaxf(largest, fmaxf(s[x][2 * half], s[x][2 * half + 1]));
        largest = fmaxf(top[half], unit * matrix_row_reduce(largest, Largest{}));
        const float factor = fast_exp2(top[half] - largest);
        top[half] = largest;
        total[half] *= factor;
#pragma unroll
        for (int x = 0; x < W / 8; ++x) result[x][2 * half] *= factor, result[x][2 * half + 1] *= factor;
#pragma unroll
        for (int x = 0; x < C / 8; ++x)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& p = s[x][2 * half + e];
            p = fast_exp2(unit * p - largest);
            total[half] += p;
            if (!is_plain && !(kept >> (4 * x + 2 * half + e) & 1)) p = 0;
          }
      }
      matrix_accumulate<W>(s, shared.values[buffer].row(n), result);
    }
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
  with_matrix_kernel(std::max(p.qk_dim, p.v_dim), a, [&](auto width, auto rules) {
    constexpr int W = decltype(width)::value;
    launch_kernel("attention_tensor_core", matrix_forward<W, decltype(rules)::value>,
                  {tiles * p.heads * p.batch, matrix_threads, sizeof(ForwardTiles<W>)}, a, round_keys_of(p.dropout_key),
                  mutable_heads_of<bf16>(c.out.y), c.out.lse.mutable_data<float>(), static_cast<int>(tiles));
  });
}

}  // namespace headroom::engine::cuda
