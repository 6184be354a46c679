// attention_kernel.cpp's two passes over tiles in bf16: what is multiplied is packed as pairs of bf16 along the sum, in
// 32-bit words, so that a product takes half as many steps.
#include "engine/ops/attention/attention_bf16_kernel.h"

#include "engine/ops/attention/attention_rules.h"

namespace headroom::engine::HEADROOM_ISA {
namespace halves {

static inline int64_t half_of(int64_t n) { return (n + 1) / 2; }
static inline uint32_t* words(float* p) { return reinterpret_cast<uint32_t*>(p); }

/// out (out_rows, out_dim / 2) = the pairs of x's rows, zero beyond x's rows and dim.
static void pair_rows(const uint16_t* x, int64_t stride, int64_t rows, int64_t dim, uint32_t* out, int64_t out_rows,
                      int64_t out_dim) {
  const auto bytes = static_cast<size_t>(out_dim) * sizeof(uint16_t),
             used = static_cast<size_t>(dim) * sizeof(uint16_t);
  for (int64_t r = 0; r < out_rows; ++r, out += out_dim / 2) {
    if (r >= rows || used < bytes) std::memset(out, 0, bytes);
    if (r < rows) std::memcpy(out, x + r * stride, used);
  }
}

/// out (out_dim / 2, out_rows) = their transpose.
static void pair_columns(const uint16_t* x, int64_t stride, int64_t rows, int64_t dim, uint32_t* out, int64_t out_rows,
                         int64_t out_dim) {
  const int64_t whole = dim / 2;
  if (rows < out_rows || dim < out_dim) std::memset(out, 0, static_cast<size_t>(out_dim / 2 * out_rows) * 4);
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    int64_t c = 0;
    for (; c + 4 <= whole; c += 4) {
      Four block[4];
      for (int i = 0; i < 4; ++i) std::memcpy(&block[i], x + (r + i) * stride + 2 * c, sizeof(Four));
      transpose(block);
      for (int i = 0; i < 4; ++i) std::memcpy(out + (c + i) * out_rows + r, &block[i], sizeof(Four));
    }
    for (; c < whole; ++c)
      for (int64_t i = r; i < r + 4; ++i) std::memcpy(out + c * out_rows + i, x + i * stride + 2 * c, sizeof(uint32_t));
  }
  for (; r < rows; ++r)
    for (int64_t c = 0; c < whole; ++c) std::memcpy(out + c * out_rows + r, x + r * stride + 2 * c, sizeof(uint32_t));
  if (dim % 2 != 0)
    for (r = 0; r < rows; ++r) out[whole * out_rows + r] = x[r * stride + dim - 1];
}

/// out (out_rows / 2, out_dim) = x's rows 2i and 2i + 1 as pairs, zero beyond x's rows and dim.
static void pair_neighbours(const uint16_t* x, int64_t stride, int64_t rows, int64_t dim, uint32_t* out,
                            int64_t out_rows, int64_t out_dim) {
  for (int64_t r = 0; r < out_rows; r += 2, out += out_dim, x += 2 * stride) {
    int64_t c = 0;
    if (r + 1 < rows)
      for (; c < dim; ++c) out[c] = x[c] | static_cast<uint32_t>(x[c + stride]) << 16;
    else if (r < rows)
      for (; c < dim; ++c) out[c] = x[c];
    for (; c < out_dim; ++c) out[c] = 0;
  }
}

/// f32 rounded to bf16 in the lower half of each lane, or the upper one. A NaN of arithmetic stays one.
static inline RawU rounded_bits(Vec x) {
  const auto bits = reinterpret_cast<RawU>(x.v);
  return bits + 0x7fffu + ((bits >> 16) & 1u);
}
/// Two rows of a tile as pairs.
static inline void pair_up(const float* lower, const float* upper, int64_t width, uint32_t* out) {
  for (int64_t w = 0; w < width; w += lanes) {
    const RawU pairs = (rounded_bits(load(lower + w)) >> 16) | (rounded_bits(load(upper + w)) & 0xffff0000u);
    std::memcpy(out + w, &pairs, sizeof(pairs));
  }
}

static inline void scale_tile(float* x, int64_t n, Vec factor) {
  for (int64_t e = 0; e < n; e += lanes) store(x + e, load(x + e) * factor);
}

static inline void put_row(const float* x, uint16_t* y, int64_t n) {
  int64_t c = 0;
  for (; c + lanes <= n; c += lanes) store_bf16(y + c, load(x + c));
  if (c < n) store_bf16_first(y + c, load_first(x + c, n - c), n - c);
}

/// y (rows, dim) = factor · xᵀ in bf16, by way of `turned` (rows, dim).
static void put_transposed(const float* x, int64_t x_stride, int64_t dim, int64_t rows, float factor, float* turned,
                           uint16_t* y, int64_t y_stride) {
  transpose_to(x, x_stride, dim, rows, factor, turned, dim);
  for (int64_t r = 0; r < rows; ++r) put_row(turned + r * dim, y + r * y_stride, dim);
}

struct Forward {
  int64_t dqk, dv;
  uint32_t *k, *v, *q, *p;
  float *sum, *tile, *bits, *rows;
  Forward(const AttentionHead& head, Scratch& s)
      : dqk(padded(head.qk_dim)),
        dv(padded(head.v_dim)),
        k(words(s.take((head.keys + 4) * dqk / 2))),
        v(words(s.take(half_of(head.keys + 4) * dv))),
        q(words(s.take(dqk / 2 * query_block))),
        p(words(s.take(key_tile / 2 * query_block))),
        sum(s.take(dv * query_block)),
        tile(s.take((key_tile + 1) * query_block)),
        bits(s.take(word_room(key_tile) + key_tile * query_block)),
        rows(s.take(query_block * head.v_dim)) {}
};

static void forward_head(const AttentionHead& head, const AttentionHalves& in, int64_t g, int64_t begin, int64_t end,
                         const Forward& s, int64_t packed_from, uint16_t* y, float* lse) {
  constexpr int64_t W = query_block;
  const int64_t shift = head.keys - head.queries;
  const Vec factor(head.scale * log2_e);
  for (int64_t i = begin; i < end; i += W) {
    const int64_t n = smaller(W, end - i), limit = visible(head, i + n - 1), hidden = first_seen(head, i + n - 1);
    pair_columns(in.q + i * head.q_stride + g * head.q_head_stride, head.q_stride, n, head.qk_dim, s.q, W, s.dqk);
    fill_zero(s.sum, s.dv * W);
    TileSoftmax softmax;
    for (int64_t j = first_seen(head, i) / key_tile * key_tile; j < limit; j += key_tile) {
      const int64_t rows = smaller(key_tile, limit - j), at = j - packed_from;
      product_column<2, 0, false>(s.k + at * (s.dqk / 2), s.dqk / 2, round_up(rows, 4), s.dqk / 2, s.q, W, s.tile, W);
      scale_tile(s.tile, rows * W, factor);
      if (head.slopes != nullptr || head.key_mask != nullptr || (head.causal && j + rows - 1 > i + shift) || j < hidden)
        adjust_scores(head, g, i, j, rows, s.tile);
      softmax.take(s.tile, rows, s.sum, s.dv);
      if (head.dropout) drop(head, g, i, j, rows, s.tile, s.bits);
      if (rows % 2 != 0) fill_zero(s.tile + rows * W, W);
      for (int64_t r = 0; r < rows; r += 2) pair_up(s.tile + r * W, s.tile + (r + 1) * W, W, s.p + r / 2 * W);
      add_transposed(s.v + at / 2 * s.dv, half_of(rows), s.dv, s.p, W, W, s.sum, W);
    }
    softmax.finish(head, s.sum, lse + g * head.queries + i, n);
    put_transposed(s.sum, W, head.v_dim, n, 1, s.rows, y + i * head.y_stride + g * head.v_dim, head.y_stride);
  }
}

/// Tiles of queries × keys, keys along the lanes.
struct Backward {
  static constexpr int64_t rows = 32;
  int64_t dqk, dv, width, tiles;
  uint32_t *q, *q_pairs, *dy, *dy_pairs, *k, *v, *k_pairs, *p_pairs, *ds_pairs, *ds_rows;
  float *lse, *delta, *dq, *dk, *dv_sum, *bias, *p, *ds, *bits, *turned;
  Backward(const AttentionHead& head, Scratch& s)
      : dqk(padded(head.qk_dim)),
        dv(padded(head.v_dim)),
        width(smaller(round_up(head.keys, 2 * lanes), 64)),
        tiles(head.group == 1 ? 1 : (head.keys + width - 1) / width),
        q(words(s.take((head.queries + 4) * dqk / 2))),
        q_pairs(words(s.take(half_of(head.queries + 4) * dqk))),
        dy(words(s.take((head.queries + 4) * dv / 2))),
        dy_pairs(words(s.take(half_of(head.queries + 4) * dv))),
        k(words(s.take(width * dqk / 2))),
        v(words(s.take(width * dv / 2))),
        k_pairs(words(s.take(width / 2 * dqk))),
        p_pairs(words(s.take(rows / 2 * width))),
        ds_pairs(words(s.take(rows / 2 * width))),
        ds_rows(words(s.take(rows * width / 2))),
        lse(s.take(head.queries + 4)),
        delta(s.take(head.queries + 4)),
        dq(s.take((head.queries + 4) * dqk)),
        dk(s.take(tiles * width * dqk)),
        dv_sum(s.take(tiles * width * dv)),
        bias(s.take(width)),
        p(s.take(rows * width)),
        ds(s.take(rows * width)),
        bits(s.take(word_room(width))),
        turned(s.take(width * (dqk > dv ? dqk : dv))) {}
};

/// As attention_kernel.cpp's, in pairs along the width and along the queries; and Σ dy · y.
static void pack_queries(const AttentionHead& head, const AttentionHalves& in, const AttentionHalvesGrad& grad,
                         int64_t g, const Backward& s) {
  const int64_t n = head.queries, padding = n + 4;
  const uint16_t *q = in.q + g * head.qk_dim, *dy = grad.dy + g * head.v_dim, *y = grad.y + g * head.v_dim;
  pair_rows(q, head.q_stride, n, head.qk_dim, s.q, padding, s.dqk);
  pair_neighbours(q, head.q_stride, n, head.qk_dim, s.q_pairs, padding, s.dqk);
  pair_rows(dy, head.y_stride, n, head.v_dim, s.dy, padding, s.dv);
  pair_neighbours(dy, head.y_stride, n, head.v_dim, s.dy_pairs, padding, s.dv);
  for (int64_t i = 0; i < padding; ++i) {
    const uint16_t *dy_row = dy + i * head.y_stride, *y_row = y + i * head.y_stride;
    const int64_t width = i < n ? head.v_dim : 0;
    Vec total(0.0f);
    int64_t c = 0;
    for (; c + lanes <= width; c += lanes) total = fma(load_bf16(dy_row + c), load_bf16(y_row + c), total);
    if (c < width) total = fma(load_bf16_first(dy_row + c, width - c), load_bf16_first(y_row + c, width - c), total);
    s.delta[i] = -sum(total);
    const float lse = i < n ? grad.lse[g * n + i] : -__builtin_inff();
    s.lse[i] = lse == -__builtin_inff() ? lse : -lse * log2_e;
  }
  fill_zero(s.dq, padding * s.dqk);
}

static void pack_keys(const AttentionHead& head, const AttentionHalves& in, int64_t j, int64_t n, int64_t width,
                      const Backward& s) {
  const uint16_t *k = in.k + j * head.k_stride, *v = in.v + j * head.v_stride;
  pair_columns(k, head.k_stride, n, head.qk_dim, s.k, s.width, s.dqk);
  pair_columns(v, head.v_stride, n, head.v_dim, s.v, s.width, s.dv);
  pair_neighbours(k, head.k_stride, n, head.qk_dim, s.k_pairs, width, s.dqk);
  for (int64_t c = 0; c < width; ++c)
    s.bias[c] = c < n && (!head.key_mask || head.key_mask[j + c]) ? 0 : -__builtin_inff();
}

/// Scores and dp of queries [i, i + rows) and the packed keys from j on, to what dv, dk and dq are made of.
static void tile_gradient(const AttentionHead& head, int64_t g, int64_t i, int64_t j, int64_t rows, int64_t used,
                          const Backward& s) {
  const int64_t W = s.width;
  for (int64_t r = 0; r < rows; ++r) {
    float *ds = s.ds + r * W, *p = s.p + r * W;
    const int64_t seen = visible(head, i + r) - j;
    const bool is_special = head.dropout || first_seen(head, i + r) > j;
    const int64_t plain = is_special ? 0 : seen < used ? (seen > 0 ? seen : 0) / lanes * lanes : used;
    plain_gradient(plain, s.lse[i + r], s.delta[i + r], s.bias, ds, p);
    if (plain < used)
      special_gradient(head, g, i + r, j, plain, used, s.lse[i + r], s.delta[i + r], s.bias, s.bits, ds, p);
    for (int64_t w = 0; w < used; w += lanes)
      store_bf16(reinterpret_cast<uint16_t*>(s.ds_rows + r * (W / 2)) + w, load(ds + w));
  }
  for (int64_t r = 0; r < rows; r += 2) {
    pair_up(s.p + r * W, s.p + (r + 1) * W, used, s.p_pairs + r / 2 * W);
    pair_up(s.ds + r * W, s.ds + (r + 1) * W, used, s.ds_pairs + r / 2 * W);
  }
}

static void backward(const AttentionHead& head, const AttentionHalves& in, const AttentionHalvesGrad& grad,
                     const Backward& s) {
  const int64_t shift = head.keys - head.queries, W = s.width;
  const Vec factor(head.scale * log2_e);
  for (int64_t g = 0; g < head.group; ++g) {
    pack_queries(head, in, grad, g, s);
    for (int64_t j = 0, tile = 0; j < head.keys; j += W, ++tile) {
      const int64_t n = smaller(W, head.keys - j), width = round_up(n, 2 * lanes);
      float *dk = s.dk + (s.tiles > 1 ? tile : 0) * W * s.dqk, *dv = s.dv_sum + (s.tiles > 1 ? tile : 0) * W * s.dv;
      pack_keys(head, in, j, n, width, s);
      if (g == 0) {
        fill_zero(dk, W * s.dqk);
        fill_zero(dv, W * s.dv);
      }
      const int64_t end = head.window > 0 ? smaller(head.queries, j + n - 1 - shift + head.window) : head.queries;
      // From an even query on, where a pair begins.
      for (int64_t i = head.causal && j > shift ? (j - shift) / 2 * 2 : 0; i < end; i += s.rows) {
        const int64_t rows = round_up(smaller(s.rows, head.queries - i), 4);
        const int64_t used =
            smaller(width, round_up(visible(head, smaller(i + rows, head.queries) - 1) - j, 2 * lanes));
        if (used <= 0) continue;
        for (int64_t w = 0; w < used; w += 2 * lanes) {
          product_column<2, 0, false>(s.q + i * (s.dqk / 2), s.dqk / 2, rows, s.dqk / 2, s.k + w, W, s.ds + w, W);
          product_column<2, 0, false>(s.dy + i * (s.dv / 2), s.dv / 2, rows, s.dv / 2, s.v + w, W, s.p + w, W);
        }
        for (int64_t r = 0; r < rows; ++r) scale_tile(s.ds + r * W, used, factor);
        tile_gradient(head, g, i, j, rows, used, s);
        add_transposed(s.dy_pairs + i / 2 * s.dv, rows / 2, s.dv, s.p_pairs, W, used, dv, W);
        add_transposed(s.q_pairs + i / 2 * s.dqk, rows / 2, s.dqk, s.ds_pairs, W, used, dk, W);
        add_product(s.ds_rows, W / 2, rows, used / 2, s.k_pairs, s.dqk, s.dq + i * s.dqk);
      }
      if (g + 1 < head.group) continue;
      put_transposed(dk, W, head.qk_dim, n, head.scale, s.turned, grad.dk + j * head.k_stride, head.k_stride);
      put_transposed(dv, W, head.v_dim, n, 1, s.turned, grad.dv + j * head.v_stride, head.v_stride);
    }
    scale_tile(s.dq, head.queries * s.dqk, Vec(head.scale));
    for (int64_t i = 0; i < head.queries; ++i)
      put_row(s.dq + i * s.dqk, grad.dq + i * head.q_stride + g * head.qk_dim, head.qk_dim);
  }
}

}  // namespace halves

