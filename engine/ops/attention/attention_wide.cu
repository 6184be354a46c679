#include "engine/ops/attention/attention_wide.cuh"

#include "engine/ops/attention/attention_cuda.h"

namespace headroom::engine::cuda {
namespace {

/// 64 queries and `columns` of their values, from blockIdx.y · columns on.
template <class T, int columns>
__global__ void wide_forward(AttentionArguments<T> a, Heads<T> y, Compute<T>* lse, int tiles) {
  using C = Compute<T>;
  WideMemory<C>& memory = *dynamic_shared<WideMemory<C>>();
  const WidePlace place;
  const HeadTile at(static_cast<int>(blockIdx.x), tiles, a.heads);
  const int b = at.sequence, h = at.head, kv_head = h / a.group, first = at.tile * wide_tile;
  const int first_column = static_cast<int>(blockIdx.y) * columns;
  const WindowedRules<T> rules(a, b, h);
  const C to_score = a.score_scale();
  C top[4], total[4];
  WideSum<C, columns> sum;
  sum.clear();
#pragma unroll
  for (int r = 0; r < 4; ++r) top[r] = least_top<C>, total[r] = 0;
  const int end = rules.visible(smaller(first + wide_tile, rules.queries) - 1);
  for (int j0 = rules.first_key(first) / wide_tile * wide_tile; j0 < end; j0 += wide_tile) {
    C s[4][4];
    wide_product(a.q.rows(b, first, h, wide_tile), a.k.rows(b, j0, kv_head, wide_tile), memory, s);
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int i = first + 4 * place.ty + r;
      C largest = top[r], added = 0;
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        s[r][c] = rules.score(to_score * s[r][c], i, j0 + 4 * place.tx + c);
        largest = s[r][c] > largest ? s[r][c] : largest;
      }
      largest = wide_row_reduce(largest, Larger{});
      DropoutRow dropout(a, rules.row + i);
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int j = j0 + 4 * place.tx + c;
        s[r][c] = std::exp2(s[r][c] - largest);
        added += s[r][c];
        if (a.dropout && i < rules.queries && j < rules.keys && dropout.dropped(j)) s[r][c] = 0;
      }
      const C factor = std::exp2(top[r] - largest);
      total[r] = total[r] * factor + wide_row_reduce(added, Add{});
      sum.scale(r, factor);
      top[r] = largest;
    }
    wide_store(memory, s);
    sum.accumulate(a.v.rows(b, j0, kv_head, wide_tile), first_column, memory);
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int i = first + 4 * place.ty + r;
    if (i >= rules.queries) continue;
    sum.write(r, y.row(b, i, h), first_column, y.width, total[r] == 0 ? C(0) : a.kept / total[r]);
    if (place.tx == 0 && first_column == 0) lse[rules.row + i] = top[r] * ln_2<C> + std::log(total[r]);
  }
}

template <class T>
void run(AttentionCall& c) {
  const AttentionProblem& p = c.problem;
  const AttentionArguments<T> a(p, c.q, c.k, c.v, c.slopes);
  const int64_t tiles = (p.queries + wide_tile - 1) / wide_tile;
  with_wide_columns<T>(p.v_dim, [&](auto columns) {
    constexpr int C = decltype(columns)::value;
    launch_kernel("attention_wide", wide_forward<T, C>,
                  {{tiles * p.heads * p.batch, (p.v_dim + C - 1) / C}, wide_threads, sizeof(WideMemory<Compute<T>>)}, a,
                  mutable_heads_of<T>(c.out.y), c.out.lse.mutable_data<Compute<T>>(), static_cast<int>(tiles));
  });
}

}  // namespace

void attention_wide(AttentionCall& c) {
  lay_out(c);
  with_real(c.q.dtype(), [&](auto zero) { run<decltype(zero)>(c); });
}

}  // namespace headroom::engine::cuda
