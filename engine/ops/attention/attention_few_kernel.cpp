// Few queries against many keys. Keys and values are read where they lie, by all query heads of their group at once,
// and those of a packed cache are converted in registers; only heads narrower than a vector have a chunk of them
// copied, in memory that stays in the first cache.
#include "engine/ops/attention/attention_kernel.h"
#include "engine/ops/attention/attention_packed_rows.h"
#include "engine/ops/attention/attention_tiles.h"

namespace headroom::engine::HEADROOM_ISA {

static inline int64_t whole_vectors(int64_t n) { return round_up(n, lanes); }

/// Row r = g · queries + i is query i of head g. A part: sums of values (rows, y_width), largest scores (rows), sums of
/// exponentials (rows). The last vector of a row of values covers the head's last `lanes` columns, so it may overlap
/// the one before it: no element past the row is read.
struct FewLayout {
  int64_t rows, y_width, q_width;
  explicit FewLayout(const AttentionHead& head)
      : rows(head.group * head.queries), y_width(whole_vectors(head.v_dim)), q_width(whole_vectors(head.qk_dim)) {}
  int64_t part() const { return whole_vectors(rows * (y_width + 2)); }
};

int64_t attention_few_queries() { return lanes; }

int64_t attention_part(const AttentionHead& head) { return FewLayout(head).part(); }

struct ChunkScratch {
  float *q, *scores, *bias, *k, *v;
  ChunkScratch(const AttentionHead& head, const FewLayout& layout, Scratch& s)
      : q(s.take(layout.rows * layout.q_width)),
        scores(s.take(layout.rows * attention_chunk)),
        bias(s.take(attention_chunk)),
        k(s.take(head.qk_dim < lanes ? head.qk_dim * attention_chunk : 0)),
        v(s.take(head.v_dim < lanes ? lanes * attention_chunk : 0)) {}
};

int64_t attention_chunk_scratch(const AttentionHead& head) {
  Scratch s{nullptr};
  ChunkScratch{head, FewLayout(head), s};
  return s.used;
}

/// Neighbours added: the first half of the result comes from a, the second from b, within each group of four lanes.
static inline Vec add_neighbours(Vec a, Vec b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a.v, b.v, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30) +
         __builtin_shufflevector(a.v, b.v, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a.v, b.v, 0, 2, 8, 10, 4, 6, 12, 14) +
         __builtin_shufflevector(a.v, b.v, 1, 3, 9, 11, 5, 7, 13, 15);
#else
  return __builtin_shufflevector(a.v, b.v, 0, 2, 4, 6) + __builtin_shufflevector(a.v, b.v, 1, 3, 5, 7);
#endif
}

/// Lane j = the sum of x[j]'s lanes.
static inline Vec sums_of_lanes(const Vec (&x)[lanes]) {
  Vec fours[lanes / 4];  // lane 4c + j of fours[n]: the sum of the c-th four lanes of x[4n + j]
  for (int n = 0; n < lanes / 4; ++n)
    fours[n] = add_neighbours(add_neighbours(x[4 * n], x[4 * n + 1]), add_neighbours(x[4 * n + 2], x[4 * n + 3]));
#if defined(__AVX512F__)
  const auto halves = [](RawF a, RawF b) -> RawF {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
           __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  };
  const RawF a = halves(fours[0].v, fours[1].v), b = halves(fours[2].v, fours[3].v);
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
         __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
#elif defined(__AVX2__)
  return __builtin_shufflevector(fours[0].v, fours[1].v, 0, 1, 2, 3, 8, 9, 10, 11) +
         __builtin_shufflevector(fours[0].v, fours[1].v, 4, 5, 6, 7, 12, 13, 14, 15);
#else
  return fours[0];
#endif
}

/// Lane j: Σ_d q[d]·k[j][d] for the keys j < n ≤ lanes that there are; the other lanes repeat the last. dim ≥ lanes.
/// q's last vector belongs to the last `lanes` columns and is zero where they overlap the vector before.
template <bool all>
static inline Vec dots(const float* q, const float* k, int64_t stride, int64_t dim, int64_t n) {
  Vec total[lanes];
  const auto key = [&](int j) { return k + (all || j < n ? j : n - 1) * stride; };
  Vec x = load(q);
  for (int j = 0; j < lanes; ++j) total[j] = x * load(key(j));
  for (int64_t d = lanes; d < dim; d += lanes) {
    const int64_t at = smaller(d, dim - lanes);
    x = load(q + d);
    for (int j = 0; j < lanes; ++j) total[j] = fma(x, load(key(j) + at), total[j]);
  }
  return sums_of_lanes(total);
}

