// Rows of a key-value cache in fewer bits on a GPU, or the emulator: the bytes of the CPU, and attention over them.
#include "engine/ops/packed_rows/packed_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/context.h"
#include "engine/decoding/token_state.h"
#include "engine/ops/attention/attention.h"
#include "engine/ops/attention/packed_attention.h"
#include "engine/ops/operators.h"
#include "engine/transfer.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace {

using namespace headroom;
using namespace headroom::engine;
using testing::contains;

constexpr Device cuda{Device::Kind::cuda, 0};

bool is_absent() {
  if (has_device(cuda.kind)) return false;
  testing::skip("no CUDA device");
  return true;
}

Tensor normal(const Shape& shape, uint32_t stream) { return random_normal(shape, 0, 1, {5, stream, 0}); }

std::vector<uint8_t> bytes_of(const PackedRows& rows) { return rows.bytes.to_vector<uint8_t>(); }

std::vector<uint32_t> bits_of(const Tensor& x) {
  std::vector<uint32_t> out;
  for (const float value : x.to_vector<float>()) out.push_back(std::bit_cast<uint32_t>(value));
  return out;
}

/// Packs on both devices and compares.
void check_packed(const Tensor& x) {
  for (const BlockFormat format : packed_formats) {
    INFO(traits_of(format).name << " " << x.str());
    const PackedRows want = pack_rows(x, format), got = pack_rows(x.to(cuda), format);
    CHECK(got.bytes.device() == cuda);
    CHECK(bytes_of(got) == bytes_of(want));
    CHECK(bits_of(unpack_rows(got)) == bits_of(unpack_rows(want)));
  }
}

/// Rows of 32: each has one of these at every place but the first, which holds `first`.
Tensor rows_of(const std::vector<float>& values, float first) {
  std::vector<float> all;
  for (const float value : values)
    for (int i = 0; i < 32; ++i) all.push_back(i == 0 ? first : value);
  return Tensor::from({static_cast<int64_t>(values.size()), 32}, all);
}

PackedRows to(const PackedRows& rows, Device device) { return {rows.bytes.to(device), rows.format, rows.dim}; }

}  // namespace

TEST_CASE("packed rows on CUDA are the CPU's bytes: any size of numbers, ties, zeros and subnormals") {
  if (is_absent()) return;
  for (const float size : {1.0f, 1e-3f, 1e3f, 1e-6f, 1e-9f, 1e-39f, 0.0f})
    check_packed(normal({7, 3, 96}, 1) * static_cast<double>(size));
  Tensor wide = normal({64, 64}, 2);  // sizes from 2^-40 to 2^15 within each block
  for (int64_t i = 0; i < wide.numel(); ++i)
    wide.mutable_data<float>()[i] = std::ldexp(wide.data<float>()[i], static_cast<int>(i * 7 % 56) - 42);
  check_packed(wide);
  const float tiny = std::ldexp(1.0f, -149);
  const std::vector<float> edges{0.0f,     -0.0f,   tiny,     -tiny, 0x1p-14f, 0x1p-24f,    0x1.8p-25f,
                                 0x1p-25f, 6.1e-5f, 5.96e-8f, 1.5f,  0.5f,     1 + 0x1p-11f};
  for (const float first : {127.0f, -127.0f, 8.0f, -8.0f, 1e-7f, 0x1p-17f, 0.0f}) check_packed(rows_of(edges, first));
  std::vector<float> ties;  // halves of a step in q8_0 and q4_0
  for (int i = -31; i < 32; ++i) ties.push_back(static_cast<float>(i) * 0.5f);
  for (const float first : {127.0f, -127.0f, 8.0f, -8.0f, 16.0f}) check_packed(rows_of(ties, first));
  check_packed(normal({3, 5, 64}, 3).transpose(0, 1));
  check_packed(normal({2, 64}, 4).to(DType::bf16));
  CHECK(pack_rows(Tensor::zeros({0, 32}, DType::f32, cuda), BlockFormat::q8_0).bytes.shape() == Shape{0, 34});
}

