// Rows in fewer bits, and attention over them: the formats of key-value caches.
#include "engine/ops/packed_rows/packed_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "engine/ops/attention/attention.h"
#include "engine/ops/attention/packed_attention.h"
#include "engine/ops/operators.h"
#include "engine/quantized/quantize.h"
#include "engine/rng.h"
#include "tests/support/catch.h"

namespace headroom::engine {
namespace {

using testing::contains;

Tensor normal(const Shape& shape, uint64_t seed) { return random_normal(shape, 0, 1, {seed, 0, 0}); }

}  // namespace

TEST_CASE("packed rows: each number is the nearest of its format, and q8_0 has ggml's blocks") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  const Tensor x = normal({3, 2, 64}, 1);
  for (const BlockFormat format : packed_formats) {
    INFO(traits_of(format).name);
    const PackedRows packed = pack_rows(x, format);
    CHECK(packed.bytes.shape() == Shape{3, 2, packed_bytes(format, 64)});
    const Tensor back = unpack_rows(packed);
    REQUIRE(back.shape() == x.shape());
    for (int64_t i = 0; i < x.numel(); ++i) {
      const float value = x.data<float>()[i], got = back.data<float>()[i];
      if (format == BlockFormat::f16) CHECK(got == static_cast<float>(f16(value)));
      if (format == BlockFormat::bf16) CHECK(got == static_cast<float>(bf16(value)));
    }
  }
  const PackedRows packed = pack_rows(x, BlockFormat::q8_0);
  const QuantizedMatrix matrix = quantize(x.reshape({6, 64}), BlockFormat::q8_0);
  CHECK(unpack_rows(packed).to_vector<float>() == matrix.dequantize().to_vector<float>());
  // The number of largest size becomes -8 steps, and those beyond 7 steps on the other side are cut.
  Tensor levels = Tensor::zeros({1, 32});
  const std::vector<float> some{-4, 3.5F, 3.7F, 0, 1.2F, -0.3F, 0.25F, -3.8F};
  std::copy(some.begin(), some.end(), levels.mutable_data<float>());
  const std::vector<float> rounded = unpack_rows(pack_rows(levels, BlockFormat::q4_0)).to_vector<float>();
  CHECK(std::vector<float>(rounded.begin(), rounded.begin() + 8) ==
        std::vector<float>{-4, 3.5F, 3.5F, 0, 1, -0.5F, 0.5F, -4});
  const Tensor coarse = unpack_rows(pack_rows(x, BlockFormat::q4_0));
  for (int64_t block = 0; block < x.numel() / 32; ++block) {
    const float *own = x.data<float>() + 32 * block, *got = coarse.data<float>() + 32 * block;
    const float most =
        std::abs(*std::max_element(own, own + 32, [](float a, float b) { return std::abs(a) < std::abs(b); }));
    for (int i = 0; i < 32; ++i) CHECK(std::abs(own[i] - got[i]) <= most / 8 * 1.01F);
  }
  CHECK(unpack_rows(pack_rows(Tensor::zeros({1, 32}), BlockFormat::q4_0)).to_vector<float>() ==
        std::vector<float>(32, 0.0F));
  CHECK_THROWS_WITH(pack_rows(Tensor::full({1, 32}, 1e9), BlockFormat::q4_0), contains("too large for a scale"));
  CHECK(packed_bytes(BlockFormat::q8_0, 64) == 68);
  CHECK(packed_bytes(BlockFormat::q4_0, 64) == 36);
  CHECK_THROWS_WITH(pack_rows(normal({2, 40}, 1), BlockFormat::q8_0),
                    "pack rows: rows of 40 are no whole blocks of 32 numbers of q8_0");
  CHECK_THROWS_WITH(packed_bytes(BlockFormat::q4_k, 256), contains("q4_k is not packed; known: f16, bf16, q8_0, q4_0"));
  CHECK_THROWS_WITH(pack_rows(Tensor::full({1, 32}, 1e9), BlockFormat::q8_0), contains("too large for a scale"));
}

