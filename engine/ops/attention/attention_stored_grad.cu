#include "engine/ops/attention/attention_block.cuh"
#include "engine/ops/attention/attention_cuda.h"

// The gradient of f32 heads as five products: scores and dp make p and ds, which are kept in memory for as many heads
// as the workspace holds, and of which dv, dk and dq are made. The kernels that hold no such matrix take seven.
namespace headroom::engine::cuda {
namespace {

constexpr int score_columns = 64;

/// p and ds of some key-value heads with the query heads that share them: (heads, queries, line) each. Squares of 128
/// × 128 in which no query sees a key are neither written nor read; what else is hidden is 0.
struct StoredMatrices {
  float *p, *ds;
  int line;        ///< keys, rounded up to score_columns
  int first_head;  ///< of all sequences' key-value heads, that of blockIdx.z = 0
  int kv_heads;
};

/// A block's head: sequence b, key-value head, and where the matrices of its query head n begin.
struct StoredHead {
  int b, kv_head;
  int64_t first_matrix;
  __device__ StoredHead(const AttentionArguments<float>& a, const StoredMatrices& m)
      : b((m.first_head + static_cast<int>(blockIdx.z)) / m.kv_heads),
        kv_head((m.first_head + static_cast<int>(blockIdx.z)) % m.kv_heads),
        first_matrix(int64_t{blockIdx.z} * a.group) {}
  __device__ int64_t matrix(const AttentionArguments<float>& a, const StoredMatrices& m, int n) const {
    return (first_matrix + n) * a.q.tokens * m.line;
  }
};

__device__ inline int square_of(int token) { return token / block_rows * block_rows; }

/// Keys [from, to), in whole squares, that the queries of the square from i0 on may see.
struct SeenKeys {
  int from, to;
  __device__ SeenKeys(const WindowedRules<float>& rules, int i0)
      : from(square_of(rules.first_key(i0))),
        to(smaller(square_of(rules.visible(smaller(i0 + block_rows, rules.queries) - 1) + block_rows - 1),
                   rules.keys)) {}
};

/// Queries [from, to), in whole squares, that may see keys of the square from j0 on: the same squares.
struct SeeingQueries {
  int from, to;
  __device__ SeeingQueries(const WindowedRules<float>& rules, int j0)
      : from(square_of(rules.first_query(j0))),
        to(smaller(square_of(larger(rules.last_query(j0 + block_rows - 1), 0) + block_rows - 1), rules.queries)) {}
};

/// 128 × 64 of p and ds of a head: blockIdx.y is the query head of the group.
template <bool drops>
__global__ void __launch_bounds__(block_threads, 2)
    stored_scores(AttentionArguments<float> a, AttentionGradArguments<float> g, StoredMatrices m) {
  using Memory = BlockMemory<score_columns>;
  Memory& memory = *dynamic_shared<Memory>();
  const BlockPlace place;
  const StoredHead head(a, m);
  const int tiles = m.line / score_columns, tile = static_cast<int>(blockIdx.x);
  const int i0 = tile / tiles * block_rows, j0 = tile % tiles * score_columns;
  const int b = head.b, kv_head = head.kv_head, h = kv_head * a.group + static_cast<int>(blockIdx.y);
  const WindowedRules<float> rules(a, b, h);
  const SeenKeys seen(rules, i0);
  if (j0 < seen.from || square_of(j0) >= seen.to) return;
  BlockSum<score_columns> s, dp;
  s.clear(), dp.clear();
  s.template add<true, true>(a.q.rows(b, i0, h, block_rows), 0, a.k.rows(b, j0, kv_head, score_columns), 0, 0,
                             a.q.width, memory);
  dp.template add<true, true>(g.dy.rows(b, i0, h, block_rows), 0, a.v.rows(b, j0, kv_head, score_columns), 0, 0,
                              a.v.width, memory);
  const float to_score = a.score_scale();
  const int64_t matrix = head.matrix(a, m, static_cast<int>(blockIdx.y));
  const BlockRules<drops, score_columns> seen_scores(a, rules, i0, j0);
#pragma unroll
  for (int n = 0; n < 2; ++n)
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int i = i0 + place.row(n) + r;
      if (i >= rules.queries) continue;
      const float top = g.top(rules.row + i), delta = g.delta[rules.row + i];
#pragma unroll
      for (int c = 0; c < score_columns / 32; ++c) {
        const int j = j0 + place.column(c);
        Quad<float> p, ds;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float x = seen_scores.sees(n, r, c, e) ? std::exp2(to_score * s.value[n][c][r][e] - top) : 0.0f;
          const float factor = !drops ? 1.0f : seen_scores.keeps(n, r, c, e) ? a.kept : 0.0f;
          ds.value[e] = x * (factor * dp.value[n][c][r][e] - delta);
          p.value[e] = factor * x;
        }
        const int64_t at = matrix + int64_t{i} * m.line + j;
        *reinterpret_cast<Quad<float>*>(m.p + at) = p;
        *reinterpret_cast<Quad<float>*>(m.ds + at) = ds;
      }
    }
}

