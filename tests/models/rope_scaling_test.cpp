// Kinds of rotary scaling: their frequencies as transformers computes them, and decoding and gradients under each.
#include <cmath>

#include "autograd/gradcheck.h"
#include "autograd/ops.h"
#include "models/model_cache.h"
#include "models/rope_cache.h"
#include "tests/models/small_decoder.h"
#include "tests/support/error_of.h"

namespace headroom::models {
namespace {

using engine::DType;

constexpr int64_t original = 16;

RopeScaling yarn() {
  return {.kind = RopeScalingKind::yarn,
          .factor = 4,
          .low = yarn_slow,
          .high = yarn_fast,
          .original_length = original,
          .attention_factor = yarn_attention(4)};
}
RopeScaling longrope() {
  return {.kind = RopeScalingKind::longrope,
          .factor = 4,
          .original_length = original,
          .attention_factor = 1.2,
          .short_factors = {1, 1.1, 1.3},
          .long_factors = {1.5, 2, 6}};
}
RopeScaling dynamic() { return {.kind = RopeScalingKind::dynamic, .factor = 2, .original_length = original}; }

TransformerConfig rotary_decoder(const RopeScaling& scaling) {
  TransformerConfig c;
  c.layers = 2;
  c.width = 12;
  c.groups = {{.heads = 4, .qk_dim = 6, .v_dim = 3, .kv_heads = 2}};
  c.max_length = 64;
  c.vocab = 11;
  c.output_dim = 5;
  c.causal = true;
  c.positions = Positions::rope;
  c.rope_base = 100;
  c.rope_scaling = scaling;
  c.ffn_width = 10;
  c.init.embedding_std = 1;
  return c;
}

void check_frequencies(const RopeScaling& scaling, int64_t length, const std::vector<double>& wanted) {
  TransformerConfig c;
  c.rope_base = 1000, c.rope_scaling = scaling;
  const std::vector<double> got = rope_frequencies(c, {.heads = 1, .qk_dim = 12, .v_dim = 12}, 0, length);
  REQUIRE(got.size() == wanted.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(wanted[i]).epsilon(3e-7));  // theirs are f32
}

}  // namespace

TEST_CASE("rotary frequencies of every kind are transformers'", "[rope]") {
  RopeScaling s = yarn();
  s.original_length = 64;
  check_frequencies(s, 0, {1, 0.237170815, 0.0499999933, 0.00790569466, 0.00249999971, 0.000790569524});
  s.low = 2, s.high = 8;
  check_frequencies(s, 0, {1, 0.197642356, 0.0249999985, 0.00790569466, 0.00249999971, 0.000790569524});
  s.low = yarn_slow, s.high = yarn_fast, s.truncate = false;
  check_frequencies(s, 1000, {1, 0.198583528, 0.0255952477, 0.00790569466, 0.00249999971, 0.000790569524});
  s = {.kind = RopeScalingKind::dynamic, .factor = 2, .original_length = 64};
  const std::vector<double> plain{1, 0.316227764, 0.099999994, 0.0316227786, 0.00999999885, 0.0031622781};
  check_frequencies(s, 0, plain);
  check_frequencies(s, 64, plain);
  check_frequencies(s, 100, {1, 0.271974504, 0.0739701316, 0.0201179925, 0.0054715802, 0.00148813089});
  s = {.kind = RopeScalingKind::longrope, .original_length = 64};
  s.short_factors = {1, 1, 1, 1, 1, 2}, s.long_factors = {1, 1, 4, 1, 1, 1};
  check_frequencies(s, 64, {1, 0.316227764, 0.099999994, 0.0316227786, 0.00999999885, 0.00158113905});
  check_frequencies(s, 65, {1, 0.316227764, 0.0249999985, 0.0316227786, 0.00999999885, 0.0031622781});
}

TEST_CASE("decoding under every kind of rotary scaling equals the full pass", "[rope]") {
  const int64_t length = 40;
  const Tensor x = random_tokens(1, length);
  for (const RopeScaling& scaling : {yarn(), longrope(), dynamic()}) {
    const TransformerConfig c = rotary_decoder(scaling);
    const Transformer model = build(c);
    // In texts up to the limit whatever the parts, beyond it where the text's length is known beforehand.
    const bool has_limit = rope_limit(c) < length;
    CHECK(has_limit == (scaling.kind != RopeScalingKind::yarn));
    for (const int64_t end : {original, length})
      for (const int64_t step : {1, 7}) {
        INFO(name_of(scaling.kind) << ", " << end << " tokens, " << step << " at a time");
        const Tensor text = x.slice(1, 0, end).contiguous(), want = model.forward(text).value();
        ModelCache state(c);
        state.expect(end);
        for (int64_t t = 0; t < end; t += step) {
          const int64_t next = std::min(end, t + step);
          CHECK(distance(model.decode(text.slice(1, t, next).contiguous(), state), want.slice(1, t, next)) < 1e-5);
        }
      }
  }
}

TEST_CASE("a token behind the original length turns as in a text of its length", "[rope]") {
  // As transformers' cache has it: keys keep the turn with which they came.
  const Tensor x = random_tokens(1, 24);
  for (const RopeScaling& scaling : {longrope(), dynamic()}) {
    INFO(name_of(scaling.kind));
    const TransformerConfig c = rotary_decoder(scaling);
    const Transformer model = build(c);
    TransformerConfig fixed = c;
    ModelCache state(c);
    Tensor got = model.decode(x.slice(1, 0, original).contiguous(), state);
    CHECK(distance(got, model.forward(x.slice(1, 0, original).contiguous()).value()) < 1e-5);
    const Tensor last = x.slice(1, original, original + 1).contiguous();
    got = model.decode(last, state);
    // The same by models that have the frequencies of one length.
    fixed.rope_scaling = {.attention_factor = scaling.attention_factor};
    fixed.groups[0].rope_frequencies = rope_frequencies(c, c.groups[0], 0, 0);
    ModelCache other(fixed);
    build(fixed).decode(x.slice(1, 0, original).contiguous(), other);
    fixed.groups[0].rope_frequencies = rope_frequencies(c, c.groups[0], 0, original + 1);
    CHECK(distance(got, build(fixed).decode(last, other)) < 1e-5);
  }
}

TEST_CASE("several sequences on both sides of the original length are decoded together", "[rope]") {
  for (const RopeScaling& scaling : {longrope(), dynamic()}) {
    const TransformerConfig c = rotary_decoder(scaling);
    const Transformer model = build(c);
    ModelCache a(c), b(c);
    model.decode(random_tokens(1, 5), a), model.decode(random_tokens(1, 30), b);
    ModelCache own_a = a.copy(), own_b = b.copy();
    const Tensor x = random_tokens(1, 2);
    const Tensor both = model.decode_together(x, {{.end = 1, .state = &a}, {.begin = 1, .end = 2, .state = &b}});
    CHECK(distance(both.slice(1, 0, 1), model.decode(x.slice(1, 0, 1), own_a)) < 1e-5);
    CHECK(distance(both.slice(1, 1, 2), model.decode(x.slice(1, 1, 2).contiguous(), own_b)) < 1e-5);
  }
}

TEST_CASE("gradients under every kind of rotary scaling", "[rope]") {
  for (const RopeScaling& scaling : {yarn(), longrope(), dynamic()})
    for (const int64_t length : {original - 4, original + 4}) {
      INFO(name_of(scaling.kind) << ", " << length << " tokens");
      TransformerConfig c = rotary_decoder(scaling);
      c.vocab = 0, c.input_dim = 3;
      const Transformer model = build(c, DType::f64);
      const Tensor x = engine::random_normal({1, length, 12}, 0, 1, {.seed = 1}).to(DType::f64);  // (1, T, D)
      const auto result =
          autograd::gradcheck([&](const std::vector<Var>& in) { return model.layer(1, model.layer(0, in[0])); },
                              {Var(x, true)}, {.seed = 2}, {.elements = 12});
      INFO(result.message);
      CHECK(result.ok);
    }
}

TEST_CASE("what turned rows are multiplied by is in the scale of their products", "[rope]") {
  TransformerConfig c = rotary_decoder({.attention_factor = 1.3});
  const Tensor want = build(c).forward(random_tokens(1, 9)).value();
  c.rope_scaling = {};
  c.logit_scale = 1.3 * 1.3 / std::sqrt(6.0);
  CHECK(distance(build(c).forward(random_tokens(1, 9)).value(), want) == 0);
  c.window = 4, c.full_layers = {0}, c.window_rope_base = 30, c.window_rope_scaling.attention_factor = 2;
  CHECK(score_scale(c, c.groups[0], 0) == *c.logit_scale);
  CHECK(score_scale(c, c.groups[0], 1) == 4 * *c.logit_scale);
  c.window_rope_scaling = longrope();
  CHECK(rope_limit(c) == original);
}

}  // namespace headroom::models