TEST_CASE("packed rows: turned by a Hadamard matrix, which is its own inverse and tames an outlier") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  for (const auto& [dim, run] : {std::pair<int64_t, int64_t>(64, 64), {96, 32}}) {
    const Tensor x = normal({3, 2, dim}, 1), turned = turned_rows(x, BlockFormat::q4_0);
    const Tensor back = turned_rows(turned, BlockFormat::q8_0);
    for (int64_t i = 0; i < x.numel(); ++i) {
      const int64_t first = i / run * run;
      double wanted = 0;
      for (int64_t j = 0; j < run; ++j)
        wanted += (std::popcount(static_cast<uint64_t>((i - first) & j)) % 2 ? -1 : 1) * x.data<float>()[first + j];
      CHECK(turned.data<float>()[i] == Approx(wanted / std::sqrt(run)).margin(1e-5));
      CHECK(back.data<float>()[i] == Approx(x.data<float>()[i]).margin(1e-5));
    }
  }
  const Tensor x = normal({4, 64}, 2), scales = normal({64}, 3);
  CHECK(turned_rows(x, BlockFormat::f16, scales).to_vector<float>() == x.to_vector<float>());
  CHECK(turned_rows(x, BlockFormat::q8_0, scales).to_vector<float>() ==
        turned_rows(x * scales, BlockFormat::q8_0).to_vector<float>());
  const Tensor wide = normal({4, 96}, 2), wide_scales = normal({96}, 3);  // three runs of 32
  CHECK(turned_rows(wide, BlockFormat::q8_0, wide_scales).to_vector<float>() ==
        turned_rows(wide * wide_scales, BlockFormat::q8_0).to_vector<float>());
  CHECK(turned_rows(x, BlockFormat::q8_0, Tensor::full({1}, 3).expand({64})).to_vector<float>() ==
        turned_rows(x * 3, BlockFormat::q8_0).to_vector<float>());  // scales that lie in one number
  CHECK_THROWS_WITH(turned_rows(x, BlockFormat::q8_0, wide_scales), contains("turn rows: scales"));
  for (int64_t row = 0; row < 4; ++row) x.mutable_data<float>()[row * 64 + 5] = 40;
  const auto error = [&](const Tensor& rounded) {
    double sum = 0;
    for (int64_t i = 0; i < x.numel(); ++i) sum += std::pow(rounded.data<float>()[i] - x.data<float>()[i], 2);
    return sum;
  };
  const auto held = [](const Tensor& rows) { return unpack_rows(pack_rows(rows, BlockFormat::q4_0)); };
  CHECK(error(turned_rows(held(turned_rows(x, BlockFormat::q4_0)), BlockFormat::q4_0)) < 0.5 * error(held(x)));
}

TEST_CASE("attention over packed rows has the bits of attention over their numbers") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  struct Sizes {
    int64_t queries, keys, heads, kv_heads, qk_dim, v_dim;
  };
  for (const Sizes& s : {Sizes{1, 700, 6, 2, 64, 32}, Sizes{5, 300, 4, 4, 32, 96}, Sizes{40, 200, 3, 1, 64, 64},
                         Sizes{7, 7, 2, 2, 32, 32}, Sizes{1, 300, 5, 1, 96, 128}, Sizes{2, 257, 7, 1, 32, 160}})
    for (const BlockFormat format : packed_formats)
      for (const int64_t window : {int64_t{0}, int64_t{33}}) {
        INFO(s.queries << " queries, " << s.keys << " keys, " << traits_of(format).name << ", window " << window);
        const Tensor q = normal({2, s.queries, s.heads, s.qk_dim}, 2);
        // A cache has more memory than tokens: rows are strided.
        const PackedRows k_all = pack_rows(normal({2, s.keys + 9, s.kv_heads, s.qk_dim}, 3), format),
                         v_all = pack_rows(normal({2, s.keys + 9, s.kv_heads, s.v_dim}, 4), format);
        const PackedRows k{k_all.bytes.slice(1, 4, s.keys + 4), format, s.qk_dim},
            v{v_all.bytes.slice(1, 4, s.keys + 4), format, s.v_dim};
        const Tensor slopes = normal({s.heads}, 5);
        const AttentionOptions options{.causal = true, .scale = 0.2, .window = window};
        const Tensor wanted = attention(q, unpack_rows(k), unpack_rows(v), slopes, options).y;
        CHECK(packed_attention(q, k, v, slopes, options).to_vector<float>() == wanted.to_vector<float>());
      }
  const PackedRows k = pack_rows(normal({1, 4, 2, 32}, 3), BlockFormat::f16);
  CHECK_THROWS_WITH(packed_attention(normal({1, 1, 3, 32}, 2), k, k, {}, {}),
                    contains("3 query heads cannot share 2 key-value heads"));
}

}  // namespace headroom::engine
