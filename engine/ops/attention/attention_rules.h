#pragma once
// Rules that hide keys from queries, and their effect on a tile of scores: only for the kernels of attention's tiles.
#include "engine/cpu/simd_philox.h"
#include "engine/ops/attention/attention_kernel.h"
#include "engine/ops/attention/attention_tiles.h"

namespace headroom::engine::HEADROOM_ISA {

/// Forward: two vectors of queries against tiles of keys. Both numbers are even and multiples of 4.
static constexpr int64_t query_block = 2 * lanes, key_tile = 64;

/// Pads a head's width with zeros to one that the products support: 1, 2, 4 or a number of whole vectors.
static inline int64_t padded(int64_t dim) {
  if (dim <= 2) return dim;
  return dim <= 4 ? 4 : round_up(dim, lanes < 8 ? 8 : lanes);
}

/// Query i may see keys [0, visible(i)).
static inline int64_t visible(const AttentionHead& head, int64_t i) {
  if (!head.causal) return head.keys;
  const int64_t n = i + head.keys - head.queries + 1;
  return n < 0 ? 0 : smaller(n, head.keys);
}

/// The first key that query i sees.
static inline int64_t first_seen(const AttentionHead& head, int64_t i) {
  if (head.window == 0) return 0;
  const int64_t n = i + head.keys - head.queries + 1 - head.window;
  return n < 0 ? 0 : smaller(n, head.keys);
}

static inline uint64_t first_bit(const AttentionHead& head, int64_t g, int64_t i, int64_t j) {
  return head.first_index + static_cast<uint64_t>((g * head.queries + i) * head.keys + j);
}

/// Floats that random_words needs for n elements.
static inline int64_t word_room(int64_t n) { return round_up(n + 4 * philox_blocks + 4, 16); }

/// Scores of keys [j, j + rows) and queries i, i + 1, …: adds the bias, hides what may not be seen.
static inline void adjust_scores(const AttentionHead& head, int64_t g, int64_t i, int64_t j, int64_t rows,
                                 float* tile) {
  const Vec hidden(-__builtin_inff());
  const int64_t shift = head.keys - head.queries;
  // Keys before the diagonal need no check if only the diagonal hides.
  const int64_t hides_from = i + shift + 1 - j;
  const int64_t first = head.slopes || head.key_mask || head.window > 0 || hides_from < 0 ? 0 : hides_from;
  const Vec window(static_cast<float>(head.window));
  for (int n = 0; n < 2; ++n) {
    const Vec position = index_from(i + shift + n * lanes), slope(head.slopes ? head.slopes[g] * log2_e : 0);
    for (int64_t r = first; r < rows; ++r) {
      float* at = tile + r * query_block + n * lanes;
      const Vec key(static_cast<float>(j + r));
      if (head.slopes) store(at, load(at) - slope * abs(position - key));
      if (head.causal) store(at, select(position < key, hidden, load(at)));
      if (head.window > 0) store(at, select(position - key < window, load(at), hidden));
      if (head.key_mask && !head.key_mask[j + r]) store(at, hidden);
    }
  }
}

/// Zeroes the dropped probabilities. Random bits run along the keys and are transposed, without arithmetic on them.
static inline void drop(const AttentionHead& head, int64_t g, int64_t i, int64_t j, int64_t rows, float* tile,
                        float* bits) {
  auto* words = reinterpret_cast<uint32_t*>(bits);
  auto* turned = words + word_room(key_tile);
  const int64_t queries = smaller(query_block, head.queries - i);
  for (int64_t lane = 0; lane < queries; ++lane) {
    const int64_t at = random_words(first_bit(head, g, i + lane, j), rows, head.seed, head.stream, words);
    for (int64_t r = 0; r < rows; ++r) turned[r * query_block + lane] = words[at + r];
  }
  for (int64_t e = 0; e < rows * query_block; e += lanes)
    store(tile + e, select(below(turned + e, head.dropped_below), Vec(0.0f), load(tile + e)));
}

/// tile = 2^(tile - top) for one vector of queries; returns their sum over the rows.
static inline Vec exponentials(float* tile, int64_t rows, Vec top) {
  Vec total(0.0f);
  for (int64_t r = 0; r < rows; ++r, tile += query_block) {
    const Vec p = exp2(load(tile) - top);
    total += p;
    store(tile, p);
  }
  return total;
}

/// The softmax of two vectors of queries over tiles of keys (key_tile, query_block), one after another.
struct TileSoftmax {
  // Finite, so that hidden scores (-inf) give 2^-inf = 0 even before any other is seen.
  Vec top0 = Vec(-1e30f), top1 = Vec(-1e30f), total0 = Vec(0.0f), total1 = Vec(0.0f);

