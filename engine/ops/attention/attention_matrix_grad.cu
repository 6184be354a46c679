#include "engine/ops/attention/attention_cuda.h"
#include "engine/ops/attention/attention_matrix.cuh"

namespace headroom::engine::cuda {
namespace {

/// Two operands of the block's own rows, and two of the other side's: the tile that is computed, and the next.
template <int W>
struct GradTiles {
  MatrixTile<W, matrix_rows> own[2];
  MatrixTile<W, matrix_columns<W>> first[2], second[2];
  float tops[2][matrix_columns<W>], deltas[2][matrix_columns<W>];  ///< of queries, where they are the other side
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
template <int W, bool plain>
__global__ void matrix_query_grad(AttentionArguments<bf16> a, AttentionGradArguments<bf16> g, int tiles) {
  constexpr int N = matrix_columns<W>;
  GradTiles<W>& shared = *dynamic_shared<GradTiles<W>>();
  const MatrixPlace place;
  const HeadTile at(static_cast<int>(blockIdx.x), tiles, a.heads);
  const int b = at.sequence, h = at.head, kv_head = h / a.group, first = at.tile * matrix_rows;
  const HeadRules<bf16> rules(a, b, h);
  const float to_score = a.score_scale();
  float dq[W / 8][4], top[2], delta[2];
  SlopeSums slope_sums[2];
  matrix_clear<W>(dq);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int i = first + place.row + 8 * half;
    top[half] = i < rules.queries ? g.top(rules.row + i) : infinity<float>;
    delta[half] = i < rules.queries ? g.delta[rules.row + i] : 0;
  }
  const int end = rules.visible(smaller(first + matrix_rows, rules.queries) - 1);
  const auto fill = [&](int j0, int buffer) {
    shared.first[buffer].fill(a.k.rows(b, j0, kv_head, N));
    shared.second[buffer].fill(a.v.rows(b, j0, kv_head, N));
  };
  shared.own[0].fill(a.q.rows(b, first, h, matrix_rows));
  shared.own[1].fill(g.dy.rows(b, first, h, matrix_rows));
  if (end > 0) fill(0, 0);
  commit_copies();
  for (int j0 = 0; j0 < end; j0 += N) {
    const int buffer = j0 / N % 2;
    wait_for_copies<0>();
    __syncthreads();  // the tile is there, and the one before is no longer read
    if (j0 + N < end) fill(j0 + N, 1 - buffer);
    commit_copies();
    float s[N / 8][4], ds[N / 8][4];
    matrix_product(shared.own[0], shared.first[buffer], s);
    matrix_product(shared.own[1], shared.second[buffer], ds);
    uint32_t kept = ~0u;
    if (!plain && a.dropout) kept = matrix_kept<false, N>(a, rules, first + place.row, j0 + place.column);
    const bool hides = j0 + N > rules.visible(first + 16 * place.warp);
#pragma unroll
    for (int x = 0; x < N / 8; ++x)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int half = e / 2, i = first + place.row + 8 * half, j = j0 + 8 * x + place.column + e % 2;
        float score = to_score * s[x][e];
        if (!plain) score = rules.score(score, i, j);
        else if (hides && j >= rules.visible(i)) score = -infinity<float>;
        const float factor = plain ? 1 : (kept >> (4 * x + e) & 1 ? a.kept : 0);
        const float p = fast_exp2(score - top[half]);
        ds[x][e] = p * (factor * ds[x][e] - delta[half]);
        if (!plain && g.dslope_parts) slope_sums[half].add(p, ds[x][e], rules.distance(i, j));
      }
    matrix_accumulate(ds, shared.first[buffer], dq);
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int i = first + place.row + 8 * half;
    if (i < rules.queries) matrix_write<W>(dq, half, a.scale, g.dq.row(b, i, h), g.dq.width);
  }
  if (plain || !g.dslope_parts) return;
  const float dslope = block_reduce(slope_sums[0].dslope() + slope_sums[1].dslope(), shared.tops[0], Add{});
  if (threadIdx.x == 0) g.dslope_parts[(int64_t{b} * a.heads + h) * tiles + at.tile] = dslope;
}

/// dk and dv of 64 keys, summed over the queries of every head that shares them.
template <int W, bool plain>
__global__ void matrix_key_grad(AttentionArguments<bf16> a, AttentionGradArguments<bf16> g, int tiles) {
  constexpr int N = matrix_columns<W>;
  GradTiles<W>& shared = *dynamic_shared<GradTiles<W>>();
  const MatrixPlace place;
  const HeadTile at(static_cast<int>(blockIdx.x), tiles, a.heads / a.group);
  const int b = at.sequence, kv_head = at.head, first = at.tile * matrix_rows;
  const int first_head = kv_head * a.group, queries = a.q.tokens;
  const float to_score = a.score_scale();
  float dk[W / 8][4], dv[W / 8][4];
  matrix_clear<W>(dk), matrix_clear<W>(dv);
  // Steps go over the tiles of queries that see these keys, head after head.
  const int begin = HeadRules<bf16>(a, b, first_head).first_query(first) / N;
  const int each = larger((queries + N - 1) / N - begin, 0), steps = each * a.group;
  const auto fill = [&](int step, int buffer) {
    const int h = first_head + step / each, i0 = (begin + step % each) * N;
    shared.first[buffer].fill(a.q.rows(b, i0, h, N));
    shared.second[buffer].fill(g.dy.rows(b, i0, h, N));
    const int i = i0 + static_cast<int>(threadIdx.x);
    if (threadIdx.x >= N) return;
    const int64_t row = (int64_t{b} * a.heads + h) * queries + i;
    shared.tops[buffer][threadIdx.x] = i < queries ? g.top(row) : infinity<float>;
    shared.deltas[buffer][threadIdx.x] = i < queries ? g.delta[row] : 0;
  };
  shared.own[0].fill(a.k.rows(b, first, kv_head, matrix_rows));
  shared.own[1].fill(a.v.rows(b, first, kv_head, matrix_rows));
  if (steps > 0) fill(0, 0);
  commit_copies();
  for (int step = 0; step < steps; ++step) {
    const int buffer = step % 2, h = first_head + step / each, i0 = (begin + step % each) * N;
    const HeadRules<bf16> rules(a, b, h);
    wait_for_copies<0>();
    __syncthreads();  // the tile is there, and the one before is no longer read
    if (step + 1 < steps) fill(step + 1, 1 - buffer);
    commit_copies();
    float p[N / 8][4], ds[N / 8][4];
    matrix_product(shared.own[0], shared.first[buffer], p);
    matrix_product(shared.own[1], shared.second[buffer], ds);
    uint32_t kept = ~0u;
    if (!plain && a.dropout) kept = matrix_kept<true, N>(a, rules, first + place.row, i0 + place.column);
#pragma unroll
    for (int x = 0; x < N / 8; ++x)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int column = 8 * x + place.column + e % 2, i = i0 + column, j = first + place.row + 8 * (e / 2);
        float score = to_score * p[x][e];
        if (!plain) score = rules.score(score, i, j);
        else if (j >= rules.visible(i)) score = -infinity<float>;
        const float factor = plain ? 1 : (kept >> (4 * x + e) & 1 ? a.kept : 0);
        const float probability = fast_exp2(score - shared.tops[buffer][column]);
        ds[x][e] = probability * (factor * ds[x][e] - shared.deltas[buffer][column]);
        p[x][e] = factor * probability;
      }
    matrix_accumulate(p, shared.second[buffer], dv);
    matrix_accumulate(ds, shared.first[buffer], dk);
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int j = first + place.row + 8 * half;
    if (j >= a.k.tokens) continue;
    matrix_write<W>(dk, half, a.scale, g.dk.row(b, j, kv_head), g.dk.width);
    matrix_write<W>(dv, half, 1, g.dv.row(b, j, kv_head), g.dv.width);
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
  with_matrix_kernel(std::max(p.qk_dim, p.v_dim), a.is_plain(), [&](auto width, auto plain) {
    constexpr int W = decltype(width)::value;
    launch_kernel("attention_tensor_core_dq", matrix_query_grad<W, decltype(plain)::value>,
                  {static_cast<unsigned>(query_tiles * p.heads * p.batch), matrix_threads, sizeof(GradTiles<W>)}, a, g,
                  static_cast<int>(query_tiles));
    launch_kernel("attention_tensor_core_dkv", matrix_key_grad<W, decltype(plain)::value>,
                  {static_cast<unsigned>(key_tiles * p.kv_heads * p.batch), matrix_threads, sizeof(GradTiles<W>)}, a, g,
                  static_cast<int>(key_tiles));
  });
  run.add_slope_parts();
}

}  // namespace headroom::engine::cuda
