// Short sequences of narrow heads: every lane of a vector is a head of its own. No tile is padded, and a causal query
// multiplies only the keys that it sees. Each number is the sum of the same terms in the same order as in the tiles of
// attention_kernel.cpp, so both give the same bits.
#include "engine/ops/attention/attention_lanes_kernel.h"

#include "engine/ops/attention/attention_rules.h"

namespace headroom::engine::HEADROOM_ISA {

int64_t attention_lanes() { return lanes; }

/// Numbers that a template unpacks: the lanes' indices.
template <int... i>
struct Indices {};
template <int n, int... i>
struct IndicesTo : IndicesTo<n - 1, n - 1, i...> {};
template <int... i>
struct IndicesTo<0, i...> {
  using type = Indices<i...>;
};
static constexpr IndicesTo<lanes>::type every_lane{};

/// transpose() in each group of four lanes: lane r of x[c] goes to lane c of x[r].
template <int... i>
static inline void transpose_groups(Vec (&x)[4], Indices<i...>) {
  const RawF a = __builtin_shufflevector(x[0].v, x[1].v, (i / 4 * 4 + i % 4 / 2 + i % 2 * lanes)...);
  const RawF b = __builtin_shufflevector(x[2].v, x[3].v, (i / 4 * 4 + i % 4 / 2 + i % 2 * lanes)...);
  const RawF c = __builtin_shufflevector(x[0].v, x[1].v, (i / 4 * 4 + i % 4 / 2 + 2 + i % 2 * lanes)...);
  const RawF d = __builtin_shufflevector(x[2].v, x[3].v, (i / 4 * 4 + i % 4 / 2 + 2 + i % 2 * lanes)...);
  x[0] = __builtin_shufflevector(a, b, (i / 4 * 4 + i % 2 + i % 4 / 2 * lanes)...);
  x[1] = __builtin_shufflevector(a, b, (i / 4 * 4 + i % 2 + 2 + i % 4 / 2 * lanes)...);
  x[2] = __builtin_shufflevector(c, d, (i / 4 * 4 + i % 2 + i % 4 / 2 * lanes)...);
  x[3] = __builtin_shufflevector(c, d, (i / 4 * 4 + i % 2 + 2 + i % 4 / 2 * lanes)...);
}

/// a0 a1 …, b0 b1 … to a0 a2 …, a1 a3 …: pairs to columns, and back.
template <int... i>
static inline void split_pairs(Vec& a, Vec& b, Indices<i...>) {
  const RawF even = __builtin_shufflevector(a.v, b.v, (2 * i)...);
  b = __builtin_shufflevector(a.v, b.v, (2 * i + 1)...);
  a = even;
}
template <int... i>
static inline void join_pairs(Vec& a, Vec& b, Indices<i...>) {
  const RawF first = __builtin_shufflevector(a.v, b.v, (i / 2 + i % 2 * lanes)...);
  b = __builtin_shufflevector(a.v, b.v, (lanes / 2 + i / 2 + i % 2 * lanes)...);
  a = first;
}

/// Groups of four lanes, one after the other.
static inline Vec joined(const Four (&x)[lanes / 4]) {
#if defined(__AVX512F__)
  typedef float Eight __attribute__((vector_size(32)));
  const Eight low = __builtin_shufflevector(x[0], x[1], 0, 1, 2, 3, 4, 5, 6, 7);
  const Eight high = __builtin_shufflevector(x[2], x[3], 0, 1, 2, 3, 4, 5, 6, 7);
  return Vec(RawF(__builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)));
#elif defined(__AVX2__)
  return Vec(RawF(__builtin_shufflevector(x[0], x[1], 0, 1, 2, 3, 4, 5, 6, 7)));
#else
  return Vec(x[0]);
#endif
}

/// The first row of each lane's head in a tensor (B, T, H, dim), `token` apart from the next. Lanes past the last pair
/// are copies of the last one's: they read what it reads and write what it writes.
struct LaneRows {
  float* row[lanes];
  int64_t token, dim;
  bool is_dense = true;  ///< the lanes' rows follow one another

  LaneRows(const AttentionPairs& all, const float* x, int64_t begin, int64_t count, int64_t sequence, int64_t head,
           int64_t stride, int64_t width)
      : token(stride), dim(width) {
    int64_t b = begin / all.kv_heads, kv_head = begin % all.kv_heads;
    for (int64_t l = 0; l < lanes; ++l) {
      row[l] = const_cast<float*>(x) + b * sequence + kv_head * head;
      is_dense = is_dense && row[l] == row[0] + l * dim;
      if (l + 1 < count && ++kv_head == all.kv_heads) kv_head = 0, ++b;
    }
  }

