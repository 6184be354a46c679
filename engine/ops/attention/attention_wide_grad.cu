#include "engine/ops/attention/attention_cuda.h"
#include "engine/ops/attention/attention_wide.cuh"

namespace headroom::engine::cuda {
namespace {

/// p and ds of 4 × 4 scores of a thread. `is_key_row`: rows are keys and columns queries, else the other way round.
/// Enters with s = q·k unscaled and dp = dy·v; leaves m_ij p_ij in s and ds_ij in dp. Returns the thread's part of
/// dslope.
template <bool is_key_row, class T, class C>
__device__ inline C wide_probabilities(const AttentionArguments<T>& a, const AttentionGradArguments<T>& g,
                                       const WindowedRules<T>& rules, int first_row, int first_column, C (&s)[4][4],
                                       C (&dp)[4][4]) {
  const C to_score = a.score_scale();
  C dslope = 0;
#pragma unroll
  for (int outer = 0; outer < 4; ++outer) {
    // A query's lse, delta and random bits once for its four keys.
    const int i = (is_key_row ? first_column : first_row) + outer;
    const bool is_there = i < rules.queries;
    const C top = is_there ? g.top(rules.row + i) : infinity<C>, delta = is_there ? g.delta[rules.row + i] : C(0);
    DropoutRow dropout(a, rules.row + i);
#pragma unroll
    for (int inner = 0; inner < 4; ++inner) {
      const int j = (is_key_row ? first_row : first_column) + inner;
      C &x = is_key_row ? s[inner][outer] : s[outer][inner], &dx = is_key_row ? dp[inner][outer] : dp[outer][inner];
      C kept = 1;
      if (a.dropout) kept = is_there && j < rules.keys && !dropout.dropped(j) ? a.kept : C(0);
      const C p = std::exp2(rules.score(to_score * x, i, j) - top);
      dx = p * (kept * dx - delta);
      x = kept * p;
      if (g.dslope_parts) dslope -= dx * rules.distance(i, j);
    }
  }
  return dslope;
}

/// `columns` of dq of 64 queries, from blockIdx.y · columns on, and the tile's part of dslopes.
template <class T, int columns>
__global__ void wide_query_grad(AttentionArguments<T> a, AttentionGradArguments<T> g, int tiles) {
  using C = Compute<T>;
  WideMemory<C>& memory = *dynamic_shared<WideMemory<C>>();
  const WidePlace place;
  const HeadTile at(static_cast<int>(blockIdx.x), tiles, a.heads);
  const int b = at.sequence, h = at.head, kv_head = h / a.group, first = at.tile * wide_tile;
  const int first_column = static_cast<int>(blockIdx.y) * columns;
  const WindowedRules<T> rules(a, b, h);
  WideSum<C, columns> dq;
  dq.clear();
  C dslope = 0;
  const int end = rules.visible(smaller(first + wide_tile, rules.queries) - 1);
  for (int j0 = rules.first_key(first) / wide_tile * wide_tile; j0 < end; j0 += wide_tile) {
    C s[4][4], ds[4][4];
    const Rows<T> keys = a.k.rows(b, j0, kv_head, wide_tile);
    wide_product(a.q.rows(b, first, h, wide_tile), keys, memory, s);
    wide_product(g.dy.rows(b, first, h, wide_tile), a.v.rows(b, j0, kv_head, wide_tile), memory, ds);
    dslope += wide_probabilities<false>(a, g, rules, first + 4 * place.ty, j0 + 4 * place.tx, s, ds);
    wide_store(memory, ds);
    dq.accumulate(keys, first_column, memory);
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int i = first + 4 * place.ty + r;
    if (i < rules.queries) dq.write(r, g.dq.row(b, i, h), first_column, g.dq.width, a.scale);
  }
  if (!g.dslope_parts || first_column > 0) return;
  dslope = block_reduce(dslope, reinterpret_cast<C*>(&memory.weights), Add{});
  if (threadIdx.x == 0) g.dslope_parts[(int64_t{b} * a.heads + h) * tiles + at.tile] = dslope;
}

/// `columns` of dk and of dv of 64 keys, summed over the queries of every head that shares them.
template <class T, int columns>
__global__ void wide_key_grad(AttentionArguments<T> a, AttentionGradArguments<T> g, int tiles) {
  using C = Compute<T>;
  WideMemory<C>& memory = *dynamic_shared<WideMemory<C>>();
  const WidePlace place;
  const HeadTile at(static_cast<int>(blockIdx.x), tiles, a.heads / a.group);
  const int b = at.sequence, kv_head = at.head, first = at.tile * wide_tile;
  const int first_column = static_cast<int>(blockIdx.y) * columns;
  WideSum<C, columns> dk, dv;
  dk.clear(), dv.clear();
  const Rows<T> keys = a.k.rows(b, first, kv_head, wide_tile), values = a.v.rows(b, first, kv_head, wide_tile);
  for (int h = kv_head * a.group; h < (kv_head + 1) * a.group; ++h) {
    const WindowedRules<T> rules(a, b, h);
    const int end = rules.last_query(smaller(first + wide_tile, rules.keys) - 1);
    for (int i0 = rules.first_query(first) / wide_tile * wide_tile; i0 < end; i0 += wide_tile) {
      C p[4][4], ds[4][4];
      const Rows<T> queries = a.q.rows(b, i0, h, wide_tile), cotangents = g.dy.rows(b, i0, h, wide_tile);
      wide_product(keys, queries, memory, p);
      wide_product(values, cotangents, memory, ds);
      wide_probabilities<true>(a, g, rules, first + 4 * place.ty, i0 + 4 * place.tx, p, ds);
      wide_store(memory, p);
      dv.accumulate(cotangents, first_column, memory);
      __syncthreads();  // others may still read p
      wide_store(memory, ds);
      dk.accumulate(queries, first_column, memory);
    }
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int j = first + 4 * place.ty + r;
    if (j >= a.k.tokens) continue;
    dk.write(r, g.dk.row(b, j, kv_head), first_column, g.dk.width, a.scale);
    dv.write(r, g.dv.row(b, j, kv_head), first_column, g.dv.width, C(1));
  }
}

template <class T>
void run(AttentionGradCall& c) {
  const AttentionProblem& p = c.problem;
  AttentionGradRun<T> grad(c);
  const int64_t query_tiles = (p.queries + wide_tile - 1) / wide_tile, key_tiles = (p.keys + wide_tile - 1) / wide_tile;
  constexpr size_t memory = sizeof(WideMemory<Compute<T>>);
  with_wide_columns<T>(p.qk_dim, [&](auto columns) {
    constexpr int C = decltype(columns)::value;
    launch_kernel("attention_wide_dq", wide_query_grad<T, C>,
                  {{query_tiles * p.heads * p.batch, (p.qk_dim + C - 1) / C}, wide_threads, memory}, grad.arguments(),
                  grad.grad(query_tiles), static_cast<int>(query_tiles));
  });
  grad.add_slope_parts();
  const int64_t width = std::max(p.qk_dim, p.v_dim);
  with_wide_columns<T>(width, [&](auto columns) {
    constexpr int C = decltype(columns)::value;
    launch_kernel("attention_wide_dkv", wide_key_grad<T, C>,
                  {{key_tiles * p.kv_heads * p.batch, (width + C - 1) / C}, wide_threads, memory}, grad.arguments(),
                  grad.grad(query_tiles), static_cast<int>(key_tiles));
  });
}

}  // namespace

void attention_wide_grad(AttentionGradCall& c) {
  with_real(c.q.dtype(), [&](auto zero) { run<decltype(zero)>(c); });
}

}  // namespace headroom::engine::cuda
