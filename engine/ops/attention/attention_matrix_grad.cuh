#pragma once
#include "engine/ops/attention/attention_matrix.cuh"

// What the gradient's kernels on tensor cores share: the tiles that they hold, and the step of those whose rows are
// keys.
namespace headroom::engine::cuda {

/// Two operands of 64 own rows, and two of N rows of the other side: the tile that is computed, and the next.
template <int W, int N>
struct GradTiles {
  MatrixTile<W, matrix_rows> own[2];
  MatrixTile<W, N> first[2], second[2];
};

/// Walks over a sequence's tiles of N queries, of each head from query `begin` on, and copies them with their dy.
template <int W, int N>
class QueryTiles {
 public:
  int head, query;  ///< where the next tile begins

  __device__ QueryTiles(const Heads<const bf16>& q, const Heads<const bf16>& dy, int b, int begin, int first_head,
                        int first_query)
      : head(first_head),
        query(first_query),
        q_(q),
        dy_(dy),
        b_(b),
        begin_(begin),
        q_rows_(rows(q)),
        dy_rows_(rows(dy)) {}
  __device__ void go_to(int h, int i) {
    head = h, query = i;
    q_rows_ = rows(q_), dy_rows_ = rows(dy_);
  }
  __device__ void skip() {
    if (query + N >= q_.tokens) return go_to(head + 1, begin_);
    q_rows_.skip(N), dy_rows_.skip(N);
    query += N;
  }
  /// Starts copying the next tile.
  __device__ void fill(GradTiles<W, N>& tiles, int buffer) const {
    tiles.first[buffer].fill(q_rows_), tiles.second[buffer].fill(dy_rows_);
  }

 private:
  __device__ MatrixRows<W> rows(const Heads<const bf16>& x) const {
    return MatrixRows<W>(x.rows(b_, query, head, x.tokens));
  }

  const Heads<const bf16>&q_, &dy_;
  int b_, begin_;
  MatrixRows<W> q_rows_, dy_rows_;
};

/// Sets -delta of query n of some: two consecutive ones share four places, first, second, and both again, as a
/// product's result starts with them.
__device__ inline void set_minus_delta(float* minus_deltas, int n, float delta) {
  float* const two = minus_deltas + n / 2 * 4 + n % 2;
  two[0] = two[2] = -delta;
}

/// ds of the warp's 16 keys, of those from `first` on, and of C queries: from n on in a tile that begins with query i0,
/// as do `tops` and, by set_minus_delta(), `minus_deltas`. Adds to dk and dv.
template <MatrixRules kind, int W, int N, int C>
__device__ inline void add_key_grads(const AttentionArguments<bf16>& a, const PhiloxKeys& round_keys,
                                     const HeadRules<bf16>& rules, const GradTiles<W, N>& tiles, int buffer,
                                     const float* tops, const float* minus_deltas, int first, int i0, int n,
                                     float (&ds)[C / 8][4], float (&dk)[W / 8][4], float (&dv)[W / 8][4]) {
  constexpr bool is_plain = kind == MatrixRules::causal, is_ruled = kind == MatrixRules::any;
  const MatrixPlace place;
  const int own = first + 16 * place.warp, column = n + place.column;
  const float unit = is_ruled ? 1 : a.score_scale();  // of the scores that are exponentiated
  uint32_t kept = ~0u;
  if (kind == MatrixRules::dropout || (is_ruled && a.dropout))
    kept = matrix_kept<true, C>(a, round_keys, rules, first + place.row, i0 + column);
  float p[C / 8][4];
  tops += column, minus_deltas += 2 * column;
  matrix_clear(p);
  matrix_product(tiles.own[0], tiles.first[buffer].row(n), p);
#pragma unroll
  for (int x = 0; x < C / 8; ++x) {
    const float4 four = is_plain ? *reinterpret_cast<const float4*>(minus_deltas + 16 * x) : float4{0, 0, 0, 0};
    ds[x][0] = four.x, ds[x][1] = four.y, ds[x][2] = four.z, ds[x][3] = four.w;
  }
  matrix_product(tiles.own[1], tiles.second[buffer].row(n), ds);
  if (is_ruled) matrix_apply<true, true>(rules, a.score_scale(), p, first + place.row, i0 + column);
  else if (own + 15 >= rules.visible(i0 + n)) matrix_apply<true, false>(rules, 1, p, first + place.row, i0 + column);
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
  matrix_accumulate<W>(p, tiles.second[buffer].row(n), dv);
  matrix_accumulate<W>(ds, tiles.first[buffer].row(n), dk);
}

/// Writes dk and dv of the 64 keys from `first` on, as far as they exist.
template <int W>
__device__ inline void write_key_grads(const AttentionArguments<bf16>& a, const AttentionGradArguments<bf16>& g, int b,
                                       int kv_head, int first, const float (&dk)[W / 8][4],
                                       const float (&dv)[W / 8][4]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int j = first + MatrixPlace().row + 8 * half;
    if (j >= a.k.tokens) continue;
    matrix_write<W>(dk, half, a.scale, g.dk.row(b, j, kv_head), g.dk.width);
    matrix_write<W>(dv, half, a.kept, g.dv.row(b, j, kv_head), g.dv.width);
  }
}

/// All gradients by one kernel: attention_joint_grad.cu. False if two should be faster, or if there is more than
/// causality and dropout to apply.
bool attention_joint_grad(AttentionGradCall& call);

}  // namespace headroom::engine::cuda