  /// out (tokens, dim, lanes) = factor · tokens [t, t + n) of each lane.
  [[gnu::noinline]] void read(int64_t t, int64_t n, float factor, float* out) const {
    const LaneRows from = *this;  // which no store below may change
    const Vec scale(factor);
    for (int64_t at = t * token; n > 0; --n, at += from.token) {
      int64_t c = 0;
      if (from.is_dense && from.dim == 1) {
        store(out, load(from.row[0] + at) * scale);
        out += lanes, c = 1;
      } else if (from.is_dense && from.dim == 2) {
        Vec x = load(from.row[0] + at), y = load(from.row[0] + at + lanes);
        split_pairs(x, y, every_lane);
        store(out, x * scale);
        store(out + lanes, y * scale);
        out += 2 * lanes, c = 2;
      }
      for (; c + 4 <= from.dim; c += 4, out += 4 * lanes) {
        Vec x[4];
        for (int r = 0; r < 4; ++r) {
          Four groups[lanes / 4];
          for (int m = 0; m < lanes / 4; ++m) groups[m] = load_four(from.row[4 * m + r] + at + c);
          x[r] = joined(groups);
        }
        transpose_groups(x, every_lane);
        for (int r = 0; r < 4; ++r) store(out + r * lanes, x[r] * scale);
      }
      for (; c < from.dim; ++c, out += lanes)
        for (int l = 0; l < lanes; ++l) out[l] = factor * from.row[l][at + c];
    }
  }

  /// Tokens [t, t + n) of each lane = factor · x (tokens, dim, lanes).
  [[gnu::noinline]] void write(const float* x, float factor, int64_t t, int64_t n) const {
    const LaneRows to = *this;
    const Vec scale(factor);
    for (int64_t at = t * token; n > 0; --n, at += to.token) {
      int64_t c = 0;
      if (to.is_dense && to.dim == 1) {
        store(to.row[0] + at, load(x) * scale);
        x += lanes, c = 1;
      } else if (to.is_dense && to.dim == 2) {
        Vec y = load(x) * scale, z = load(x + lanes) * scale;
        join_pairs(y, z, every_lane);
        store(to.row[0] + at, y);
        store(to.row[0] + at + lanes, z);
        x += 2 * lanes, c = 2;
      }
      for (; c + 4 <= to.dim; c += 4, x += 4 * lanes) {
        Vec y[4];
        for (int r = 0; r < 4; ++r) y[r] = load(x + r * lanes) * scale;
        transpose_groups(y, every_lane);
        for (int r = 0; r < 4; ++r) {
          Four groups[lanes / 4];
          std::memcpy(groups, &y[r].v, sizeof(groups));
          for (int m = 0; m < lanes / 4; ++m) store_four(to.row[4 * m + r] + at + c, groups[m]);
        }
      }
      for (; c < to.dim; ++c, x += lanes)
        for (int l = 0; l < lanes; ++l) to.row[l][at + c] = factor * x[l];
    }
  }
};

/// sum[n] = Σ_c a[c]·b[n][c], c < dim.
template <int N>
static inline void dots(const float* a, const float* b, int64_t dim, Vec (&sum)[N]) {
  for (int n = 0; n < N; ++n) sum[n] = Vec(0.0f);
  for (int64_t c = 0; c < dim; ++c) {
    const Vec x = load(a + c * lanes);
    for (int n = 0; n < N; ++n) sum[n] = fma(x, load(b + (n * dim + c) * lanes), sum[n]);
  }
}

/// out[c] (+)= Σ_n w[n · step]·x[n][c] for C columns of `dim`.
template <int C, bool add>
static inline void weigh_columns(const float* w, int64_t step, int64_t n, const float* x, int64_t dim, float* out) {
  Vec sum[C];
  for (int c = 0; c < C; ++c) sum[c] = add ? load(out + c * lanes) : Vec(0.0f);
  for (; n > 0; --n, w += step * lanes, x += dim * lanes) {
    const Vec weight = load(w);
    for (int c = 0; c < C; ++c) sum[c] = fma(weight, load(x + c * lanes), sum[c]);
  }
  for (int c = 0; c < C; ++c) store(out + c * lanes, sum[c]);
}

