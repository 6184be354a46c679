#include "engine/ops/attention/attention_cuda.h"
#include "engine/ops/attention/attention_matrix_grad.cuh"

namespace headroom::engine::cuda {
namespace {

/// Columns of scores at a time: all of a tile's where the products load much of the own rows for them.
template <int W>
constexpr int grad_columns = W <= 64 ? 32 : matrix_columns<W>;

/// Blocks that a multiprocessor has registers for: as many as leave none to be spilled.
template <int W, MatrixRules kind>
constexpr int query_grad_blocks = W == 128 || (W == 64 && kind == MatrixRules::dropout) ? 3 : 4;
template <int W, MatrixRules kind>
constexpr int key_grad_blocks = (W == 128  ? 2
                                 : W == 64 ? 3
                                           : 4) -
                                (kind == MatrixRules::any && (W == 32 || W == 64));

/// What a block holds: where queries are the other side, also their tops and deltas.
template <int W>
struct GradMemory : GradTiles<W, matrix_columns<W>> {
  alignas(16) float tops[2][matrix_columns<W>], minus_deltas[2][2 * matrix_columns<W>];
};

/// A query's part of dslope, over the keys that the thread has seen. y, which delta comes from, is rounded to bf16; but
/// Σ_j ds_ij is 0 except for that error, so that this sum and Σ_j p_ij · distance take the error out again.
struct SlopeSums {
  float ds = 0, ds_distance = 0, p_distance = 0;
  __device__ void add(float p, float ds_ij, float distance) {
    ds += ds_ij;
    ds_distance += ds_ij * distance;
    p_distance += p * distance;
  }
  /// Over the four lanes that share the row; 0 for all of them but one.
  __device__ float dslope() const {
    const float error = matrix_row_reduce(ds, Add{}), with_error = matrix_row_reduce(ds_distance, Add{});
    const float mean = matrix_row_reduce(p_distance, Add{});
    return MatrixPlace().column == 0 ? error * mean - with_error : 0;
  }
};

/// dq of 64 queries, and the tile's part of dslopes.
template <int W, MatrixRules kind>
__global__ void __launch_bounds__(matrix_threads, query_grad_blocks<W, kind>)
    matrix_query_grad(AttentionArguments<bf16> a, AttentionGradArguments<bf16> g, PhiloxKeys round_keys, int tiles) {
  constexpr int N = matrix_columns<W>, C = grad_columns<W>;
  constexpr bool is_plain = kind == MatrixRules::causal, is_ruled = kind == MatrixRules::any;
  GradMemory<W>& shared = *dynamic_shared<GradMemory<W>>();
  const MatrixPlace place;
  const HeadTile at(static_cast<int>(blockIdx.x), tiles, a.heads);
  const int b = at.sequence, h = at.head, kv_head = h / a.group, first = at.tile * matrix_rows;
  const HeadRules<bf16> rules(a, b, h);
  const float unit = is_ruled ? 1 : a.score_scale();  // of the scores that are exponentiated
  float dq[W / 8][4], top[2], delta[2];
  SlopeSums slope_sums[2];
  matrix_clear(dq);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int i = first + place.row + 8 * half;
    top[half] = i < rules.queries ? g.top(rules.row + i) : infinity<float>;
    delta[half] = i < rules.queries ? g.delta[rules.row + i] : 0;
  }
  const int end = rules.visible(smaller(first + matrix_rows, rules.queries) - 1);
  MatrixRows<W> keys(a.k.rows(b, 0, kv_head, a.k.tokens)), values(a.v.rows(b, 0, kv_head, a.k.tokens));
  const auto fill = [&](int buffer) {
    shared.first[buffer].fill(keys), shared.second[buffer].fill(values);
    keys.skip(N), values.skip(N);
  };
  shared.own[0].fill(MatrixRows<W>(a.q.rows(b, first, h, matrix_rows)));
  shared.own[1].fill(MatrixRows<W>(g.dy.rows(b, first, h, matrix_rows)));
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
      uint32_t kept = ~0u;
      if (kind == MatrixRules::dropout || (is_ruled && a.dropout))
        kept = matrix_kept<false, C>(a, round_keys, rules, first + place.row, column);
      float s[C / 8][4], ds[C / 8][4];
      matrix_clear(s);
      matrix_product(shared.own[0], shared.first[buffer].row(n), s);
      if (is_plain) matrix_set(ds, -delta[0], -delta[1]);
      else matrix_clear(ds);
      matrix_product(shared.own[1], shared.second[buffer].row(n), ds);
      if (is_ruled) matrix_apply<false, true>(rules, a.score_scale(), s, first + place.row, column);
      else if (j0 + n + C > rules.visible(own)) matrix_apply<false, false>(rules, 1, s, first + place.row, column);
#pragma unroll
      for (int x = 0; x < C / 8; ++x)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int half = e / 2;
          s[x][e] = fast_exp2(unit * s[x][e] - top[half]);
          if (!is_plain) ds[x][e] = (kept >> (4 * x + e) & 1 ? ds[x][e] : 0) * a.kept - delta[half];
          ds[x][e] *= s[x][e];
        }
      if (is_ruled && g.dslope_parts)
#pragma unroll
        for (int x = 0; x < C / 8; ++x)
#pragma unroll
          for (int e = 0; e < 4; ++e)
            slope_sums[e / 2].add(s[x][e], ds[x][e],
                                  rules.distance(first + place.row + 8 * (e / 2), column + 8 * x + e % 2));
      matrix_accumulate<W>(ds, shared.first[buffer].row(n), dq);
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int i = first + place.row + 8 * half;
    if (i < rules.queries) matrix_write<W>(dq, half, a.scale, g.dq.row(b, i, h), g.dq.width);
  }
  if (!is_ruled || !g.dslope_parts) return;
  const float dslope = block_reduce(slope_sums[0].dslope() + slope_sums[1].dslope(), shared.tops[0], Add{});
  if (threadIdx.x == 0) g.dslope_parts[(int64_t{b} * a.heads + h) * tiles + at.tile] = dslope;
}

