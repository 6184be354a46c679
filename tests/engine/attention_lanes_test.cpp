// Attention with a head in each lane against attention by tiles: the same bits, on every level.
#include <array>
#include <bit>

#include "engine/ops/attention/attention_fast.h"
#include "engine/rng.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::engine;

namespace {

struct Case {
  int64_t batch, queries, keys, heads, kv_heads, qk_dim, v_dim;
  AttentionOptions options{};
  bool alibi = false, masked = false;
};

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  const std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](float s, float t) { return std::bit_cast<uint32_t>(s) == std::bit_cast<uint32_t>(t); });
}

/// Runs a call by both, with results of NaN that each must overwrite.
void compare(const Case& c) {
  CAPTURE(c.batch, c.queries, c.keys, c.heads, c.kv_heads, c.qk_dim, c.v_dim, c.options.causal, c.options.window,
          c.alibi, c.masked);
  const auto normal = [](const Shape& shape, uint64_t seed) { return random_normal(shape, 0, 1, {.seed = seed}); };
  // q, k and v are parts of longer rows, as in a joint projection.
  const Tensor q = normal({c.batch, c.queries, c.heads, c.qk_dim + 3}, 1).slice(3, 1, 1 + c.qk_dim);  // (B, Tq, H, d)
  const Tensor k = normal({c.batch, c.keys, c.kv_heads + 1, c.qk_dim}, 2).slice(2, 0, c.kv_heads);    // (B, Tk, Hkv, d)
  const Tensor v = normal({c.batch, c.keys + 2, c.kv_heads, c.v_dim}, 3).slice(1, 2, c.keys + 2);  // (B, Tk, Hkv, dv)
  const Tensor dy = normal({c.batch, c.queries, c.heads, c.v_dim}, 4);                             // (B, Tq, H, dv)
  const Tensor slopes = c.alibi ? random_uniform({c.heads}, 0.01, 0.5, {.seed = 5}) : Tensor();    // (H)
  AttentionOptions options = c.options;
  if (c.masked) options.key_mask = random_integers({c.batch, c.keys}, 0, 2, {.seed = 6}).to(DType::boolean);  // (B, Tk)
  const AttentionProblem problem = attention_problem(q, k, v, slopes, options);
  const auto unset = [](const Shape& shape) { return Tensor::full(shape, std::nan(""), DType::f32); };
  std::array<AttentionCall, 2> calls;
  for (AttentionCall& call : calls) {
    call = {q, k, v, slopes, options.key_mask, problem};
    call.out = {unset(dy.shape()), unset({c.batch, c.heads, c.queries})};
  }
  attention_tiled(calls[0]);
  attention_by_lanes(calls[1]);
  CHECK(same_bits(calls[0].out.y, calls[1].out.y));
  CHECK(same_bits(calls[0].out.lse, calls[1].out.lse));
  std::array<AttentionGradCall, 2> grads;
  for (AttentionGradCall& call : grads) {
    call = {dy, q.contiguous(), k.contiguous(), v.contiguous(), slopes, options.key_mask, calls[0].out, problem};
    call.dq = unset(q.shape()), call.dk = unset(k.shape()), call.dv = unset(v.shape());
    if (c.alibi) call.dslopes = unset({c.batch, c.heads});
  }
  attention_grad_tiled(grads[0]);
  attention_grad_by_lanes(grads[1]);
  CHECK(same_bits(grads[0].dq, grads[1].dq));
  CHECK(same_bits(grads[0].dk, grads[1].dk));
  CHECK(same_bits(grads[0].dv, grads[1].dv));
  CHECK(same_bits(grads[0].dslopes, grads[1].dslopes));
}

}  // namespace

TEST_CASE("attention by lanes gives the bits of attention by tiles: lengths, widths and heads with a remainder") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  for (const bool causal : {false, true})
    for (const int64_t length : {1, 2, 15, 16, 17, 33, 64})
      for (const int64_t width : {1, 2, 3, 4, 5, 8, 11, 16})
        compare({3, length, length, 1 + length % 7, 1 + length % 7, width, 1 + width * 5 % 16, {.causal = causal}});
  for (const int64_t heads : {1, 2, 4, 7, 8, 16, 33, 64})
    for (const int64_t width : {1, 2, 4, 8}) compare({3, 16, 16, heads, heads, width, width, {.causal = true}});
}

TEST_CASE("attention by lanes gives the bits of attention by tiles: masks, windows, slopes and groups") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  for (const int64_t width : {1, 2, 4, 6, 16})
    for (const bool alibi : {false, true})
      for (const bool masked : {false, true}) {
        const AttentionOptions causal{.causal = true}, window{.causal = true, .scale = 0.7, .window = 5};
        compare({5, 17, 17, 8, 8, width, width, causal, alibi, masked});
        compare({5, 17, 17, 6, 2, width, width, {}, alibi, masked});
        compare({3, 64, 64, 6, 3, width, width, causal, alibi, masked});
        compare({9, 37, 37, 4, 1, width, width, window, alibi, masked});
        compare({2, 19, 40, 9, 9, width, width, window, alibi, masked});
        compare({4, 40, 19, 8, 4, width, width, causal, alibi, masked});  // the first queries see nothing
      }
  compare({3, 5, 0, 8, 8, 4, 4});
}

TEST_CASE("attention takes lanes for short sequences of enough heads alone") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  const auto fills = [](int64_t batch, int64_t length, int64_t heads, int64_t dim, double dropout) {
    const Tensor x = Tensor::empty({batch, length, heads, dim}, DType::f32);
    return fills_lanes(attention_problem(x, x, x, {}, {.causal = true, .dropout = dropout}));
  };
  CHECK(fills(32, 16, 8, 8, 0));
  CHECK(fills(64, 64, 1, 16, 0));
  CHECK_FALSE(fills(64, 64, 1, 128, 0));
  CHECK_FALSE(fills(32, 16, 8, 8, 0.1));
  CHECK_FALSE(fills(32, 65, 8, 8, 0));
  CHECK_FALSE(fills(1, 16, 8, 8, 0));
}