/// The same for all columns.
template <bool add>
static inline void weigh(const float* w, int64_t step, int64_t n, const float* x, int64_t dim, float* out) {
  int64_t c = 0;
  for (; c + 8 <= dim; c += 8) weigh_columns<8, add>(w, step, n, x + c * lanes, dim, out + c * lanes);
  if (dim & 4) weigh_columns<4, add>(w, step, n, x + c * lanes, dim, out + c * lanes), c += 4;
  if (dim & 2) weigh_columns<2, add>(w, step, n, x + c * lanes, dim, out + c * lanes), c += 2;
  if (dim & 1) weigh_columns<1, add>(w, step, n, x + c * lanes, dim, out + c * lanes);
}

/// As sums_of() and sum() add the lanes of a tile's vector, whose places are keys.
static inline Vec sum_of_places(const Vec* x) {
  Vec part[4];
  for (int w = 0; w < 4; ++w) {
    part[w] = x[w];
    for (int n = 1; n < lanes / 4; ++n) part[w] += x[4 * n + w];
  }
  return (part[0] + part[1]) + (part[2] + part[3]);
}

/// out[c] = Σ_n w[n]·x[n][c] for n < round_up(n, lanes), in the order of add_row_sums().
static inline void weigh_places(const float* w, int64_t n, const float* x, int64_t dim, float* out) {
  for (int64_t c = 0; c < dim; ++c) {
    Vec sum[lanes];
    for (int l = 0; l < lanes; ++l) sum[l] = Vec(0.0f);
    for (int64_t j = 0; j < n; j += lanes)
      for (int l = 0; l < lanes; ++l)
        sum[l] = fma(load(w + (j + l) * lanes), load(x + ((j + l) * dim + c) * lanes), sum[l]);
    store(out + c * lanes, sum_of_places(sum));
  }
}

/// Queries whose rows are held at once: so many gradients of scores wait for the keys' gradients to take them.
static constexpr int64_t query_rows = 16;

struct LanesScratch {
  int64_t keys;  ///< with those that fill the last vector of a tile
  float *k, *v, *bias, *q, *dy, *p, *ds, *lse, *y, *dq, *dk, *dv;
  LanesScratch(const AttentionHead& h, Scratch& s)
      : keys(round_up(h.keys, lanes)),
        k(s.take(keys * h.qk_dim * lanes)),
        v(s.take(h.keys * h.v_dim * lanes)),
        bias(s.take(h.keys * lanes)),
        q(s.take(query_rows * h.qk_dim * lanes)),
        dy(s.take(query_rows * h.v_dim * lanes)),
        p(s.take(query_rows * keys * lanes)),
        ds(s.take(query_rows * keys * lanes)),
        lse(s.take(h.queries * lanes)),
        y(s.take(query_rows * h.v_dim * lanes)),
        dq(s.take(query_rows * h.qk_dim * lanes)),
        dk(s.take(h.keys * h.qk_dim * lanes)),
        dv(s.take(h.keys * h.v_dim * lanes)) {}
};

int64_t attention_lanes_scratch(const AttentionHead& first) {
  Scratch s{nullptr};
  LanesScratch{first, s};
  return s.used;
}

/// One call's operands: keys and values by lane, and where its query heads lie.
struct LanesCall {
  const AttentionPairs& all;
  const AttentionHead& head;
  int64_t begin, count;
  LanesScratch s;

  LanesCall(const AttentionPairs& pairs, int64_t first, int64_t n, Scratch pieces)
      : all(pairs), head(pairs.first), begin(first), count(n), s(head, pieces) {
    keys(head.k).read(0, head.keys, 1, s.k);
    values(head.v).read(0, head.keys, 1, s.v);
    fill_zero(s.k + head.keys * head.qk_dim * lanes, (s.keys - head.keys) * head.qk_dim * lanes);
    for (int64_t l = 0; head.key_mask && l < lanes; ++l) {
      const bool* const mask = head.key_mask + (begin + smaller(l, count - 1)) / all.kv_heads * head.keys;
      for (int64_t j = 0; j < head.keys; ++j) s.bias[j * lanes + l] = mask[j] ? 0 : -__builtin_inff();
    }
  }