TEST_CASE("what no packed row can hold: halves overflow as on the CPU, blocks give no finite number") {
  if (is_absent()) return;
  const std::vector<float> extremes{65504.0f, 65519.9f, 65520.0f, 1e38f, INFINITY, -INFINITY, NAN, -NAN, 3.4e38f};
  const Tensor x = rows_of(extremes, 1);
  for (const BlockFormat format : {BlockFormat::f16, BlockFormat::bf16}) {
    INFO(traits_of(format).name);
    CHECK(bytes_of(pack_rows(x.to(cuda), format)) == bytes_of(pack_rows(x, format)));
  }
  for (const BlockFormat format : {BlockFormat::q8_0, BlockFormat::q4_0})
    for (const float bad : {INFINITY, -INFINITY, NAN, 1e38f, 9e6f}) {
      INFO(traits_of(format).name << " " << bad);
      const Tensor row = normal({2, 64}, 5);
      row.mutable_data<float>()[40] = bad;
      row.mutable_data<float>()[41] = 1e3f;  // the number after NaN counts, too
      CHECK_THROWS_WITH(pack_rows(row, format),
                        "pack rows: a row holds NaN or a number too large for a scale of 16 bits");
      const std::vector<float> back = unpack_rows(pack_rows(row.to(cuda), format)).to_vector<float>();
      for (size_t i = 0; i < back.size(); ++i) CHECK(std::isfinite(back[i]) == (i < 32 || i >= 64));
    }
}

TEST_CASE("rows are turned on CUDA with the CPU's bits") {
  if (is_absent()) return;
  for (const int64_t dim : {32, 64, 96, 160, 512, 1024})
    for (const bool is_scaled : {false, true}) {
      INFO(dim << " " << is_scaled);
      const Tensor x = normal({3, 5, dim}, 1), scales = is_scaled ? normal({dim}, 2) : Tensor();
      const Tensor got = turned_rows(x.to(cuda), BlockFormat::q8_0, is_scaled ? scales.to(cuda) : Tensor());
      CHECK(bits_of(got) == bits_of(turned_rows(x, BlockFormat::q8_0, scales)));
    }
  const Tensor x = normal({2, 48}, 1).to(cuda);
  CHECK(turned_rows(x, BlockFormat::f16).shares_storage(x));
  CHECK_THROWS_WITH(turned_rows(x, BlockFormat::q8_0), contains("rows of 48 are no whole blocks"));
  CHECK_THROWS_WITH(turned_rows(normal({2, 32}, 1).to(cuda), BlockFormat::q8_0, normal({32}, 2)),
                    contains("turn_rows: operands lie on different devices"));
}

TEST_CASE("attention over packed rows on CUDA is the CPU's, in the bits of attention over their numbers") {
  if (is_absent()) return;
  struct Sizes {
    int64_t batch, queries, keys, heads, kv_heads, qk_dim, v_dim;
    bool alibi = false;
    double masked = 0;
  };
  const std::vector<Sizes> blocks{{1, 1, 129, 4, 4, 64, 32, true}, {2, 1, 257, 6, 2, 32, 96},
                                  {2, 3, 128, 4, 1, 96, 64, true}, {1, 16, 70, 2, 2, 32, 160},
                                  {1, 40, 100, 3, 1, 64, 64},      {2, 2, 300, 5, 1, 128, 32, true, 0.4},
                                  {1, 7, 7, 2, 2, 32, 32},         {1, 5, 3, 2, 1, 32, 32, true}};
  // Rows of no whole parts or 16 bytes.
  const std::vector<Sizes> halves{{2, 1, 140, 4, 2, 5, 3, true}, {1, 2, 130, 2, 1, 40, 17}, {1, 1, 64, 3, 3, 24, 200}};
  const auto check = [&](const Sizes& s, BlockFormat key_format, BlockFormat value_format, int64_t window) {
    INFO(s.queries << " queries, " << s.keys << " keys, " << s.heads << "/" << s.kv_heads << " heads, d " << s.qk_dim
                   << " " << s.v_dim << ", " << traits_of(key_format).name << " " << traits_of(value_format).name
                   << ", window " << window);
    const Tensor q = normal({s.batch, s.queries, s.heads, s.qk_dim}, 2);
    // A cache has more memory than tokens: rows are strided.
    const PackedRows k_all = pack_rows(normal({s.batch, s.keys + 9, s.kv_heads, s.qk_dim}, 3), key_format),
                     v_all = pack_rows(normal({s.batch, s.keys + 9, s.kv_heads, s.v_dim}, 4), value_format);
    const auto held = [&](const PackedRows& rows) {
      return PackedRows{rows.bytes.slice(1, 4, s.keys + 4), rows.format, rows.dim};
    };
    const Tensor slopes = s.alibi ? random_uniform({s.heads}, 0.05, 0.5, {5, 5, 0}) : Tensor();
    AttentionOptions options{.causal = true, .scale = 0.2, .window = window};
    if (s.masked > 0) {
      std::vector<float> seen = random_uniform({s.batch, s.keys}, 0, 1, {5, 6, 0}).to_vector<float>();
      for (float& x : seen) x = static_cast<double>(x) < s.masked ? 0 : 1;
      options.key_mask = Tensor::from({s.batch, s.keys}, seen).to(DType::boolean);
    }
    const std::vector<float> want = packed_attention(q, held(k_all), held(v_all), slopes, options).to_vector<float>();
    if (options.key_mask.defined()) options.key_mask = options.key_mask.to(cuda);
    const PackedRows k = held(to(k_all, cuda)), v = held(to(v_all, cuda));
    const Tensor on_gpu = slopes.defined() ? slopes.to(cuda) : Tensor();
    const Tensor got = packed_attention(q.to(cuda), k, v, on_gpu, options);
    CHECK(bits_of(got) == bits_of(attention(q.to(cuda), unpack_rows(k), unpack_rows(v), on_gpu, options).y));
    const std::vector<float> y = got.to_vector<float>();
    for (size_t i = 0; i < want.size(); ++i)
      if (!(std::abs(y[i] - want[i]) <= 1e-5f * (1 + std::abs(want[i]))))
        FAIL("number " << i << ": " << y[i] << ", on the CPU " << want[i]);
  };
  for (const int64_t window : {0, 33}) {
    for (const Sizes& s : blocks)
      for (const BlockFormat format : packed_formats) check(s, format, format, window);
    for (const Sizes& s : halves)
      for (const BlockFormat format : {BlockFormat::f16, BlockFormat::bf16}) check(s, format, format, window);
    check(blocks[1], BlockFormat::q8_0, BlockFormat::q4_0, window);
    check(blocks[2], BlockFormat::q4_0, BlockFormat::f16, window);
  }
}

