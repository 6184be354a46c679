#include "engine/ops/attention/attention_narrow.cuh"

#include "engine/ops/attention/attention_cuda.h"

namespace headroom::engine::cuda {
namespace {

/// One query's running softmax and sum of values.
template <int W>
struct NarrowQuery {
  float q[W], sum[W], top = least_top<float>, total = 0;
  int i, visible;

  /// Turns a chunk of scores into probabilities relative to the largest score so far.
  template <int count>
  __device__ void exponentials(float (&s)[count]) {
    float largest = top;
#pragma unroll
    for (int n = 0; n < count; ++n) largest = fmaxf(largest, s[n]);
    if (largest > top) {
      const float factor = fast_exp2(top - largest);
      total *= factor;
#pragma unroll
      for (int c = 0; c < W; ++c) sum[c] *= factor;
      top = largest;
    }
#pragma unroll
    for (int n = 0; n < count; ++n) {
      s[n] = fast_exp2(s[n] - top);
      total += s[n];
    }
  }
};

template <int W, int R, bool plain>
__global__ void __launch_bounds__(narrow_threads, narrow_blocks)
    narrow_forward(AttentionArguments<float> a, Heads<float> y, float* lse, int tiles) {
  constexpr int chunk = narrow_chunk<W, R>;
  __shared__ NarrowTile<W> keys, values;
  __shared__ NarrowMask mask;
  const HeadTile at(static_cast<int>(blockIdx.x), tiles, a.heads);
  const int b = at.sequence, h = at.head, kv_head = h / a.group, first = at.tile * R * narrow_threads;
  const HeadRules<float> rules(a, b, h);
  NarrowQuery<W> query[R];
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const int i = query[r].i = first + r * narrow_threads + static_cast<int>(threadIdx.x);
    query[r].visible = i < rules.queries ? rules.visible(i) : 0;
    load_row(a.q.rows(b, first, h, R * narrow_threads), i - first, a.score_scale(), query[r].q);
#pragma unroll
    for (int c = 0; c < W; ++c) query[r].sum[c] = 0;
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
    for (int r = 0; r < R; ++r) count = larger(count, smaller(narrow_tile, query[r].visible - j0));
#pragma unroll 1
    for (int n0 = 0; n0 < count; n0 += chunk) {
#pragma unroll
      for (int r = 0; r < R; ++r) {
        NarrowQuery<W>& x = query[r];
        float s[chunk];
        keys.dots(x.q, n0, s);
        if (!plain) add_distances(s, rules.slope, x.i + rules.offset - j0 - n0, -1);
        hide(s, low_bits(x.visible - j0 - n0) & (plain ? ~0u : mask.bits(n0)));
        x.exponentials(s);
        if (!plain && a.dropout) {
          const uint32_t kept = DropoutRow(a, rules.row + x.i).kept(j0 + n0, chunk);
#pragma unroll
          for (int n = 0; n < chunk; ++n) s[n] = kept >> n & 1 ? s[n] : 0;
        }
        values.add_to(x.sum, n0, s);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const NarrowQuery<W>& x = query[r];
    if (x.i >= rules.queries) continue;
    store_row(y.row(b, x.i, h), y.width, x.total == 0 ? 0 : a.kept / x.total, x.sum);
    lse[rules.row + x.i] = x.top * ln_2<float> + logf(x.total);
  }
}

}  // namespace

void attention_narrow(AttentionCall& c) {
  lay_out(c);
  const AttentionProblem& p = c.problem;
  const AttentionArguments<float> a(p, c.q, c.k, c.v, c.slopes);
  with_narrow_kernel(
      std::max(p.qk_dim, p.v_dim), p.batch * p.heads * p.queries, a.is_plain(), [&](auto width, auto rows, auto plain) {
        constexpr int R = decltype(rows)::value;
        const int64_t tiles = (p.queries + R * narrow_threads - 1) / (R * narrow_threads);
        launch_kernel("attention_narrow", narrow_forward<decltype(width)::value, R, decltype(plain)::value>,
                      {tiles * p.heads * p.batch, narrow_threads}, a, mutable_heads_of<float>(c.out.y),
                      c.out.lse.mutable_data<float>(), static_cast<int>(tiles));
      });
}

}  // namespace headroom::engine::cuda