/// dk and dv of 64 keys, summed over the queries of every head that shares them.
template <int W, MatrixRules kind>
__global__ void __launch_bounds__(matrix_threads, key_grad_blocks<W, kind>)
    matrix_key_grad(AttentionArguments<bf16> a, AttentionGradArguments<bf16> g, PhiloxKeys round_keys, int tiles) {
  constexpr int N = matrix_columns<W>, C = grad_columns<W>;
  GradMemory<W>& shared = *dynamic_shared<GradMemory<W>>();
  const MatrixPlace place;
  const HeadTile at(static_cast<int>(blockIdx.x), tiles, a.heads / a.group);
  const int b = at.sequence, kv_head = at.head, first = at.tile * matrix_rows;
  const int queries = a.q.tokens;
  float dk[W / 8][4], dv[W / 8][4];
  matrix_clear(dk), matrix_clear(dv);
  // Steps go over the tiles of queries that see these keys, head after head.
  const int begin = HeadRules<bf16>(a, b, 0).first_query(first) / N * N, end_head = (kv_head + 1) * a.group;
  int h = kv_head * a.group, i0 = begin;
  QueryTiles<W, N> next(a.q, g.dy, b, begin, h, i0);
  float next_top = 0, next_delta = 0;
  const auto fill = [&](int buffer) {
    next.fill(shared, buffer);
    const int n = static_cast<int>(threadIdx.x);
    const bool is_there = n < N && next.query + n < queries;
    const int64_t row = (int64_t{b} * a.heads + next.head) * queries + next.query + n;
    next_top = is_there ? g.lse[row] : -infinity<float>;
    next_delta = is_there ? g.delta[row] : 0;
    next.skip();
  };
  // Apart from fill(), as they are loaded while a tile is computed. After the last one nobody reads them.
  const auto keep = [&](int buffer) {
    const int n = static_cast<int>(threadIdx.x);
    if (n >= N) return;
    shared.tops[buffer][n] = g.in_log2(next_top);
    set_minus_delta(shared.minus_deltas[buffer], n, next_delta);
  };
  shared.own[0].fill(MatrixRows<W>(a.k.rows(b, first, kv_head, matrix_rows)));
  shared.own[1].fill(MatrixRows<W>(a.v.rows(b, first, kv_head, matrix_rows)));
  const bool has_queries = begin < queries;
  if (has_queries) fill(0), keep(0);
  commit_copies();
  for (int buffer = 0; has_queries && h < end_head; buffer = 1 - buffer) {
    const HeadRules<bf16> rules(a, b, h);
    wait_for_copies<0>();
    __syncthreads();  // the tile is there, and the one before is no longer read
    if (next.head < end_head) fill(1 - buffer);
    commit_copies();
#pragma unroll 1
    for (int n = 0; n < N; n += C) {
      if (i0 + n + C <= rules.first_query(first + 16 * place.warp)) continue;  // none sees any of the warp's keys
      float ds[C / 8][4];
      add_key_grads<kind, W, N, C>(a, round_keys, rules, shared, buffer, shared.tops[buffer],
                                   shared.minus_deltas[buffer], first, i0, n, ds, dk, dv);
    }
    keep(1 - buffer);
    i0 += N;
    if (i0 >= queries) i0 = begin, ++h;
  }
  write_key_grads<W>(a, g, b, kv_head, first, dk, dv);
}

}  // namespace

void attention_tensor_core_grad(AttentionGradCall& c) {
  if (attention_joint_grad(c)) return;
  const AttentionProblem& p = c.problem;
  AttentionGradRun<bf16> run(c);
  const AttentionArguments<bf16> a = run.arguments();
  const int64_t query_tiles = (p.queries + matrix_rows - 1) / matrix_rows;
  const int64_t key_tiles = (p.keys + matrix_rows - 1) / matrix_rows;
  const AttentionGradArguments<bf16> g = run.grad(query_tiles);
  const PhiloxKeys round_keys = round_keys_of(p.dropout_key);
  with_matrix_kernel(std::max(p.qk_dim, p.v_dim), a, [&](auto width, auto rules) {
    constexpr int W = decltype(width)::value;
    launch_kernel("attention_tensor_core_dq", matrix_query_grad<W, decltype(rules)::value>,
                  {query_tiles * p.heads * p.batch, matrix_threads, sizeof(GradMemory<W>)}, a, g, round_keys,
                  static_cast<int>(query_tiles));
    launch_kernel("attention_tensor_core_dkv", matrix_key_grad<W, decltype(rules)::value>,
                  {key_tiles * p.kv_heads * p.batch, matrix_threads, sizeof(GradMemory<W>)}, a, g, round_keys,
                  static_cast<int>(key_tiles));
  });
  run.add_slope_parts();
}

}  // namespace headroom::engine::cuda