  LaneRows rows(const float* x, int64_t sequence, int64_t pair_head, int64_t token, int64_t dim) const {
    return {all, x, begin, count, sequence, pair_head, token, dim};
  }
  /// In tensors like k, and like v.
  LaneRows keys(const float* k) const { return rows(k, all.k_sequence, all.k_head, head.k_stride, head.qk_dim); }
  LaneRows values(const float* v) const { return rows(v, all.v_sequence, all.v_head, head.v_stride, head.v_dim); }
  /// Query head g of each pair in a tensor like q, and in one like y.
  LaneRows queries(const float* q, int64_t g) const {
    return rows(q + g * head.q_head_stride, all.q_sequence, head.group * head.q_head_stride, head.q_stride,
                head.qk_dim);
  }
  LaneRows outputs(const float* y, int64_t g) const {
    return rows(y + g * head.v_dim, head.queries * head.y_stride, head.group * head.v_dim, head.y_stride, head.v_dim);
  }
  /// In a tensor (B, H, width).
  LaneRows numbers(const float* x, int64_t g, int64_t width) const {
    const int64_t group = head.group * width;
    return rows(x + g * width, all.kv_heads * group, group, 0, width);
  }
  Vec slope(int64_t g) const {
    float slopes[lanes] = {};
    if (head.slopes) rows(head.slopes + g, 0, head.group, 0, 1).read(0, 1, log2_e, slopes);
    return load(slopes);
  }
  Vec distance(int64_t i, int64_t j) const {
    const int64_t d = i + head.keys - head.queries - j;
    return Vec(static_cast<float>(d < 0 ? -d : d));
  }
};

/// f(N, j) for keys [j, end), N at a time.
template <class F>
static inline void by_keys(int64_t j, int64_t end, const F& f) {
  for (; j + 4 <= end; j += 4) f(Indices<4>{}, j);
  if (end - j >= 2) f(Indices<2>{}, j), j += 2;
  if (j < end) f(Indices<1>{}, j);
}

void attention_lanes_forward(const AttentionPairs& all, int64_t begin, int64_t count, float* y, float* lse,
                             float* memory) {
  const LanesCall call(all, begin, count, {memory});
  const AttentionHead& head = call.head;
  const LanesScratch& s = call.s;
  const int64_t dqk = head.qk_dim, dv = head.v_dim;
  for (int64_t g = 0; g < head.group; ++g) {
    const Vec slope = call.slope(g);
    for (int64_t i = 0; i < head.queries; ++i) {
      const int64_t first = first_seen(head, i), end = visible(head, i), r = i % query_rows;
      if (r == 0) call.queries(head.q, g).read(i, smaller(query_rows, head.queries - i), head.scale * log2_e, s.q);
      Vec top(-1e30f), total(0.0f);  // finite: see forward_head
      by_keys(first, end, [&]<int N>(Indices<N>, int64_t j) {
        Vec score[N];
        dots<N>(s.q + r * dqk * lanes, s.k + j * dqk * lanes, dqk, score);
        for (int n = 0; n < N; ++n) {
          if (head.slopes) score[n] -= slope * call.distance(i, j + n);
          if (head.key_mask) score[n] += load(s.bias + (j + n) * lanes);
          store(s.p + (j + n) * lanes, score[n]);
          top = maximum(score[n], top);
        }
      });
      for (int64_t j = first; j < end; ++j) {
        const Vec p = exp2(load(s.p + j * lanes) - top);
        total += p;
        store(s.p + j * lanes, p);
      }
      float* const out = s.y + r * dv * lanes;
      weigh<false>(s.p + first * lanes, 1, end - first, s.v + first * dv * lanes, dv, out);
      const Vec inverse = select(total == Vec(0.0f), Vec(0.0f), Vec(1.0f) / total);
      for (int64_t c = 0; c < dv; ++c) store(out + c * lanes, load(out + c * lanes) * inverse);
      store(s.lse + i * lanes, fma(top, Vec(ln_2), log(total)));
      if (r + 1 == query_rows || i + 1 == head.queries) call.outputs(y, g).write(s.y, 1, i - r, r + 1);
    }
    call.numbers(lse, g, head.queries).write(s.lse, 1, 0, 1);
  }
}