/// out[r][w] = Σ_d a[r][d]·b[d][w] for `rows` rows and `width` columns of whole vectors; d < depth.
template <int N>
static void rows_product(const float* a, int64_t a_stride, int64_t rows, int64_t depth, const float* b,
                         int64_t b_stride, float* out, int64_t out_stride) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4)
    product_block<4, N, 0, false>(a + r * a_stride, a_stride, depth, b, b_stride, out + r * out_stride, out_stride);
  a += r * a_stride, out += r * out_stride;
  if (rows - r == 3) product_block<3, N, 0, false>(a, a_stride, depth, b, b_stride, out, out_stride);
  if (rows - r == 2) product_block<2, N, 0, false>(a, a_stride, depth, b, b_stride, out, out_stride);
  if (rows - r == 1) product_block<1, N, 0, false>(a, a_stride, depth, b, b_stride, out, out_stride);
}

/// The queries times scale · log2 e, as the products need them.
static void lay_out_queries(const AttentionHead& head, const FewLayout& layout, float* q) {
  const int64_t width = layout.q_width, dim = head.qk_dim, rest = dim % lanes;
  for (int64_t r = 0; r < layout.rows; ++r) {
    const float* x = head.q + r / head.queries * head.q_head_stride + r % head.queries * head.q_stride;
    float* out = q + r * width;
    fill_zero(out, width);
    const int64_t shift = dim > lanes && rest > 0 ? lanes - rest : 0, whole = dim - (shift > 0 ? rest : 0);
    for (int64_t d = 0; d < dim; ++d) out[d < whole ? d : d + shift] = x[d] * (head.scale * log2_e);
  }
}

/// scores[r][j] = q_r·k_j for the n keys from `begin` on.
static void multiply_keys(const AttentionHead& head, const FewLayout& layout, int64_t begin, int64_t n,
                          const ChunkScratch& s) {
  const float* k = head.k + (begin - head.first_row) * head.k_stride;
  if (head.qk_dim < lanes) {
    transpose_to(k, head.k_stride, n, head.qk_dim, 1, s.k, attention_chunk);
    for (int64_t j = 0; j < n; j += 2 * lanes)
      rows_product<2>(s.q, layout.q_width, layout.rows, head.qk_dim, s.k + j, attention_chunk, s.scores + j,
                      attention_chunk);
    return;
  }
  for (int64_t j = 0; j < n; j += lanes)
    for (int64_t r = 0; r < layout.rows; ++r) {
      const float *q = s.q + r * layout.q_width, *keys = k + j * head.k_stride;
      const Vec x = j + lanes <= n ? dots<true>(q, keys, head.k_stride, head.qk_dim, lanes)
                                   : dots<false>(q, keys, head.k_stride, head.qk_dim, n - j);
      store(s.scores + r * attention_chunk + j, x);
    }
}

/// Row r's probabilities relative to its largest score, which goes to `top`; returns their sum. Keys from `seen` on are
/// hidden, as are those before `first` and those with bias -inf.
static float exponentials(const AttentionHead& head, int64_t r, int64_t begin, int64_t first, int64_t seen, int64_t n,
                          const ChunkScratch& s, float* top) {
  float* p = s.scores + r * attention_chunk;
  const int64_t width = whole_vectors(n), i = r % head.queries;
  const Vec hidden(-__builtin_inff()), before(static_cast<float>(first)), last(static_cast<float>(seen));
  const Vec position(static_cast<float>(i + head.keys - head.queries));
  const Vec slope(head.slopes ? head.slopes[r / head.queries] * log2_e : 0);
  Vec largest(-1e30f);  // finite, so that hidden scores give 2^-inf = 0 even where every key is hidden
  for (int64_t w = 0; w < width; w += lanes) {
    const Vec key = index_from(begin + w);
    Vec x = load(p + w);
    if (head.slopes) x = x - slope * abs(position - key);
    if (head.key_mask) x = x + load(s.bias + w);
    if (begin + w < first) x = select(key < before, hidden, x);
    if (begin + w + lanes > seen) x = select(key < last, x, hidden);
    store(p + w, x);
    largest = maximum(x, largest);
  }
  *top = maximum_of(largest);
  Vec total(0.0f);
  for (int64_t w = 0; w < width; w += lanes) {
    const Vec e = exp2(load(p + w) - Vec(*top));
    store(p + w, e);
    total += e;
  }
  return sum(total);
}

