// What decodes one token at a place that only the device knows: the same as where the host knows it.
#include <algorithm>
#include <cmath>

#include "engine/context.h"
#include "engine/decoding/token_state.h"
#include "engine/error.h"
#include "engine/ops/attention/cached_attention.h"
#include "engine/sequences/hidden_pairs.h"
#include "engine/sequences/last_kept.h"
#include "engine/transfer.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace {

using namespace headroom;
using namespace headroom::engine;
using testing::contains;
using testing::error_of;

constexpr Device gpu{Device::Kind::cuda, 0};

/// The CPU, and the GPU where there is one.
std::vector<Device> devices() {
  if (has_device(gpu.kind)) return {cpu, gpu};
  return {cpu};
}

Tensor random(const Shape& shape, uint32_t stream, DType dtype) {
  return random_normal(shape, 0, 1, {3, stream, 0}, dtype);
}

Tensor length_on(Device device, int64_t length) { return Tensor::from<int64_t>({1}, {length}).to(device); }

}  // namespace

TEST_CASE("attention over the held part of a cache has the bits of attention over it alone") {
  for (const Device device : devices())
    for (const DType dtype : {DType::f32, DType::f64})
      for (const bool has_slopes : {false, true})
        for (const int64_t queries : {1, 3}) {
          const int64_t capacity = 320;
          const Tensor q = random({2, queries, 4, 8}, 1, dtype).to(device);
          const Tensor k = random({2, capacity, 2, 8}, 2, dtype).to(device);
          const Tensor v = random({2, capacity, 2, 5}, 3, dtype).to(device);
          const Tensor slopes =
              has_slopes ? Tensor::from<double>({4}, {0.5, 0.2, 0.1, 0.01}).to(dtype).to(device) : Tensor();
          for (const int64_t length : {4, 127, 128, 129, 300, 320}) {
            CAPTURE(device.str(), name_of(dtype), has_slopes, queries, length);
            const Tensor want =
                attention(q, k.slice(1, 0, length), v.slice(1, 0, length), slopes, {.causal = true, .scale = 0.3}).y;
            const Tensor got = cached_attention(q, k, v, slopes, 0.3, length_on(device, length));
            CHECK((got.to_vector<double>() == want.to_vector<double>()));
          }
        }
}

TEST_CASE("what lies in a cache behind its tokens is not read, and a length beyond it is cut") {
  for (const Device device : devices()) {
    const Tensor q = random({1, 1, 2, 4}, 1, DType::f32).to(device);
    Tensor k = random({1, 64, 1, 4}, 2, DType::f32), v = random({1, 64, 1, 3}, 3, DType::f32);
    const Tensor all = attention(q, k.to(device), v.to(device), {}, {.causal = true}).y;
    CHECK((cached_attention(q, k.to(device), v.to(device), {}, 0.5, length_on(device, 999)).to_vector<float>() ==
           all.to_vector<float>()));
    const Tensor none = cached_attention(q, k.to(device), v.to(device), {}, 0.5, length_on(device, -1));
    CHECK(none.to_vector<float>() == std::vector<float>(6));
    for (int64_t i = 10 * 4; i < k.numel(); ++i) k.mutable_data<float>()[i] = NAN;
    for (int64_t i = 10 * 3; i < v.numel(); ++i) v.mutable_data<float>()[i] = NAN;
    const Tensor some = cached_attention(q, k.to(device), v.to(device), {}, 0.5, length_on(device, 10));
    for (const float x : some.to_vector<float>()) CHECK(std::isfinite(x));
  }
}

TEST_CASE("a window over a cache is attention over its last keys alone") {
  for (const Device device : devices())
    for (const int64_t window : {1, 7, 130, 400}) {
      CAPTURE(device.str(), window);
      const Tensor q = random({2, 1, 6, 8}, 1, DType::f32).to(device);
      const Tensor k = random({2, 320, 2, 8}, 2, DType::f32).to(device),
                   v = random({2, 320, 2, 5}, 3, DType::f32).to(device);
      const int64_t held = 300, first = std::max<int64_t>(0, held - window);
      const std::vector<float> all = attention(q, k.slice(1, first, held).contiguous(),
                                               v.slice(1, first, held).contiguous(), {}, {.causal = true, .scale = 0.5})
                                         .y.to_vector<float>();
      const std::vector<float> shown =
          cached_attention(q, k, v, {}, 0.5, length_on(device, held), window).to_vector<float>();
      for (size_t i = 0; i < all.size(); ++i) CHECK(shown[i] == Approx(all[i]).margin(1e-6));
    }
}