/// 128 rows and N columns, from blockIdx.y · N on, of dv, of dk, or of dq of one of the group's heads.
template <int N>
__global__ void __launch_bounds__(block_threads, 3)
    stored_products(AttentionArguments<float> a, AttentionGradArguments<float> g, StoredMatrices m, int query_tiles,
                    int key_tiles) {
  BlockMemory<N>& memory = *dynamic_shared<BlockMemory<N>>();
  const StoredHead head(a, m);
  const int b = head.b, kv_head = head.kv_head, tile = static_cast<int>(blockIdx.x);
  const int first_column = static_cast<int>(blockIdx.y) * N, queries = a.q.tokens, keys = a.k.tokens;
  BlockSum<N> sum;
  sum.clear();
  if (tile < 2 * key_tiles) {
    const bool is_dv = tile < key_tiles;
    const Heads<float>& y = is_dv ? g.dv : g.dk;
    if (first_column >= y.width) return;
    const int j0 = (is_dv ? tile : tile - key_tiles) * block_rows;
    for (int n = 0; n < a.group; ++n) {
      const int h = kv_head * a.group + n;
      const SeeingQueries seeing(WindowedRules<float>(a, b, h), j0);
      const float* const weights = (is_dv ? m.p : m.ds) + head.matrix(a, m, n);
      sum.template add<false, false>({weights, m.line, queries, m.line, true}, j0,
                                     (is_dv ? g.dy : a.q).rows(b, 0, h, queries), first_column, seeing.from, seeing.to,
                                     memory);
    }
    const auto row_of = [&](int j) { return y.row(b, j, kv_head); };
    return sum.write(row_of, j0, keys, first_column, y.width, is_dv ? 1.0f : a.scale);
  }
  if (first_column >= g.dq.width) return;
  const int n = (tile - 2 * key_tiles) / query_tiles, h = kv_head * a.group + n;
  // The last queries, which see the most keys when attention is causal, come first.
  const int i0 = (query_tiles - 1 - (tile - 2 * key_tiles) % query_tiles) * block_rows;
  const SeenKeys seen(WindowedRules<float>(a, b, h), i0);
  sum.template add<true, false>({m.ds + head.matrix(a, m, n), m.line, queries, m.line, true}, i0,
                                a.k.rows(b, 0, kv_head, keys), first_column, seen.from, seen.to, memory);
  sum.write([&](int i) { return g.dq.row(b, i, h); }, i0, queries, first_column, g.dq.width, a.scale);
}

template <int N>
void add_products(const AttentionProblem& p, const AttentionArguments<float>& a, const AttentionGradArguments<float>& g,
                  const StoredMatrices& m, int64_t heads) {
  const int64_t query_tiles = (p.queries + block_rows - 1) / block_rows,
                key_tiles = (p.keys + block_rows - 1) / block_rows;
  launch_kernel("attention_stored_products", stored_products<N>,
                {{2 * key_tiles + p.group() * query_tiles, (std::max(p.qk_dim, p.v_dim) + N - 1) / N, heads},
                 block_threads,
                 sizeof(BlockMemory<N>)},
                a, g, m, static_cast<int>(query_tiles), static_cast<int>(key_tiles));
}

}  // namespace

void attention_stored_grad(AttentionGradCall& c) {
  const AttentionProblem& p = c.problem;
  for (Tensor* x : {&c.dy, &c.q, &c.k, &c.v}) *x = with_packed_rows(*x);
  for (Tensor* x : {&c.dq, &c.dk, &c.dv})
    if (!has_packed_rows(*x)) *x = Tensor::empty(x->shape(), x->dtype(), x->device());
  AttentionGradRun<float> grad(c);
  const AttentionArguments<float> a = grad.arguments();
  const AttentionGradArguments<float> g = grad.grad(1);
  const StoredShare share = stored_share(p);
  const int64_t heads = p.batch * p.kv_heads;
  const Tensor matrices = Tensor::empty({2, share.heads * p.group(), p.queries, share.line}, DType::f32, c.q.device());
  StoredMatrices m{matrices.mutable_data<float>(), nullptr, static_cast<int>(share.line), 0,
                   static_cast<int>(p.kv_heads)};
  m.ds = m.p + matrices.numel() / 2;
  const int64_t score_tiles = (p.queries + block_rows - 1) / block_rows * (share.line / score_columns);
  for (int64_t first = 0; first < heads; first += share.heads) {
    const int64_t present = std::min(share.heads, heads - first);
    m.first_head = static_cast<int>(first);
    launch_kernel("attention_stored_scores", a.dropout ? stored_scores<true> : stored_scores<false>,
                  {{score_tiles, p.group(), present}, block_threads, sizeof(BlockMemory<score_columns>)}, a, g, m);
    if (std::max(p.qk_dim, p.v_dim) <= 32) add_products<32>(p, a, g, m, present);
    else add_products<64>(p, a, g, m, present);
  }
}

}  // namespace headroom::engine::cuda