  /// Turns a tile's scores into exponentials below the largest score so far, and `sum` (depth, query_block) into what
  /// it is below that.
  inline __attribute__((always_inline)) void take(float* tile, int64_t rows, float* sum, int64_t depth) {
    constexpr int64_t W = query_block;
    Vec new0 = top0, new1 = top1;
    for (int64_t r = 0; r < rows; ++r) {
      new0 = maximum(load(tile + r * W), new0);
      new1 = maximum(load(tile + r * W + lanes), new1);
    }
    const Vec shrink0 = exp2(top0 - new0), shrink1 = exp2(top1 - new1);
    top0 = new0, top1 = new1;
    total0 *= shrink0, total1 *= shrink1;
    for (int64_t d = 0; d < depth; ++d) {
      store(sum + d * W, load(sum + d * W) * shrink0);
      store(sum + d * W + lanes, load(sum + d * W + lanes) * shrink1);
    }
    total0 += exponentials(tile, rows, top0);
    total1 += exponentials(tile + lanes, rows, top1);
  }

  /// Divides the sum by the total, and gives the first n queries' log-sum-exp.
  inline __attribute__((always_inline)) void finish(const AttentionHead& head, float* sum, float* lse,
                                                    int64_t n) const {
    constexpr int64_t W = query_block;
    const Vec zero(0.0f), kept(head.kept_scale), unit(ln_2);
    const Vec inverse0 = select(total0 == zero, zero, kept / total0);
    const Vec inverse1 = select(total1 == zero, zero, kept / total1);
    for (int64_t d = 0; d < head.v_dim; ++d) {
      store(sum + d * W, load(sum + d * W) * inverse0);
      store(sum + d * W + lanes, load(sum + d * W + lanes) * inverse1);
    }
    float log_sum[W];
    store(log_sum, fma(top0, unit, log(total0)));
    store(log_sum + lanes, fma(top1, unit, log(total1)));
    std::memcpy(lse, log_sum, static_cast<size_t>(n) * sizeof(float));
  }
};

/// One row of a tile, query i against keys j …: turns scores and dp into ds and the probabilities for dv, if every key
/// may be seen.
static inline void plain_gradient(int64_t width, float lse, float delta, const float* bias, float* ds, float* p) {
  for (int64_t w = 0; w < width; w += lanes) {
    const Vec prob = exp2(load(ds + w) + (load(bias + w) + Vec(lse)));
    store(ds + w, prob * (load(p + w) + Vec(delta)));
    store(p + w, prob);
  }
}

/// The same from key w on, if the diagonal, the window, a slope or dropout matters. Returns Σ ds · distance per lane.
static inline Vec special_gradient(const AttentionHead& head, int64_t g, int64_t i, int64_t j, int64_t w, int64_t width,
                                   float lse, float delta, const float* bias, float* bits, float* ds, float* p) {
  const Vec position(static_cast<float>(i + head.keys - head.queries)), zero(0.0f);
  const Vec slope(head.slopes ? head.slopes[g] * log2_e : 0), last(static_cast<float>(visible(head, i)));
  const Vec first(static_cast<float>(first_seen(head, i)));
  auto* words = reinterpret_cast<uint32_t*>(bits);
  if (head.dropout) words += random_words(first_bit(head, g, i, j), width, head.seed, head.stream, words);
  Vec slope_sum = zero;
  for (; w < width; w += lanes) {
    const Vec key = index_from(j + w), distance = abs(position - key);
    const Vec score = load(ds + w) + (load(bias + w) + Vec(lse)) - slope * distance;
    const Vec prob = select(key < first, zero, select(key < last, exp2(score), zero));
    Vec kept(1.0f);
    if (head.dropout) kept = select(below(words + w, head.dropped_below), zero, Vec(head.kept_scale));
    const Vec gradient = prob * fma(load(p + w), kept, Vec(delta));
    slope_sum = fma(gradient, distance, slope_sum);
    store(ds + w, gradient);
    store(p + w, prob * kept);
  }
  return slope_sum;
}

}  // namespace headroom::engine::HEADROOM_ISA
