#include "engine/ops/attention/attention_cuda.h"
#include "engine/ops/attention/attention_narrow.cuh"

namespace headroom::engine::cuda {
namespace {

/// dq, and each tile's part of dslopes: a thread keeps R queries and walks over the keys.
template <int W, int R, bool plain>
__global__ void __launch_bounds__(narrow_threads, narrow_grad_blocks)
    narrow_query_grad(AttentionArguments<float> a, AttentionGradArguments<float> g, int tiles) {
  constexpr int chunk = narrow_chunk<W, R>;
  __shared__ NarrowTile<W> keys, values;
  __shared__ NarrowMask mask;
  __shared__ float scratch[narrow_threads / warp_size];
  const HeadTile at(static_cast<int>(blockIdx.x), tiles, a.heads);
  const int b = at.sequence, h = at.head, kv_head = h / a.group, first = at.tile * R * narrow_threads;
  const HeadRules<float> rules(a, b, h);
  float q[R][W], dy[R][W], dq[R][W], top[R], delta[R], dslope = 0;
  int visible[R];
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const int local = r * narrow_threads + static_cast<int>(threadIdx.x), i = first + local;
    const bool is_there = i < rules.queries;
    visible[r] = is_there ? rules.visible(i) : 0;
    top[r] = is_there ? g.top(rules.row + i) : infinity<float>;
    delta[r] = is_there ? g.delta[rules.row + i] : 0;
    load_row(a.q.rows(b, first, h, R * narrow_threads), local, a.score_scale(), q[r]);
    load_row(g.dy.rows(b, first, h, R * narrow_threads), local, 1, dy[r]);
#pragma unroll
    for (int c = 0; c < W; ++c) dq[r][c] = 0;
  }
  const int end = rules.visible(smaller(first + R * narrow_threads, rules.queries) - 1);
  for (int j0 = 0; j0 < end; j0 += narrow_tile) {
    __syncthreads();
    keys.fill(a.k.rows(b, j0, kv_head, narrow_tile), 1);
    values.fill(a.v.rows(b, j0, kv_head, narrow_tile), 1);
    if (!plain) mask.fill(rules, j0);
    __syncthreads();
    int count = 0;
#pragma unroll
    for (int r = 0; r < R; ++r) count = larger(count, smaller(narrow_tile, visible[r] - j0));
#pragma unroll 1
    for (int n0 = 0; n0 < count; n0 += chunk) {
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const int i = first + r * narrow_threads + static_cast<int>(threadIdx.x);
        float s[chunk], ds[chunk];
        keys.dots(q[r], n0, s);
        values.dots(dy[r], n0, ds);
        if (!plain) add_distances(s, rules.slope, i + rules.offset - j0 - n0, -1);
        hide(s, low_bits(visible[r] - j0 - n0) & (plain ? ~0u : mask.bits(n0)));
        const uint32_t kept = !plain && a.dropout ? DropoutRow(a, rules.row + i).kept(j0 + n0, chunk) : 0;
#pragma unroll
        for (int n = 0; n < chunk; ++n) {
          const float factor = plain || !a.dropout ? 1 : (kept >> n & 1 ? a.kept : 0);
          ds[n] = fast_exp2(s[n] - top[r]) * (factor * ds[n] - delta[r]);
          if (!plain) dslope -= ds[n] * rules.distance(i, j0 + n0 + n);
        }
        keys.add_to(dq[r], n0, ds);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const int i = first + r * narrow_threads + static_cast<int>(threadIdx.x);
    if (i < rules.queries) store_row(g.dq.row(b, i, h), g.dq.width, a.scale, dq[r]);
  }
  if (plain || !g.dslope_parts) return;
  dslope = block_reduce(dslope, scratch, Add{});
  if (threadIdx.x == 0) g.dslope_parts[(int64_t{b} * a.heads + h) * tiles + at.tile] = dslope;
}

/// dk and dv: a thread keeps R keys and walks over the queries of every head that shares them.
template <int W, int R, bool plain>
__global__ void __launch_bounds__(narrow_threads, narrow_grad_blocks)
    narrow_key_grad(AttentionArguments<float> a, AttentionGradArguments<float> g, int tiles) {
  constexpr int chunk = narrow_chunk<W, R>;
  __shared__ NarrowTile<W> queries, cotangents;
  __shared__ float tops[narrow_tile], deltas[narrow_tile];
  const HeadTile at(static_cast<int>(blockIdx.x), tiles, a.heads / a.group);
  const int b = at.sequence, kv_head = at.head, first = at.tile * R * narrow_threads;
  float k[R][W], v[R][W], dk[R][W], dv[R][W];
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const int local = r * narrow_threads + static_cast<int>(threadIdx.x);
    load_row(a.k.rows(b, first, kv_head, R * narrow_threads), local, 1, k[r]);
    load_row(a.v.rows(b, first, kv_head, R * narrow_threads), local, 1, v[r]);
#pragma unroll
    for (int c = 0; c < W; ++c) dk[r][c] = dv[r][c] = 0;
  }
  for (int h = kv_head * a.group; h < (kv_head + 1) * a.group; ++h) {
    const HeadRules<float> rules(a, b, h);
    for (int i0 = rules.first_query(first) / narrow_tile * narrow_tile; i0 < rules.queries; i0 += narrow_tile) {
      __syncthreads();
      queries.fill(a.q.rows(b, i0, h, narrow_tile), a.score_scale());
      cotangents.fill(g.dy.rows(b, i0, h, narrow_tile), 1);
      const int own = i0 + static_cast<int>(threadIdx.x);
      tops[threadIdx.x] = own < rules.queries ? g.top(rules.row + own) : infinity<float>;
      deltas[threadIdx.x] = own < rules.queries ? g.delta[rules.row + own] : 0;
      __syncthreads();
      const int count = smaller(narrow_tile, rules.queries - i0);
#pragma unroll 1
      for (int n0 = 0; n0 < count; n0 += chunk) {
#pragma unroll
        for (int r = 0; r < R; ++r) {
          const int j = first + r * narrow_threads + static_cast<int>(threadIdx.x);
          const uint32_t kept = !plain && a.dropout ? kept_column(a, rules.row + i0 + n0, j, chunk) : 0;
          if (j >= rules.keys || i0 + n0 + chunk <= rules.first_query(j)) continue;
          if (!plain && rules.mask && !rules.mask[j]) continue;
          float p[chunk], ds[chunk];
          queries.dots(k[r], n0, p);
          cotangents.dots(v[r], n0, ds);
          if (!plain) add_distances(p, rules.slope, i0 + n0 + rules.offset - j, 1);
          hide(p, ~low_bits(rules.first_query(j) - i0 - n0));
#pragma unroll
          for (int n = 0; n < chunk; ++n) {
            const float factor = plain || !a.dropout ? 1 : (kept >> n & 1 ? a.kept : 0);
            p[n] = fast_exp2(p[n] - tops[n0 + n]);
            ds[n] = p[n] * (factor * ds[n] - deltas[n0 + n]);
            p[n] *= factor;
          }
          cotangents.add_to(dv[r], n0, p);
          queries.add_to(dk[r], n0, ds);
        }
      }
    }
  }
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const int j = first + r * narrow_threads + static_cast<int>(threadIdx.x);
    if (j >= a.k.tokens) continue;
    store_row(g.dk.row(b, j, kv_head), g.dk.width, ln_2<float>, dk[r]);  // the queries carry scale · log2 e
    store_row(g.dv.row(b, j, kv_head), g.dv.width, 1, dv[r]);
  }
}

}  // namespace