/// y[r] = Σ_j p[r][j]·v_j.
static void multiply_values(const AttentionHead& head, const FewLayout& layout, int64_t begin, int64_t n,
                            const ChunkScratch& s, float* y) {
  const float* v = head.v + (begin - head.first_row) * head.v_stride;
  int64_t stride = head.v_stride, dim = head.v_dim, w = 0;
  if (dim < lanes) {
    fill_zero(s.v, n * lanes);
    copy_to(v, stride, n, dim, 1, s.v, lanes);
    v = s.v, stride = dim = lanes;
  }
  // As many sums at once as registers hold: one row takes four vectors of them, four rows two where there are 16.
  const bool wide = layout.rows <= 2 || lanes == 16;
  for (; wide && w + 4 * lanes <= dim; w += 4 * lanes)
    rows_product<4>(s.scores, attention_chunk, layout.rows, n, v + w, stride, y + w, layout.y_width);
  for (; w + 2 * lanes <= dim; w += 2 * lanes)
    rows_product<2>(s.scores, attention_chunk, layout.rows, n, v + w, stride, y + w, layout.y_width);
  for (; w < dim; w += lanes)
    rows_product<1>(s.scores, attention_chunk, layout.rows, n, v + smaller(w, dim - lanes), stride, y + w,
                    layout.y_width);
}

/// scores[r][j] = q_r·k_j as dots() adds, for R rows of queries and the keys j < n ≤ lanes that there are: each key is
/// converted once.
template <int R, class Rows>
static void packed_dots(const float* q, int64_t q_width, const Rows& k, int64_t begin, int64_t n, int64_t dim,
                        float* scores) {
  Vec total[R][lanes];
  for (int j = 0; j < lanes; ++j) {
    const int64_t key = begin + (j < n ? j : n - 1);
    constexpr int N = Rows::together;
    Vec sum[R], x[N];
    k.read(key, 0, x);
    for (int r = 0; r < R; ++r) {
      sum[r] = load(q + r * q_width) * x[0];
      for (int i = 1; i < N; ++i) sum[r] = fma(load(q + r * q_width + i * lanes), x[i], sum[r]);
    }
    for (int64_t d = N * lanes; d < dim; d += N * lanes) {
      k.read(key, smaller(d, dim - N * lanes), x);
      for (int r = 0; r < R; ++r)
        for (int i = 0; i < N; ++i) sum[r] = fma(load(q + r * q_width + d + i * lanes), x[i], sum[r]);
    }
    for (int r = 0; r < R; ++r) total[r][j] = sum[r];
  }
  for (int r = 0; r < R; ++r) store(scores + r * attention_chunk + begin, sums_of_lanes(total[r]));
}

template <class Rows>
static void multiply_packed_keys(const AttentionHead& head, const FewLayout& layout, const Rows& k, int64_t n,
                                 const ChunkScratch& s) {
  for (int64_t j = 0; j < n; j += lanes) {
    const int64_t keys = smaller(lanes, n - j);
    int64_t r = 0;
    const auto rows = [&]<int R>() {
      for (; r + R <= layout.rows; r += R)
        packed_dots<R>(s.q + r * layout.q_width, layout.q_width, k, j, keys, head.qk_dim,
                       s.scores + r * attention_chunk);
    };
    rows.template operator()<4>();
    rows.template operator()<3>();
    rows.template operator()<1>();
  }
}

/// out[r][i] = Σ_j p[r][j]·v_j[column + i] as product_block() adds, for R rows and N vectors.
template <int R, int N, class Rows>
static void weigh_rows(const float* p, const Rows& v, int64_t n, int64_t column, float* out, int64_t out_stride) {
  Vec sum[R][N];
  for (int r = 0; r < R; ++r)
    for (int i = 0; i < N; ++i) sum[r][i] = Vec(0.0f);
  for (int64_t j = 0; j < n; ++j) {
    Vec x[N];
    v.read(j, column, x);
    for (int r = 0; r < R; ++r) {
      const Vec factor(p[r * attention_chunk + j]);
      for (int i = 0; i < N; ++i) sum[r][i] = fma(factor, x[i], sum[r][i]);
    }
  }
  for (int r = 0; r < R; ++r)
    for (int i = 0; i < N; ++i) store(out + r * out_stride + i * lanes, sum[r][i]);
}

template <class Rows>
static void multiply_packed_values(const AttentionHead& head, const FewLayout& layout, const Rows& v, int64_t n,
                                   const ChunkScratch& s, float* y) {
  const int64_t dim = head.v_dim;
  constexpr int wide = lanes == 16 ? 4 : 2;  // as many sums of four rows as registers hold
  for (int64_t w = 0; w < dim;) {
    const bool is_wide = w + wide * lanes <= dim;
    int64_t r = 0;
    const auto rows = [&]<int R>() {
      for (; r + R <= layout.rows; r += R) {
        const float* p = s.scores + r * attention_chunk;
        float* const out = y + r * layout.y_width + w;
        if (is_wide) weigh_rows<R, wide>(p, v, n, w, out, layout.y_width);
        else weigh_rows<R, 1>(p, v, n, smaller(w, dim - lanes), out, layout.y_width);
      }
    };
    rows.template operator()<4>();
    rows.template operator()<3>();
    rows.template operator()<1>();
    w += is_wide ? wide * lanes : lanes;
  }
}

