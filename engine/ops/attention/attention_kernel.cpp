#include "engine/ops/attention/attention_kernel.h"

#include "engine/ops/attention/attention_rules.h"

namespace headroom::engine::HEADROOM_ISA {

/// out (out_rows, out_dim) = factor · x, zero beyond x's rows and dim.
static void pack_rows(const float* x, int64_t stride, int64_t rows, int64_t dim, float factor, float* out,
                      int64_t out_rows, int64_t out_dim) {
  if (dim < out_dim) fill_zero(out, rows * out_dim);
  fill_zero(out + rows * out_dim, (out_rows - rows) * out_dim);
  copy_to(x, stride, rows, dim, factor, out, out_dim);
}

/// out (out_dim, out_rows of out_stride) = factor · xᵀ, zero beyond x's rows and dim.
static void pack_columns(const float* x, int64_t stride, int64_t rows, int64_t dim, float factor, float* out,
                         int64_t out_rows, int64_t out_dim, int64_t out_stride) {
  for (int64_t c = 0; c < out_dim; ++c) {
    const int64_t filled = c < dim ? rows : 0;
    fill_zero(out + c * out_stride + filled, out_rows - filled);
  }
  transpose_to(x, stride, rows, dim, factor, out, out_stride);
}

struct ForwardScratch {
  float *k, *v, *q, *sum, *tile, *bits;
  ForwardScratch(const AttentionHead& head, Scratch& s)
      : k(s.take((head.keys + 4) * padded(head.qk_dim))),
        v(s.take((head.keys + 4) * padded(head.v_dim))),
        q(s.take(padded(head.qk_dim) * query_block)),
        sum(s.take(padded(head.v_dim) * query_block)),
        tile(s.take(key_tile * query_block)),
        bits(s.take(word_room(key_tile) + key_tile * query_block)) {}
};

int64_t attention_scratch(const AttentionHead& head) {
  Scratch s{nullptr};
  ForwardScratch{head, s};
  return s.used;
}

/// Query head g, queries [begin, end), against the packed keys and values.
static void forward_head(const AttentionHead& head, int64_t g, int64_t begin, int64_t end, const ForwardScratch& s,
                         float* y, float* lse) {
  const int64_t dqk = padded(head.qk_dim), dv = padded(head.v_dim), W = query_block;
  const int64_t shift = head.keys - head.queries;
  for (int64_t i = begin; i < end; i += W) {
    const int64_t n = smaller(W, end - i), limit = visible(head, i + n - 1);
    const int64_t hidden = first_seen(head, i + n - 1);  // from the last query, the first keys
    pack_columns(head.q + i * head.q_stride + g * head.q_head_stride, head.q_stride, n, head.qk_dim,
                 head.scale * log2_e, s.q, W, dqk, W);
    fill_zero(s.sum, dv * W);
    TileSoftmax softmax;
    for (int64_t j = first_seen(head, i) / key_tile * key_tile; j < limit; j += key_tile) {
      const int64_t rows = smaller(key_tile, limit - j);
      product(s.k + j * dqk, round_up(rows, 4), dqk, s.q, W, W, s.tile, W);
      if (head.slopes != nullptr || head.key_mask != nullptr || (head.causal && j + rows - 1 > i + shift) || j < hidden)
        adjust_scores(head, g, i, j, rows, s.tile);
      softmax.take(s.tile, rows, s.sum, dv);
      if (head.dropout) drop(head, g, i, j, rows, s.tile, s.bits);
      add_transposed(s.v + j * dv, rows, dv, s.tile, W, W, s.sum, W);
    }
    softmax.finish(head, s.sum, lse + g * head.queries + i, n);
    transpose_to(s.sum, W, head.v_dim, n, 1, y + i * head.y_stride + g * head.v_dim, head.y_stride);
  }
}

void attention_forward(const AttentionHead& head, int64_t first, int64_t last, int64_t begin, int64_t end, float* y,
                       float* lse, float* memory) {
  Scratch pieces{memory};
  const ForwardScratch s(head, pieces);
  const int64_t all = visible(head, end - 1), dqk = padded(head.qk_dim), dv = padded(head.v_dim);
  const int64_t none = first_seen(head, begin) / key_tile * key_tile, n = all - none;  // keys before it are not read
  pack_rows(head.k + none * head.k_stride, head.k_stride, n, head.qk_dim, 1, s.k + none * dqk, round_up(n, 4), dqk);
  pack_rows(head.v + none * head.v_stride, head.v_stride, n, head.v_dim, 1, s.v + none * dv, n, dv);
  for (int64_t g = first; g < last; ++g) forward_head(head, g, begin, end, s, y, lse);
}

/// Backward: tiles of queries × keys, keys along the lanes.
struct BackwardScratch {
  int64_t dqk, dv, width, rows, tiles;
  float *q, *dy, *lse, *delta, *dq, *k, *k_rows, *v, *dk, *dv_sum, *bias, *p, *ds, *bits;
  BackwardScratch(const AttentionHead& head, Scratch& s)
      : dqk(padded(head.qk_dim)),
        dv(padded(head.v_dim)),
        // Narrow heads take wide tiles: their dq is summed along the lanes, once per tile.
        width(smaller(round_up(head.keys, 2 * lanes), dqk <= 8 && dv <= 8 ? 128 : 64)),
        rows(width > 64 ? 16 : 32),
        tiles(head.group == 1 ? 1 : (head.keys + width - 1) / width),
        q(s.take((head.queries + 4) * dqk)),
        dy(s.take((head.queries + 4) * dv)),
        lse(s.take(head.queries + 4)),
        delta(s.take(head.queries + 4)),
        dq(s.take((head.queries + 4) * dqk)),
        k(s.take(width * dqk)),
        k_rows(s.take(width * dqk)),
        v(s.take(width * dv)),
        dk(s.take(tiles * width * dqk)),
        dv_sum(s.take(tiles * width * dv)),
        bias(s.take(width)),
        p(s.take(rows * width)),
        ds(s.take(rows * width)),
        bits(s.take(word_room(width))) {}
};

int64_t attention_grad_scratch(const AttentionHead& head) {
  if (head.keys == 0) return 0;
  Scratch s{nullptr};
  BackwardScratch{head, s};
  return s.used;
}

/// The rows of head g: scaled queries, dy, and per row -log2 of its sum of exponentials and -delta. Rows past the last
/// have probability 0.
static void pack_queries(const AttentionHead& head, const AttentionHeadGrad& grad, int64_t g,
                         const BackwardScratch& s) {
  const int64_t n = head.queries;
  const float *dy = grad.dy + g * head.v_dim, *y = grad.y + g * head.v_dim;
  pack_rows(head.q + g * head.qk_dim, head.q_stride, n, head.qk_dim, head.scale * log2_e, s.q, n + 4, s.dqk);
  pack_rows(dy, head.y_stride, n, head.v_dim, 1, s.dy, n + 4, s.dv);
  for (int64_t i = 0; i < n + 4; ++i) {
    float total = 0;
    for (int64_t c = 0; c < head.v_dim && i < n; ++c) total += dy[i * head.y_stride + c] * y[i * head.y_stride + c];
    s.delta[i] = -total;
    const float sum = i < n ? grad.lse[g * n + i] : -__builtin_inff();
    s.lse[i] = sum == -__builtin_inff() ? sum : -sum * log2_e;
  }
  fill_zero(s.dq, (n + 4) * s.dqk);
}

static void pack_keys(const AttentionHead& head, int64_t j, int64_t n, int64_t width, const BackwardScratch& s) {
  const float *k = head.k + j * head.k_stride, *v = head.v + j * head.v_stride;
  pack_columns(k, head.k_stride, n, head.qk_dim, 1, s.k, width, s.dqk, s.width);
  pack_columns(v, head.v_stride, n, head.v_dim, 1, s.v, width, s.dv, s.width);
  if (s.dqk > 4) pack_rows(k, head.k_stride, n, head.qk_dim, 1, s.k_rows, width, s.dqk);
  for (int64_t c = 0; c < width; ++c)
    s.bias[c] = c < n && (!head.key_mask || head.key_mask[j + c]) ? 0 : -__builtin_inff();
}

void attention_backward(const AttentionHead& head, const AttentionHeadGrad& grad, float* memory) {
  if (head.keys == 0) {
    for (int64_t i = 0; i < head.queries; ++i)
      for (int64_t c = 0; c < head.group * head.qk_dim; ++c) grad.dq[i * head.q_stride + c] = 0;
    for (int64_t g = 0; g < head.group && grad.dslopes; ++g) grad.dslopes[g] = 0;
    return;
  }
  Scratch pieces{memory};
  const BackwardScratch s(head, pieces);
  const int64_t shift = head.keys - head.queries, W = s.width;
  const bool special = head.slopes || head.dropout;
  for (int64_t g = 0; g < head.group; ++g) {
    pack_queries(head, grad, g, s);
    Vec slope_sum(0.0f);
    for (int64_t j = 0, tile = 0; j < head.keys; j += W, ++tile) {
      const int64_t n = smaller(W, head.keys - j), width = round_up(n, 2 * lanes);
      float *dk = s.dk + (s.tiles > 1 ? tile : 0) * W * s.dqk, *dv = s.dv_sum + (s.tiles > 1 ? tile : 0) * W * s.dv;
      pack_keys(head, j, n, width, s);
      if (g == 0) {
        fill_zero(dk, W * s.dqk);
        fill_zero(dv, W * s.dv);
      }
      const int64_t end = head.window > 0 ? smaller(head.queries, j + n - 1 - shift + head.window) : head.queries;
      for (int64_t i = head.causal && j > shift ? j - shift : 0; i < end; i += s.rows) {
        const int64_t rows = smaller(s.rows, head.queries - i), rows4 = round_up(rows, 4);
        const int64_t used = smaller(width, round_up(visible(head, i + rows - 1) - j, 2 * lanes));
        product(s.q + i * s.dqk, rows4, s.dqk, s.k, W, used, s.ds, W);
        product(s.dy + i * s.dv, rows4, s.dv, s.v, W, used, s.p, W);
        for (int64_t r = 0; r < rows4; ++r) {
          float *ds = s.ds + r * W, *p = s.p + r * W;
          const float lse = s.lse[i + r], delta = s.delta[i + r];
          const int64_t seen = visible(head, i + r) - j;
          const bool is_special = special || first_seen(head, i + r) > j;
          const int64_t plain = is_special ? 0 : seen < used ? (seen > 0 ? seen : 0) / lanes * lanes : used;
          plain_gradient(plain, lse, delta, s.bias, ds, p);
          if (plain < used)
            slope_sum += special_gradient(head, g, i + r, j, plain, used, lse, delta, s.bias, s.bits, ds, p);
        }
        add_transposed(s.dy + i * s.dv, rows, s.dv, s.p, W, used, dv, W);
        add_transposed(s.q + i * s.dqk, rows, s.dqk, s.ds, W, used, dk, W);
        float* dq = s.dq + i * s.dqk;
        if (s.dqk == 1) add_row_sums<1>(s.ds, W, rows4, s.k, W, used, dq);
        else if (s.dqk == 2) add_row_sums<2>(s.ds, W, rows4, s.k, W, used, dq);
        else if (s.dqk == 4) add_row_sums<4>(s.ds, W, rows4, s.k, W, used, dq);
        else add_product(s.ds, W, rows4, used, s.k_rows, s.dqk, dq);
      }
      if (g + 1 < head.group) continue;
      // The queries were packed with scale · log2 e: dk takes the log2 e back.
      transpose_to(dk, W, head.qk_dim, n, ln_2, grad.dk + j * head.k_stride, head.k_stride);
      transpose_to(dv, W, head.v_dim, n, 1, grad.dv + j * head.v_stride, head.v_stride);
    }
    copy_to(s.dq, s.dqk, head.queries, head.qk_dim, head.scale, grad.dq + g * head.qk_dim, head.q_stride);
    if (grad.dslopes) grad.dslopes[g] = -sum(slope_sum);
  }
}

}  // namespace headroom::engine::HEADROOM_ISA