/// Row r of the queries held, which is query i: its probabilities, its gradients of scores and dq.
static inline void gradient_row(const LanesCall& call, Vec slope, int64_t r, int64_t i, Vec* slope_sums) {
  const AttentionHead& head = call.head;
  const LanesScratch& s = call.s;
  const int64_t dqk = head.qk_dim, dv = head.v_dim, first = first_seen(head, i), end = visible(head, i);
  const float *const q = s.q + r * dqk * lanes, *const dy = s.dy + r * dv * lanes, *const y = s.y + r * dv * lanes;
  float *const p = s.p + r * s.keys * lanes, *const ds = s.ds + r * s.keys * lanes;
  Vec delta(0.0f), lse = load(s.lse + i * lanes);
  for (int64_t c = 0; c < dv; ++c) delta += load(dy + c * lanes) * load(y + c * lanes);
  Vec distances[lanes];  // Σ ds · distance, by the keys' places
  for (Vec& sum : distances) sum = Vec(0.0f);
  const Vec none(-__builtin_inff());
  lse = select(lse == none, none, lse * Vec(-log2_e));  // a query that sees nothing has probabilities of 0
  by_keys(first, end, [&]<int N>(Indices<N>, int64_t j) {
    Vec score[N], dp[N];
    dots<N>(q, s.k + j * dqk * lanes, dqk, score);
    dots<N>(dy, s.v + j * dv * lanes, dv, dp);
    for (int n = 0; n < N; ++n) {
      score[n] += head.key_mask ? load(s.bias + (j + n) * lanes) + lse : lse;
      if (head.slopes) score[n] -= slope * call.distance(i, j + n);
      const Vec prob = exp2(score[n]), gradient = prob * (dp[n] - delta);
      if (head.slopes) {
        Vec& sum = distances[(j + n) % lanes];
        sum = fma(gradient, call.distance(i, j + n), sum);
      }
      store(p + (j + n) * lanes, prob);
      store(ds + (j + n) * lanes, gradient);
    }
  });
  for (int l = 0; head.slopes && l < lanes; ++l) slope_sums[l] += distances[l];
  float* const dq = s.dq + r * dqk * lanes;
  if (dqk > 4) return weigh<false>(ds + first * lanes, 1, end - first, s.k + first * dqk * lanes, dqk, dq);
  fill_zero(ds, first * lanes);
  fill_zero(ds + end * lanes, (round_up(end, lanes) - end) * lanes);
  weigh_places(ds, end, s.k, dqk, dq);
}

void attention_lanes_backward(const AttentionPairs& all, const AttentionHeadGrad& grad, int64_t begin, int64_t count,
                              float* memory) {
  const LanesCall call(all, begin, count, {memory});
  const AttentionHead& head = call.head;
  const LanesScratch& s = call.s;
  const int64_t shift = head.keys - head.queries, dqk = head.qk_dim, dv = head.v_dim;
  fill_zero(s.dk, head.keys * dqk * lanes);
  fill_zero(s.dv, head.keys * dv * lanes);
  for (int64_t g = 0; g < head.group; ++g) {
    const Vec slope = call.slope(g);
    Vec slope_sums[lanes];
    for (Vec& sum : slope_sums) sum = Vec(0.0f);
    call.numbers(grad.lse, g, head.queries).read(0, 1, 1, s.lse);
    for (int64_t start = 0; start < head.queries; start += query_rows) {
      const int64_t rows = smaller(query_rows, head.queries - start);
      call.queries(head.q, g).read(start, rows, head.scale * log2_e, s.q);
      call.outputs(grad.dy, g).read(start, rows, 1, s.dy);
      call.outputs(grad.y, g).read(start, rows, 1, s.y);
      for (int64_t r = 0; r < rows; ++r) gradient_row(call, slope, r, start + r, slope_sums);
      call.queries(grad.dq, g).write(s.dq, head.scale, start, rows);
      const int64_t last = visible(head, start + rows - 1);
      for (int64_t j = first_seen(head, start); j < last; ++j) {
        // Rows [from, to) see key j.
        const int64_t from = head.causal && j - shift > start ? j - shift - start : 0;
        const int64_t to = head.window > 0 ? smaller(rows, j - shift + head.window - start) : rows;
        const int64_t at = (from * s.keys + j) * lanes;
        weigh<true>(s.ds + at, s.keys, to - from, s.q + from * dqk * lanes, dqk, s.dk + j * dqk * lanes);
        weigh<true>(s.p + at, s.keys, to - from, s.dy + from * dv * lanes, dv, s.dv + j * dv * lanes);
      }
    }
    if (!grad.dslopes) continue;
    for (int half = lanes / 2; half > 0; half /= 2)  // as sum() does
      for (int l = 0; l < half; ++l) slope_sums[l] += slope_sums[l + half];
    float dslopes[lanes];
    store(dslopes, slope_sums[0]);
    call.numbers(grad.dslopes, g, 1).write(dslopes, -1, 0, 1);
  }
  call.keys(grad.dk).write(s.dk, ln_2, 0, head.keys);  // the queries were multiplied by log2 e
  call.values(grad.dv).write(s.dv, 1, 0, head.keys);
}

}  // namespace headroom::engine::HEADROOM_ISA