/// A chunk's part, with `keys` and `values` that multiply the queries with its keys, and its values with what comes of
/// them.
template <class Keys, class Values>
static void chunk_part(const AttentionHead& head, int64_t begin, int64_t end, float* part, float* memory,
                       const Keys& keys, const Values& values) {
  const FewLayout layout(head);
  Scratch pieces{memory};
  const ChunkScratch s(head, layout, pieces);
  const int64_t n = end - begin;
  float *tops = part + layout.rows * layout.y_width, *totals = tops + layout.rows;
  lay_out_queries(head, layout, s.q);
  keys(layout, n, s);
  for (int64_t j = 0; j < attention_chunk && head.key_mask; ++j)
    s.bias[j] = j < n && head.key_mask[begin + j] ? 0 : -__builtin_inff();
  for (int64_t r = 0; r < layout.rows; ++r) {
    const int64_t seen = head.causal ? r % head.queries + head.keys - head.queries + 1 : head.keys;
    const int64_t first = head.window > 0 ? seen - head.window : 0;
    totals[r] = exponentials(head, r, begin, first, smaller(seen, end), n, s, tops + r);
  }
  values(layout, n, s);
}

void attention_chunk_part(const AttentionHead& head, int64_t begin, int64_t end, float* part, float* memory) {
  chunk_part(
      head, begin, end, part, memory,
      [&](const FewLayout& layout, int64_t n, const ChunkScratch& s) { multiply_keys(head, layout, begin, n, s); },
      [&](const FewLayout& layout, int64_t n, const ChunkScratch& s) {
        multiply_values(head, layout, begin, n, s, part);
      });
}

template <class Rows>
static void packed_part(const AttentionHead& head, const PackedHead& packed, int64_t begin, int64_t end, float* part,
                        float* memory) {
  const Rows k(packed.k + begin * packed.k_stride, packed.k_stride),
      v(packed.v + begin * packed.v_stride, packed.v_stride);
  chunk_part(
      head, begin, end, part, memory,
      [&](const FewLayout& layout, int64_t n, const ChunkScratch& s) { multiply_packed_keys(head, layout, k, n, s); },
      [&](const FewLayout& layout, int64_t n, const ChunkScratch& s) {
        multiply_packed_values(head, layout, v, n, s, part);
      });
}

int64_t attention_packed_width() { return lanes; }

void attention_packed_part(const AttentionHead& head, const PackedHead& packed, int64_t begin, int64_t end, float* part,
                           float* memory) {
  switch (packed.format) {
    case BlockFormat::f16:
      return packed_part<F16Rows>(head, packed, begin, end, part, memory);
    case BlockFormat::bf16:
      return packed_part<Bf16Rows>(head, packed, begin, end, part, memory);
    case BlockFormat::q4_0:
      return packed_part<Q4Rows>(head, packed, begin, end, part, memory);
    default:
      return packed_part<Q8Rows>(head, packed, begin, end, part, memory);
  }
}

void attention_join(const AttentionHead& head, const float* parts, int64_t chunks, float* y, float* lse) {
  const FewLayout layout(head);
  const int64_t size = layout.part(), dim = head.v_dim;
  for (int64_t r = 0; r < layout.rows; ++r) {
    const float *tops = parts + layout.rows * layout.y_width + r, *totals = tops + layout.rows;
    float top = tops[0], total = 0;
    for (int64_t c = 1; c < chunks; ++c) top = tops[c * size] > top ? tops[c * size] : top;
    for (int64_t c = 0; c < chunks; ++c) total += exp2(Vec(tops[c * size] - top)).v[0] * totals[c * size];
    const float inverse = total == 0 ? 0 : 1 / total;
    float* out = y + r % head.queries * head.y_stride + r / head.queries * dim;
    for (int64_t w = 0; w < dim; w += lanes) {
      Vec total_y(0.0f);
      for (int64_t c = 0; c < chunks; ++c)
        total_y = fma(exp2(Vec(tops[c * size] - top)), load(parts + c * size + r * layout.y_width + w), total_y);
      total_y *= Vec(inverse);
      if (dim < lanes) store_first(out, total_y, dim);
      else store(out + smaller(w, dim - lanes), total_y);
    }
    lse[r] = top * ln_2 + log(Vec(total)).v[0];
  }
}

}  // namespace headroom::engine::HEADROOM_ISA
