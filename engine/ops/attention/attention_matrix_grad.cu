#include "engine/ops/attention/attention_cuda.h"
#include "engine/ops/attention/attention_matrix.cuh"

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

/// Two operands of the block's own rows, and two of the other side's: the tile that is computed, and the next.
template <int W>
struct GradTiles {
  MatrixTile<W, matrix_rows> own[2];
  MatrixTile<W, matrix_columns<W>> first[2], second[2];
  /// If queries are the other side: for two consecutive ones their tops, and -delta of the first, of the second, and
  /// both again, as a product's result starts with them.
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
  GradTiles<W>& shared = *dynamic_shared<GradTiles<W>>();
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
  constexpr bool is_plain = kind == MatrixRules::causal, is_ruled = kind == MatrixRules::any;
  GradTiles<W>& shared = *dynamic_shared<GradTiles<W>>();
  const MatrixPlace place;
  const HeadTile at(static_cast<int>(blockIdx.x), tiles, a.heads / a.group);
  const int b = at.sequence, kv_head = at.head, first = at.tile * matrix_rows;
  const int queries = a.q.tokens;
  const float unit = is_ruled ? 1 : a.score_scale();  // of the scores that are exponentiated
  float dk[W / 8][4], dv[W / 8][4];
  matrix_clear(dk), matrix_clear(dv);
  // Steps go over the tiles of queries that see these keys, head after head.
  const int begin = HeadRules<bf16>(a, b, 0).first_query(first) / N * N, end_head = (kv_head + 1) * a.group;
  int next_head = kv_head * a.group, next = begin;  // of the tile that is copied next
  const auto rows_of = [&](const Heads<const bf16>& x) { return MatrixRows<W>(x.rows(b, begin, next_head, queries)); };
  MatrixRows<W> query_rows = rows_of(a.q), dy_rows = rows_of(g.dy);
  int64_t next_row = (int64_t{b} * a.heads + next_head) * queries + begin + static_cast<int>(threadIdx.x);
  float next_top = 0, next_delta = 0;
  const auto fill = [&](int buffer) {
    shared.first[buffer].fill(query_rows), shared.second[buffer].fill(dy_rows);
    const bool is_there = threadIdx.x < N && next + static_cast<int>(threadIdx.x) < queries;
    next_top = is_there ? g.lse[next_row] : -infinity<float>;
    next_delta = is_there ? g.delta[next_row] : 0;
    next += N, next_row += N;
    if (next < queries) {
      query_rows.skip(N), dy_rows.skip(N);
    } else if (next_row += queries - (next - begin), next = begin, ++next_head < end_head) {
      query_rows = rows_of(a.q), dy_rows = rows_of(g.dy);
    }
  };
  // Apart from fill(), as they are loaded while a tile is computed.
  const auto keep = [&](int buffer) {
    const int n = static_cast<int>(threadIdx.x);
    if (n >= N) return;
    shared.tops[buffer][n] = g.in_log2(next_top);
    shared.minus_deltas[buffer][n / 2 * 4 + n % 2] = shared.minus_deltas[buffer][n / 2 * 4 + n % 2 + 2] = -next_delta;
  };
  shared.own[0].fill(MatrixRows<W>(a.k.rows(b, first, kv_head, matrix_rows)));
  shared.own[1].fill(MatrixRows<W>(a.v.rows(b, first, kv_head, matrix_rows)));
  const bool has_queries = begin < queries;
  if (has_queries) fill(0), keep(0);
  commit_copies();
  int h = kv_head * a.group, i0 = begin;
  for (int buffer = 0; has_queries && h < end_head; buffer = 1 - buffer) {
    const HeadRules<bf16> rules(a, b, h);
    wait_for_copies<0>();
    __syncthreads();  // the tile is there, and the one before is no longer read
    const bool has_next = next_head < end_head;
    if (has_next) fill(1 - buffer);
    commit_copies();
#pragma unroll 1
    for (int n = 0; n < N; n += C) {
      const int own = first + 16 * place.warp, column = n + place.column;
      if (i0 + n + C <= rules.first_query(own)) continue;  // none of these queries sees any of the warp's keys
      uint32_t kept = ~0u;
      if (kind == MatrixRules::dropout || (is_ruled && a.dropout))
        kept = matrix_kept<true, C>(a, round_keys, rules, first + place.row, i0 + column);
      float p[C / 8][4], ds[C / 8][4];
      const float* const tops = shared.tops[buffer] + column;
      const float* const minus_deltas = shared.minus_deltas[buffer] + 2 * column;
      matrix_clear(p);
      matrix_product(shared.own[0], shared.first[buffer].row(n), p);
#pragma unroll
      for (int x = 0; x < C / 8; ++x) {
        const float4 four = is_plain ? *reinterpret_cast<const float4*>(minus_deltas + 16 * x) : float4{0, 0, 0, 0};
        ds[x][0] = four.x, ds[x][1] = four.y, ds[x][2] = four.z, ds[x][3] = four.w;
      }
      matrix_product(shared.own[1], shared.second[buffer].row(n), ds);
      if (is_ruled) matrix_apply<true, true>(rules, a.score_scale(), p, first + place.row, i0 + column);
      else if (own + 15 >= rules.visible(i0 + n))
        matrix_apply<true, false>(rules, 1, p, first + place.row, i0 + column);
#pragma unroll
      for (int x = 0; x < C / 8; ++x) {
        const float2 top = *reinterpret_cast<const float2*>(tops + 8 * x);
        const float2 minus_delta = *reinterpret_cast<const float2*>(minus_deltas + 16 * x);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const bool is_kept = is_plain || (kept >> (4 * x + e) & 1);
          p[x][e] = fast_exp2(unit * p[x][e] - (e % 2 == 0 ? top.x : top.y));
          if (!is_plain) ds[x][e] = (is_kept ? ds[x][e] : 0) * a.kept + (e % 2 == 0 ? minus_delta.x : minus_delta.y);
          ds[x][e] *= p[x][e];
          if (!is_kept) p[x][e] = 0;
        }
      }
      matrix_accumulate<W>(p, shared.second[buffer].row(n), dv);
      matrix_accumulate<W>(ds, shared.first[buffer].row(n), dk);
    }
    if (has_next) keep(1 - buffer);
    i0 += N;
    if (i0 >= queries) i0 = begin, ++h;
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int j = first + place.row + 8 * half;
    if (j >= a.k.tokens) continue;
    matrix_write<W>(dk, half, a.scale, g.dk.row(b, j, kv_head), g.dk.width);
    matrix_write<W>(dv, half, is_plain ? 1 : a.kept, g.dv.row(b, j, kv_head), g.dv.width);
  }
}

}  // namespace

void attention_tensor_core_grad(AttentionGradCall& c) {
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
                  {static_cast<unsigned>(query_tiles * p.heads * p.batch), matrix_threads, sizeof(GradTiles<W>)}, a, g,
                  round_keys, static_cast<int>(query_tiles));
    launch_kernel("attention_tensor_core_dkv", matrix_key_grad<W, decltype(rules)::value>,
                  {static_cast<unsigned>(key_tiles * p.kv_heads * p.batch), matrix_threads, sizeof(GradTiles<W>)}, a, g,
                  round_keys, static_cast<int>(key_tiles));
  });
  run.add_slope_parts();
}

}  // namespace headroom::engine::cuda
