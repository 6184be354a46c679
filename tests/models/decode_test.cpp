#include "models/model_cache.h"
#include "models/positions.h"
#include "tests/models/small_decoder.h"
#include "tests/support/error_of.h"

namespace headroom::models {
namespace {

using engine::DType;
using testing::contains;
using testing::error_of;

constexpr int64_t vocab = 11, longest = 40;

TransformerConfig grouped_decoder(Positions positions = Positions::learned) {
  TransformerConfig c;
  c.layers = 2;
  c.width = 12;
  c.groups = {{.heads = 4, .qk_dim = 4, .v_dim = 3, .kv_heads = 2}};
  c.max_length = longest;
  c.vocab = vocab;
  c.output_dim = 5;
  c.causal = true;
  c.positions = positions;
  c.ffn_width = 10;
  return c;
}

/// Decodes x (B, T, …) in chunks whose sizes go round through `sizes`, and compares each with the full forward pass.
void check_decoding(const TransformerConfig& config, const Tensor& x, const std::vector<int64_t>& sizes,
                    DType dtype = DType::f32, const Tensor& key_mask = {}) {
  const Transformer model = build(config, dtype);
  const Tensor want = model.forward(x, {.key_mask = key_mask}).value();  // (B, T, out)
  ModelCache state(config);
  const int64_t length = x.dim(1);
  for (int64_t begin = 0, step = 0; begin < length; ++step) {
    const int64_t end = std::min(length, begin + sizes[static_cast<size_t>(step) % sizes.size()]);
    INFO("tokens [" << begin << ", " << end << ") of " << length);
    const Tensor mask = key_mask.defined() ? key_mask.slice(1, 0, end) : Tensor();
    const Tensor y = model.decode(x.slice(1, begin, end).contiguous(), state, mask);
    CHECK(distance(y, want.slice(1, begin, end)) < (dtype == DType::f64 ? 1e-12 : 1e-5));
    CHECK(state.offset() == end);
    begin = end;
  }
}

const std::vector<std::vector<int64_t>> chunkings{{1}, {3}, {7, 1, 1, 1}, {longest}, {20, 1}};

}  // namespace

TEST_CASE("decoding equals the full forward pass, for every kind of positions", "[models]") {
  for (const PositionScheme& scheme : position_schemes())
    for (const NormPlace place : {NormPlace::pre, NormPlace::post})
      for (const std::vector<int64_t>& sizes : chunkings) {
        INFO(scheme.name << ", " << name_of(place) << ", chunks of " << sizes[0]);
        TransformerConfig c = grouped_decoder(scheme.positions);
        c.norm_place = place;
        check_decoding(c, random_tokens(3, longest), sizes);
      }
}

TEST_CASE("decoding equals the full forward pass where groups and layers differ", "[models]") {
  for (const Positions positions : {Positions::rope, Positions::alibi, Positions::learned})
    for (const std::vector<int64_t>& sizes : chunkings) {
      INFO(name_of(positions) << ", chunks of " << sizes[0]);
      TransformerConfig c = grouped_decoder(positions);
      c.groups = {{.heads = 1, .qk_dim = 2, .v_dim = 5}, {.heads = 6, .qk_dim = 8, .v_dim = 2, .kv_heads = 2}};
      check_decoding(c, random_tokens(2, longest), sizes);
      c.unequal_layers = {{.groups = c.groups, .ffn_width = 6},
                          {.groups = {{.heads = 3, .qk_dim = 6, .v_dim = 4, .kv_heads = 1}}, .ffn_width = 0}};
      c.groups.clear(), c.ffn_width = 0;
      check_decoding(c, random_tokens(2, longest), sizes);
      c.unequal_layers[0].groups.clear();  // no attention
      check_decoding(c, random_tokens(2, longest), sizes);
    }
}

TEST_CASE("decoding knows q/k norms, tied readouts, real tokens, f64 and key masks", "[models]") {
  TransformerConfig c = grouped_decoder(Positions::rope);
  c.norm = Norm::rms_norm, c.activation = Activation::swiglu, c.qk_norm = true, c.logit_scale = 0.9;
  c.tied = true, c.output_dim = 0;
  check_decoding(c, random_tokens(2, longest), {5, 1});
  check_decoding(c, random_tokens(2, longest), {5, 1}, DType::f64);
  const Tensor mask = Tensor::full({2, longest}, 1, DType::boolean);
  for (const int64_t hidden : {0, 1, 17, 57}) mask.mutable_data<bool>()[hidden] = false;
  check_decoding(grouped_decoder(), random_tokens(2, longest), {4, 1}, DType::f32, mask);
  TransformerConfig real = grouped_decoder(Positions::alibi);
  real.vocab = 0, real.input_dim = 3;
  check_decoding(real, engine::random_normal({2, longest, 3}, 0, 1, {.seed = 1}), {6, 1});
}

TEST_CASE("decoding past many blocks of the cache equals the full forward pass", "[models]") {
  TransformerConfig c = grouped_decoder(Positions::rope);
  c.layers = 1;
  check_decoding(c, random_tokens(1, 700), {300, 1, 1, 37, 256});
}

TEST_CASE("a decode state goes back and starts anew", "[models]") {
  const TransformerConfig c = grouped_decoder(Positions::rope);
  const Transformer model = build(c);
  const Tensor x = random_tokens(1, 12), want = model.forward(x).value();
  ModelCache state(c);
  state.reserve(12);
  model.decode(random_tokens(1, 30), state);
  state.reset();
  CHECK(state.offset() == 0);
  model.decode(x.slice(1, 0, 8).contiguous(), state);
  state.truncate(5);
  CHECK(distance(model.decode(x.slice(1, 5, 12).contiguous(), state), want.slice(1, 5, 12)) < 1e-5);
}

TEST_CASE("decoding with sliding windows equals the full forward pass", "[models]") {
  for (const Positions positions : {Positions::rope, Positions::alibi, Positions::learned})
    for (const std::vector<int64_t>& sizes : chunkings)
      for (const std::vector<int64_t>& full : {std::vector<int64_t>{}, {0}, {1}}) {
        INFO(name_of(positions) << ", chunks of " << sizes[0] << ", " << full.size() << " full layers");
        TransformerConfig c = grouped_decoder(positions);
        c.window = 6, c.full_layers = full, c.window_rope_base = 30;
        c.norm_place = NormPlace::both, c.norm = Norm::rms_norm, c.activation = Activation::geglu;
        c.embedding_scale = 3;
        check_decoding(c, random_tokens(2, longest), sizes);
      }
  TransformerConfig c = grouped_decoder(Positions::rope);
  c.window = 6, c.full_layers = {1};
  const Tensor mask = Tensor::full({2, longest}, 1, DType::boolean);
  for (const int64_t hidden : {0, 1, 17, 57}) mask.mutable_data<bool>()[hidden] = false;
  check_decoding(c, random_tokens(2, longest), {4, 1}, DType::f32, mask);
}

TEST_CASE("a window hides what lies before it from its own layer alone", "[models]") {
  TransformerConfig c = grouped_decoder(Positions::rope);
  c.layers = 1, c.window = 5;
  const Transformer model = build(c);
  const Tensor x = random_tokens(1, 12), y = x.clone();
  y.mutable_data<int64_t>()[0] = (y.data<int64_t>()[0] + 1) % vocab;
  const Tensor a = model.forward(x).value(), b = model.forward(y).value();
  CHECK(distance(a.slice(1, 4, 5), b.slice(1, 4, 5)) > 1e-4);
  CHECK(distance(a.slice(1, 5, 12), b.slice(1, 5, 12)) == 0);
}

TEST_CASE("a rolling cache gives the bits of one that keeps everything, in bounded memory", "[models]") {
  TransformerConfig c = grouped_decoder(Positions::rope);
  c.layers = 3, c.window = 70, c.full_layers = {1};
  const Transformer model = build(c);
  const Tensor x = random_tokens(1, 1200);
  ModelCache rolling(c), whole(c, false);
  const std::vector<int64_t> sizes{300, 1, 1, 37, 1, 2, 9};
  for (int64_t begin = 0, step = 0; begin < x.dim(1); ++step) {
    const int64_t end = std::min(x.dim(1), begin + sizes[static_cast<size_t>(step) % sizes.size()]);
    const Tensor part = x.slice(1, begin, end).contiguous();
    CHECK(model.decode(part, rolling).to_vector<float>() == model.decode(part, whole).to_vector<float>());
    begin = end;
  }
  CHECK(rolling.length() == 1200);
  CHECK(rolling.layer(1)[0].length() == 1200);
  CHECK(rolling.layer(0)[0].capacity() < 1200);
  CHECK(rolling.layer(2)[0].length() < 70 + 64 + 300);
  CHECK(rolling.offset() == 1200);
  CHECK(rolling.can_go_back(1199));
  CHECK_FALSE(rolling.can_go_back(600));
  CHECK(whole.can_go_back(0));
}

TEST_CASE("a window over the last tokens is attention with the older ones masked", "[models]") {
  for (const Positions positions : {Positions::rope, Positions::alibi}) {
    INFO(name_of(positions));
    TransformerConfig c = grouped_decoder(positions);
    c.layers = 1;  // deeper layers of the full pass would see older tokens through the keys that are kept
    const Transformer model = build(c);
    const Tensor x = random_tokens(2, 20);
    const Tensor mask = Tensor::full({2, 20}, 1, DType::boolean);
    for (const int64_t b : {0, 1})
      for (int64_t j = 0; j < 6; ++j) mask.mutable_data<bool>()[b * 20 + j] = false;
    const Tensor want = model.forward(x, {.key_mask = mask}).value();
    ModelCache state(c);
    model.decode(x.slice(1, 0, 15).contiguous(), state);
    state.drop_first(6);
    CHECK(state.offset() == 15);
    CHECK(state.length() == 9);
    CHECK(distance(model.decode(x.slice(1, 15, 20).contiguous(), state), want.slice(1, 15, 20)) < 1e-5);
  }
}

TEST_CASE("decoding refuses what does not fit, and leaves the state as it was", "[models]") {
  const TransformerConfig c = grouped_decoder();
  const Transformer model = build(c);
  ModelCache state(c);
  model.decode(random_tokens(2, 3), state);
  CHECK_THAT(error_of([&] { model.decode(random_tokens(1, 1), state); }),
             contains("(1, 1, 2, 4)") && contains("(2, 3, 2, 4)"));
  CHECK_THAT(error_of([&] { model.decode(random_tokens(2, longest), state); }),
             contains("43") && contains("max_length"));
  CHECK_THAT(error_of([&] { model.decode(Tensor::full({2, 1}, 99, DType::i64), state); }), contains("99"));
  CHECK_THAT(error_of([&] {
               model.decode(random_tokens(2, 1), state, Tensor::full({2, 1}, 1, DType::boolean));
             }),
             contains("(2, 4)"));
  CHECK(state.offset() == 3);
  const Tensor x = random_tokens(2, 4);
  ModelCache fresh(c);
  model.decode(random_tokens(2, 3), fresh);
  CHECK(distance(model.decode(x.slice(1, 3, 4).contiguous(), state),
                 model.decode(x.slice(1, 3, 4).contiguous(), fresh)) == 0);
  ModelCache broken(c);  // its second layer was made for five sequences: found out after the first has taken its keys
  broken.layer(1)[0].append(Tensor::zeros({5, 0, 2, 4}), Tensor::zeros({5, 0, 2, 3}));
  CHECK_THAT(error_of([&] { model.decode(random_tokens(2, 1), broken); }), contains("blocks[1].attention"));
  CHECK(broken.layer(0)[0].length() == 0);
  TransformerConfig deeper = c;
  deeper.layers = 3;
  ModelCache other(deeper);
  CHECK_THAT(error_of([&] { model.decode(random_tokens(2, 1), other); }), contains("another config"));
  TransformerConfig seeing = c;
  seeing.causal = false;
  ModelCache encoder_state(seeing);
  CHECK_THAT(error_of([&] { build(seeing).decode(random_tokens(2, 1), encoder_state); }), contains("causal"));
}

}  // namespace headroom::models