TEST_CASE("attention over the held part of a packed cache has the bits of attention over it alone") {
  for (const Device device : {cpu, cuda}) {
    if (!has_device(device.kind)) continue;
    for (const BlockFormat format : packed_formats)
      for (const int64_t queries : {1, 3}) {
        const Tensor q = normal({2, queries, 4, 32}, 1).to(device);
        PackedRows k = pack_rows(normal({2, 192, 2, 32}, 2), format), v = pack_rows(normal({2, 192, 2, 64}, 3), format);
        for (const PackedRows* rows : {&k, &v}) {  // NaN behind the last token
          const Tensor rest = rows->bytes.slice(1, 160);
          copy_inplace(rest, Tensor::full(rest.shape(), 255, DType::u8));
        }
        k = to(k, device), v = to(v, device);
        for (const int64_t length : {3, 127, 128, 129, 160, 999, -1}) {
          CAPTURE(device.str(), traits_of(format).name, queries, length);
          const auto held = [&](const PackedRows& rows) {
            return PackedRows{rows.bytes.slice(1, 0, std::clamp<int64_t>(length, 0, 192)), format, rows.dim};
          };
          const AttentionOptions options{.causal = true, .scale = 0.3, .window = queries == 3 ? 40 : 0};
          const Tensor there = Tensor::from<int64_t>({1}, {length}).to(device);
          const Tensor got = packed_attention(q, k, v, {}, options, there);
          if (length > queries) CHECK(bits_of(got) == bits_of(packed_attention(q, held(k), held(v), {}, options)));
          if (length < 0) CHECK(got.to_vector<float>() == std::vector<float>(static_cast<size_t>(got.numel())));
          if (length <= 160)
            for (const float x : got.to_vector<float>()) CHECK(std::isfinite(x));
        }
      }
  }
  if (is_absent()) return;
  const PackedRows wide = pack_rows(normal({1, 8, 1, 520}, 1).to(cuda), BlockFormat::f16);
  const Tensor q = normal({1, 1, 1, 520}, 2).to(cuda);
  CHECK_THROWS_WITH(packed_attention(q, wide, wide, {}, {}, Tensor::from<int64_t>({1}, {4}).to(cuda)),
                    contains("packed_attention: no f32 kernel on cuda for this problem"));
  CHECK_THROWS_WITH(packed_attention(q, to(wide, cpu), wide, {}, {}),
                    contains("packed_attention: operands lie on different devices"));
}

TEST_CASE("a packed row goes where the length says") {
  for (const Device device : {cpu, cuda}) {
    if (!has_device(device.kind)) continue;
    const PackedRows row = pack_rows(normal({2, 1, 3, 32}, 4).to(device), BlockFormat::q8_0);
    const Tensor cache = Tensor::zeros({2, 4, 3, 34}, DType::u8, device);
    cache_token_inplace(cache, row.bytes, Tensor::from<int64_t>({1}, {3}).to(device));
    for (int64_t t = 0; t < 4; ++t)
      CHECK(cache.slice(1, t, t + 1).to_vector<uint8_t>() == (t == 2 ? bytes_of(row) : std::vector<uint8_t>(204)));
  }
}
