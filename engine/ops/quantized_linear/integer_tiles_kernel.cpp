// Products of many rows in 8 bits, compiled for CPUs with VNNI alone. A lane of two vectors has a row of W, so that a
// sum of f32 goes through the blocks in order and never over lanes.
#include "engine/ops/quantized_linear/integer_kernel.h"

#include "engine/ops/quantized_linear/quantized_linear_blocks.h"
#include "engine/quantized/activations_kernel.h"

namespace headroom::engine::HEADROOM_ISA {

static constexpr int wide = 2, panel = wide * lanes;
static constexpr int fours = activation_block / 4;

/// 32 columns of `panel` rows of W: four columns of each row are a lane of q.
template <class Blocks>
struct alignas(64) PanelBlock {
  int8_t q[wide][fours][lanes][4];
  int32_t start[wide][Blocks::scales][lanes];  ///< -128 · Σ q: what the activations' 128 add is taken off beforehand
  float d[wide][Blocks::scales][lanes], m[wide][lanes];
};

static inline RawI load_integers(const void* p) {
  RawI x;
  std::memcpy(&x, p, sizeof(x));
  return x;
}

/// c + the products of four unsigned bytes by four signed ones, in each lane.
static inline RawI add_dots(RawI c, RawI unsigned_bytes, RawI signed_bytes) {
  return reinterpret_cast<RawI>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(c),
                                                    reinterpret_cast<__m512i>(unsigned_bytes),
                                                    reinterpret_cast<__m512i>(signed_bytes)));
}

/// Rows [first, first + panel) of W; those that it lacks are copies of its last.
template <class Blocks>
static void lay_out(const FewRows<ByteRows>& p, int64_t first, PanelBlock<Blocks>* to) {
  const int64_t blocks = p.cols / activation_block, last = p.w_rows - 1;
  alignas(32) float d[Blocks::scales][8], m[8];
  for (int r = 0; r < panel; ++r) {
    const int v = r / lanes, lane = r % lanes;
    const uint8_t* w = p.w + (first + r < last ? first + r : last) * p.row_bytes;
    for (int64_t b = 0; b < blocks; b += 8, w += Blocks::group_bytes) {
      const int count = blocks - b < 8 ? static_cast<int>(blocks - b) : 8;
      const auto scales = Blocks::scales_of(w, count);
      for (int s = 0; s < Blocks::scales; ++s) _mm256_store_ps(d[s], scales.d[s]);
      _mm256_store_ps(m, scales.m);
      for (int i = 0; i < count; ++i) {
        PanelBlock<Blocks>& block = to[b + i];
        alignas(32) int8_t q[fours][4];
        _mm256_store_si256(reinterpret_cast<__m256i*>(q), Blocks::values_of(w, i));
        for (int k = 0; k < fours; ++k) std::memcpy(block.q[v][k][lane], q[k], 4);
        for (int s = 0; s < Blocks::scales; ++s) block.d[v][s][lane] = d[s][i];
        block.m[v][lane] = m[i];
      }
    }
  }
  const RawI all_128 = RawI{} + INT32_C(-0x7f7f7f80);  // bytes 0x80
  for (int64_t b = 0; b < blocks; ++b)
    for (int v = 0; v < wide; ++v)
      for (int s = 0; s < Blocks::scales; ++s) {
        RawI sum{};
        for (int k = 0; k < fours / Blocks::scales; ++k)
          sum = add_dots(sum, all_128, load_integers(to[b].q[v][s * fours / Blocks::scales + k]));
        sum = -sum;
        std::memcpy(to[b].start[v][s], &sum, sizeof(sum));
      }
}

/// Rows [x0, x0 + R) of x with the `rows` rows of a panel, to y of its first.
template <class Blocks, int R>
static void multiply(const FewRows<ByteRows>& p, const PanelBlock<Blocks>* w, int64_t x0, int64_t rows, float* y) {
  const int64_t blocks = p.cols / activation_block;
  Vec sums[R][wide];
  for (auto& row : sums) row[0] = row[1] = Vec(0.0f);
  const auto* const x = reinterpret_cast<const uint8_t*>(p.x.values) + x0 * p.x.blocks * activation_block;
  const float *const scales = p.x.scales + x0 * p.x.blocks, *const totals = p.x.sums + x0 * p.x.blocks;
  for (int64_t b = 0; b < blocks; ++b) {
    const PanelBlock<Blocks>& block = w[b];
#pragma GCC unroll 2
    for (int s = 0; s < Blocks::scales; ++s) {
      RawI dots[R][wide];
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r)
        for (int v = 0; v < wide; ++v) dots[r][v] = load_integers(block.start[v][s]);
#pragma GCC unroll 8
      for (int i = 0; i < fours / Blocks::scales; ++i) {
        const int k = s * fours / Blocks::scales + i;
        const RawI q[wide] = {load_integers(block.q[0][k]), load_integers(block.q[1][k])};
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
          const RawI a = RawI{} + word_at(x + (r * p.x.blocks + b) * activation_block + 4 * k);
          for (int v = 0; v < wide; ++v) dots[r][v] = add_dots(dots[r][v], a, q[v]);
        }
      }
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const Vec scale(scales[r * p.x.blocks + b]);
        for (int v = 0; v < wide; ++v)
          sums[r][v] = fma(__builtin_convertvector(dots[r][v], RawF), load(block.d[v][s]) * scale, sums[r][v]);
      }
    }
    if constexpr (Blocks::has_minimum)
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const Vec total(totals[r * p.x.blocks + b]);
        for (int v = 0; v < wide; ++v) sums[r][v] = fma(load(block.m[v]), total, sums[r][v]);
      }
  }
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < wide; ++v) {
      float* const to = y + (x0 + r) * p.y_row + v * lanes;
      if (rows >= (v + 1) * lanes) store(to, sums[r][v]);
      else if (rows > v * lanes) store_first(to, sums[r][v], rows - v * lanes);
    }
}

/// Rows of x at once: their sums, their dots and what they are made of fill the registers.
static constexpr int most = 6;

template <class Blocks>
static void all_rows(const FewRows<ByteRows>& p, uint8_t* scratch) {
  static_assert(sizeof(PanelBlock<Blocks>) <= integer_tiles_scratch);
  auto* const w = reinterpret_cast<PanelBlock<Blocks>*>(scratch);
  for (int64_t first = 0; first < p.w_rows; first += panel) {
    lay_out(p, first, w);
    const int64_t rows = p.w_rows - first;
    float* const y = p.y + first;
    int64_t x = 0;
    for (; x + most <= p.x_rows; x += most) multiply<Blocks, most>(p, w, x, rows, y);
    const auto rest = [&]<int R>() {
      for (; x + R <= p.x_rows; x += R) multiply<Blocks, R>(p, w, x, rows, y);
    };
    rest.template operator()<3>();
    rest.template operator()<2>();
    rest.template operator()<1>();
  }
}

void integer_tiles(const FewRows<ByteRows>& p, uint8_t* scratch) {
  visit_format(p.format, [&](auto f) {
    if constexpr (decltype(f)::has_integer_products) all_rows<IntegerBlocks<decltype(f)>>(p, scratch);
  });
}

}  // namespace headroom::engine::HEADROOM_ISA