void attention_narrow_grad(AttentionGradCall& c) {
  const AttentionProblem& p = c.problem;
  AttentionGradRun<float> run(c);
  const AttentionArguments<float> a = run.arguments();
  const int64_t width = std::max(p.qk_dim, p.v_dim), query_heads = p.batch * p.heads, key_heads = p.batch * p.kv_heads;
  with_narrow_kernel(width, query_heads * p.queries, a.is_plain(), [&](auto w, auto rows, auto plain) {
    constexpr int R = decltype(rows)::value;
    const int64_t tiles = (p.queries + R * narrow_threads - 1) / (R * narrow_threads);
    launch_kernel("attention_narrow_dq", narrow_query_grad<decltype(w)::value, R, decltype(plain)::value>,
                  {tiles * query_heads, narrow_threads}, a, run.grad(tiles), static_cast<int>(tiles));
    run.add_slope_parts();
  });
  with_narrow_kernel(width, key_heads * p.keys, a.is_plain(), [&](auto w, auto rows, auto plain) {
    constexpr int R = decltype(rows)::value;
    const int64_t tiles = (p.keys + R * narrow_threads - 1) / (R * narrow_threads);
    launch_kernel("attention_narrow_dkv", narrow_key_grad<decltype(w)::value, R, decltype(plain)::value>,
                  {tiles * key_heads, narrow_threads}, a, run.grad(tiles), static_cast<int>(tiles));
  });
}

}  // namespace headroom::engine::cuda