int64_t attention_bf16_scratch(const AttentionHead& head) {
  Scratch s{nullptr};
  halves::Forward{head, s};
  return s.used;
}

void attention_bf16_forward(const AttentionHead& head, const AttentionHalves& in, int64_t first, int64_t last,
                            int64_t begin, int64_t end, uint16_t* y, float* lse, float* memory) {
  Scratch pieces{memory};
  const halves::Forward s(head, pieces);
  const int64_t none = first_seen(head, begin) / key_tile * key_tile;  // keys before it are not read
  const int64_t n = visible(head, end - 1) - none;
  halves::pair_rows(in.k + none * head.k_stride, head.k_stride, n, head.qk_dim, s.k, round_up(n, 4), s.dqk);
  halves::pair_neighbours(in.v + none * head.v_stride, head.v_stride, n, head.v_dim, s.v, n, s.dv);
  for (int64_t g = first; g < last; ++g) halves::forward_head(head, in, g, begin, end, s, none, y, lse);
}

int64_t attention_bf16_grad_scratch(const AttentionHead& head) {
  if (head.keys == 0) return 0;
  Scratch s{nullptr};
  halves::Backward{head, s};
  return s.used;
}

void attention_bf16_backward(const AttentionHead& head, const AttentionHalves& in, const AttentionHalvesGrad& grad,
                             float* memory) {
  if (head.keys == 0) {
    for (int64_t i = 0; i < head.queries; ++i)
      std::memset(grad.dq + i * head.q_stride, 0, static_cast<size_t>(head.group * head.qk_dim) * sizeof(uint16_t));
    return;
  }
  Scratch pieces{memory};
  halves::backward(head, in, grad, halves::Backward(head, pieces));
}

}  // namespace headroom::engine::HEADROOM_ISA