TEST_CASE("a token's row goes where the length says, and nowhere when there is no such place") {
  for (const Device device : devices())
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16})
      for (const int64_t length : {0, 1, 4, 5}) {
        CAPTURE(device.str(), name_of(dtype), length);
        const Tensor cache = Tensor::zeros({2, 4, 2, 3}, dtype, device);
        const Tensor row = random({2, 1, 2, 3}, 4, DType::f32).to(dtype).to(device);
        cache_token_inplace(cache, row, length_on(device, length));
        for (int64_t t = 0; t < 4; ++t) {
          const std::vector<double> got = cache.slice(1, t, t + 1).to_vector<double>();
          CHECK((got == (t == length - 1 ? row.to_vector<double>() : std::vector<double>(12))));
        }
      }
  CHECK_THAT(error_of([] {
               cache_token_inplace(Tensor::zeros({1, 4, 2, 3}), Tensor::zeros({1, 2, 2, 3}), length_on(cpu, 1));
             }),
             contains("cache_token: expected a cache (B, capacity, H, d), a row (B, 1, H, d)"));
}

TEST_CASE("the last position that a mask keeps, and the pairs that attention hides, are the same on both devices") {
  const std::vector<float> kept{1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0};
  const Tensor mask = Tensor::from<float>({3, 5}, kept).to(DType::boolean);
  for (const Device device : devices()) {
    CAPTURE(device.str());
    CHECK(last_kept(mask.to(device)).to_vector<int64_t>() == std::vector<int64_t>{3, -1, 10});
    for (const bool causal : {false, true})
      for (const int64_t window : {0, 2})
        for (const bool has_mask : {false, true}) {
          const Tensor hidden = hidden_pairs(3, 2, 5, causal, has_mask ? mask.to(device) : Tensor(), device, window);
          const std::vector<uint8_t> got = hidden.to_vector<uint8_t>();
          for (int64_t b = 0; b < 3; ++b)
            for (int64_t i = 0; i < 2; ++i)
              for (int64_t j = 0; j < 5; ++j) {
                const bool is_out =
                    (has_mask && kept[static_cast<size_t>(b * 5 + j)] == 0) || (window > 0 && j <= i + 3 - window);
                CHECK((got[static_cast<size_t>((b * 2 + i) * 5 + j)] != 0) == (is_out || (causal && j > i + 3)));
              }
        }
  }
  // Longer than a warp, and the last of it.
  for (const int64_t last : {0, 31, 32, 69}) {
    std::vector<float> one(70);
    one[static_cast<size_t>(last)] = 1;
    for (const Device device : devices())
      CHECK(last_kept(Tensor::from<float>({1, 70}, one).to(DType::boolean).to(device)).item() ==
            static_cast<double>(last));
  }
  CHECK_THAT(error_of([] { last_kept(Tensor::zeros({3}, DType::boolean)); }), contains("last_kept: bool (3)"));
  CHECK_THAT(error_of([&] { hidden_pairs(2, 2, 5, true, mask, cpu); }), contains("hidden_pairs: a key mask"));
}

TEST_CASE("the next token follows in the state") {
  for (const Device device : devices()) {
    const Tensor state = make_token_state(device);
    write_token_state(state, {.token = 5, .position = 9, .length = 7, .draws = 8});
    next_token_inplace(state, Tensor::from<int64_t>({}, {42}).to(device), 4);
    CHECK(state.to_vector<int64_t>() == std::vector<int64_t>{42, 10, 8, 12});
    CHECK(read_token(state) == 42);
    CHECK(token_of(state).shape() == Shape{1, 1});
    CHECK(position_of(state).item() == 10);
    CHECK(length_of(state).item() == 8);
  }
  CHECK_THAT(error_of([] { next_token_inplace(Tensor::zeros({3}, DType::i64), Tensor::zeros({}, DType::i64), 0); }),
             contains("next_token: a token's state is i64 (4)"));
  CHECK_THAT(error_of([] {
               cached_attention(Tensor::zeros({1, 1, 2, 4}), Tensor::zeros({1, 8, 2, 3}), Tensor::zeros({1, 8, 2, 3}),
                                {}, 1, length_on(cpu, 1));
             }),
             contains("attention: q and k differ in width"));
}
