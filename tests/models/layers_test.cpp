// Layers of unequal shape, ranks, single biases, q/k norms, and rotary positions of every kind.
#include <map>

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/ops/concat/concat.h"
#include "models/model_cache.h"
#include "models/weights/sources.h"
#include "tests/models/small_decoder.h"
#include "tests/support/error_of.h"

namespace headroom::models {
namespace {

using engine::DType;
using testing::error_of;

}  // namespace

TEST_CASE("layers of unequal shape, ranks and biases count and run as they say", "[layers]") {
  TransformerConfig c = decoder();
  c.positions = Positions::rope;
  c.qk_norm = true;
  c.groups.clear(), c.ffn_width = 0;
  c.unequal_layers = {{.groups = {{.heads = 2, .qk_dim = 4, .v_dim = 3, .q_rank = 3}}, .ffn_width = 24},
                      {.groups = {{.heads = 4, .qk_dim = 6, .v_dim = 2, .kv_heads = 2},
                                  {.heads = 1, .qk_dim = 2, .v_dim = 8, .v_rank = 2, .rope_frequencies = {0.5}}},
                       .o_rank = 5}};
  c.attention_bias = false, c.q_bias = true;
  c.tied = false, c.output_dim = 7, c.readout_bias = false;
  engine::Rng rng(3);
  const Transformer model(c, rng);
  std::map<std::string, Shape> shapes;
  for (const Parameter& p : model.parameters()) shapes[p.name] = p.var.shape();
  CHECK(shapes.at("blocks.0.attention.0.q_proj.weight_a") == Shape{8, 3});
  CHECK(shapes.at("blocks.0.attention.0.q_proj.weight_b") == Shape{3, 32});
  CHECK(shapes.at("blocks.0.attention.0.q_proj.bias") == Shape{8});
  CHECK(shapes.count("blocks.0.attention.0.k_proj.bias") == 0);
  CHECK(shapes.at("blocks.1.attention.0.q_norm.weight") == Shape{6});
  CHECK(shapes.at("blocks.1.attention.o_proj.weight_a") == Shape{32, 5});
  CHECK(shapes.count("blocks.1.ffn.up.weight") == 0);
  CHECK(shapes.count("readout.bias") == 0);
  CHECK(model.parameter_count() == parameter_count(c));
  CHECK(model.describe().find("1 x [block: attention 2 x (qk 4, v 3, q: rank 3, q/k norm), gelu feed-forward 32 -> 24 "
                              "-> 32") != std::string::npos);
  autograd::sum(model.forward(tokens())).backward();
  for (const Parameter& p : model.parameters()) CHECK(p.var.grad().defined());
  // Multiply-adds per token: the first layer, the second, the readout; 5 tokens are seen.
  const double first = 3 * (32 + 8) + 32 * 8 + 32 * 6 + 5 * 2 * 7 + 6 * 32 + 2 * 32 * 24;
  const double second = 32 * (24 + 12 + 4) + 5 * 4 * 8 + 32 * (2 + 2) + 2 * (32 + 8) + 5 * 10 + 5 * (16 + 32);
  CHECK(forward_flops(c, 3, 5) == 2 * 15 * (first + second + 32 * 7));

  // Every weight is asked for by the name that it has afterwards, and no others.
  NamedWeights given(model.weights());
  CHECK_NOTHROW(Transformer(c, given));
}

TEST_CASE("factors per head and maps of scores are the plain model with their products", "[layers]") {
  TransformerConfig c = decoder();
  c.positions = Positions::rope;
  c.groups[0] = {
      .heads = 4, .qk_dim = 8, .v_dim = 6, .kv_heads = 2, .q_head_rank = 3, .k_head_rank = 5, .score_dim = 8};
  c.logit_scale = 0.3;
  engine::Rng rng(3);
  const Transformer thin(c, rng, DType::f64);
  CHECK(thin.parameter_count() == parameter_count(c));
  CHECK(thin.describe().find("4 x (qk 8, v 6, 2 key-value, q: rank 3 per head, k: rank 5 per head, scores in 8)") !=
        std::string::npos);
  const double block =
      4 * 3 * (32 + 8) + 2 * 5 * (32 + 8) + 32 * 12 + 6 * 8 * 8 + 4 * 4 * (8 + 6) + 24 * 32 + 2 * 32 * 64;
  CHECK(forward_flops(c, 2, 4) == 2 * 8 * (2 * block + 32 * 7));

  // The same matrices multiplied out; maps of scores that are identities.
  TransformerConfig dense = c;
  dense.groups[0].q_head_rank = dense.groups[0].k_head_rank = dense.groups[0].score_dim = 0;
  NamedTensors weights, thin_weights;
  std::vector<double> eye(64);
  for (size_t i = 0; i < 8; ++i) eye[9 * i] = 1;
  for (const auto& [name, tensor] : thin.weights()) {
    if (name.ends_with("_score")) {
      const int64_t heads = tensor.dim(0) / 8;
      const Tensor all = Tensor::from({1, 8, 8}, eye).expand({heads, 8, 8}).contiguous().reshape({heads * 8, 8});
      thin_weights.emplace_back(name, all);
      continue;
    }
    thin_weights.emplace_back(name, tensor);
    if (name.find("weight_") == std::string::npos) weights.emplace_back(name, tensor);
  }
  for (size_t layer = 0; layer < 2; ++layer) {
    const std::string path = fmt::format("blocks.{}.attention.0.", layer);
    const HeadGroupLayer& group = thin.attention(layer).group(0);
    weights.emplace_back(path + "q_proj.weight", group.q_proj().weight().values(DType::f64));
    weights.emplace_back(path + "k_proj.weight", group.k_proj().weight().values(DType::f64));
  }
  NamedWeights of_dense(weights, {.dtype = DType::f64}), of_thin(thin_weights, {.dtype = DType::f64});
  const Transformer whole(dense, of_dense), mapped(c, of_thin);
  CHECK(distance(whole.forward(tokens()).value(), mapped.forward(tokens()).value()) < 1e-12);

  // The cache holds mapped keys.
  TransformerConfig narrow = c;
  narrow.groups[0].score_dim = 2;
  engine::Rng again(3);
  const Transformer cached(narrow, again, DType::f64);
  ModelCache state(narrow);
  const Tensor first = cached.decode(tokens().slice(1, 0, 3), state),
               last = cached.decode(tokens().slice(1, 3, 4), state);
  CHECK(state.layer(0)[0].keys().shape() == Shape{2, 4, 2, 2});
  CHECK(distance(last, cached.forward(tokens()).value().slice(1, 3, 4)) < 1e-12);
}

TEST_CASE("joined keys are the heads that they are made of, side by side", "[layers]") {
  TransformerConfig c = decoder();
  c.positions = Positions::rope;
  c.groups[0] = {.heads = 4, .qk_dim = 8, .v_dim = 6, .kv_heads = 1, .score_dim = 16, .joined_keys = 2};
  engine::Rng rng(3);
  const Transformer joined(c, rng, DType::f64);
  CHECK(joined.parameter_count() == parameter_count(c));
  CHECK(joined.describe().find("4 x (qk 8, v 6, 1 key-value, scores in 16, 2 keys joined)") != std::string::npos);
  const double block =
      (4 + 2) * 8 * 32 + 32 * 6 + (4 + 2) * 16 * 8 + 4 * 4 * (16 + 6) + 24 * 32 + 2 * 32 * 64;  // a token
  CHECK(forward_flops(c, 2, 4) == 2 * 8 * (2 * block + 32 * 7));

  // Keys side by side, and queries that look at the one of them or at the other: two keys with the same value.
  TransformerConfig apart = c;
  apart.groups[0] = {.heads = 4, .qk_dim = 8, .v_dim = 6, .kv_heads = 2};
  NamedTensors weights, joined_weights;
  for (const auto& [name, tensor] : joined.weights()) {
    if (name.ends_with("_score")) {
      const bool is_query = name.ends_with("q_score");
      const Tensor map = Tensor::zeros({is_query ? 64 : 16, is_query ? 8 : 16}, DType::f64);
      for (int64_t row = 0; row < map.dim(0); ++row) {
        const int64_t column = is_query ? row % 16 - (row < 32 ? 0 : 8) : row;  // heads 0, 1: the first key
        if (column >= 0 && column < map.dim(1)) map.mutable_data<double>()[row * map.dim(1) + column] = 1;
      }
      joined_weights.emplace_back(name, map);
      continue;
    }
    joined_weights.emplace_back(name, tensor);
    const bool is_value = name.find("v_proj") != std::string::npos;
    weights.emplace_back(name, is_value ? engine::concat({tensor, tensor}, 0) : tensor);
  }
  NamedWeights of_apart(weights, {.dtype = DType::f64}), of_joined(joined_weights, {.dtype = DType::f64});
  const Transformer two(apart, of_apart), one(c, of_joined);
  CHECK(distance(two.forward(tokens()).value(), one.forward(tokens()).value()) < 1e-12);

  ModelCache state(c);
  const Tensor first = one.decode(tokens().slice(1, 0, 3), state), last = one.decode(tokens().slice(1, 3, 4), state);
  CHECK(state.layer(0)[0].keys().shape() == Shape{2, 4, 1, 16});
  CHECK(distance(last, one.forward(tokens()).value().slice(1, 3, 4)) < 1e-12);
}

TEST_CASE("equal layers written out are the short form", "[layers]") {
  TransformerConfig written = decoder();
  written.unequal_layers = layers_of(written);
  written.groups.clear(), written.ffn_width = 0;
  engine::Rng rng(3), same(3);
  const Transformer a(decoder(), rng), b(written, same);
  CHECK(distance(a.forward(tokens()).value(), b.forward(tokens()).value()) == 0);
  CHECK(a.describe() == b.describe());
}

TEST_CASE("rotary positions from frequencies, scalings and an offset", "[layers]") {
  TransformerConfig c;
  const HeadGroup group{.heads = 1, .qk_dim = 8, .v_dim = 8};
  const std::vector<double> plain = rope_frequencies(c, group, 0);
  CHECK(plain[0] == 1);
  CHECK(plain[2] == Approx(std::pow(10000.0, -0.5)));
  c.rope_scaling = {.kind = RopeScalingKind::linear, .factor = 4};
  CHECK(rope_frequencies(c, group, 0)[2] == Approx(plain[2] / 4));
  // Llama 3.1: 8192 tokens, factor 8, from 1 to 4; transformers gives these for base 500000 and 8 dims.
  c.rope_base = 500000;
  c.rope_scaling = {.kind = RopeScalingKind::llama3, .factor = 8, .low = 1, .high = 4, .original_length = 8192};
  const std::vector<double> llama = rope_frequencies(c, group, 0);
  CHECK(llama[0] == 1);
  CHECK(llama[1] == Approx(std::pow(500000.0, -0.25)));
  const double f = std::pow(500000.0, -0.5), share = (8192 * f / (2 * M_PI) - 1) / 3;
  CHECK(share > 0);
  CHECK(share < 1);
  CHECK(llama[2] == Approx((1 - share) * f / 8 + share * f));
  CHECK(llama[3] == Approx(std::pow(500000.0, -0.75) / 8));

  const auto same = [&](int64_t) { return plain; };
  const RopeTurns turns(same, 8, false, DType::f32);
  const Tensor few = turns.rows(0, 3).angles.contiguous();
  const Tensor later = turns.rows(5, 8).angles.contiguous();
  const Tensor at_once = RopeTurns(same, 8, false, DType::f32).rows(0, 8).angles;
  CHECK(distance(few, at_once.slice(0, 0, 3)) == 0);
  CHECK(distance(later, at_once.slice(0, 5, 8)) == 0);

  // With rope, all that counts is how far tokens lie apart.
  TransformerConfig rotary = decoder();
  rotary.positions = Positions::rope;
  engine::Rng rng(3);
  const Transformer model(rotary, rng, DType::f64);
  const Tensor here = model.forward(tokens()).value();
  CHECK(distance(model.forward(tokens(), {.offset = 1000}).value(), here) < 1e-9);
  TransformerConfig learned = decoder();
  learned.init.position_std = 1;
  const Transformer absolute(learned, rng, DType::f64);
  CHECK(distance(absolute.forward(tokens(), {.offset = 5}).value(), absolute.forward(tokens()).value()) > 1e-3);
  CHECK(error_of([&] { absolute.forward(tokens(), {.offset = 6}); }) ==
        "transformer: sequences of 10 are longer than max_length, which is 9");
  CHECK(error_of([&] { model.forward(tokens(), {.offset = -1}); }) == "transformer: offset -1 is no position");
}

TEST_CASE("interleaved pairs are halves with the rows of queries and keys in another order", "[layers]") {
  TransformerConfig c = decoder();
  c.positions = Positions::rope;
  engine::Rng rng(3);
  const Transformer halves(c, rng, DType::f64);
  NamedTensors tensors = halves.weights();
  for (auto& [name, tensor] : tensors) {
    const bool turns = name.find("q_proj") != std::string::npos || name.find("k_proj") != std::string::npos;
    if (!turns) continue;
    const Tensor moved = tensor.clone();  // per head of 16: row 2i + j from row 8j + i
    for (int64_t row = 0; row < tensor.dim(0); ++row) {
      const int64_t e = row % 16, from = row - e + e % 2 * 8 + e / 2;
      engine::copy_inplace(moved.slice(0, row, row + 1), tensor.slice(0, from, from + 1));
    }
    tensor = moved;
  }
  NamedWeights given(tensors, {.dtype = DType::f64});
  c.rope_interleaved = true;
  const Transformer pairs(c, given);
  CHECK(distance(pairs.forward(tokens()).value(), halves.forward(tokens()).value()) < 1e-13);
}

TEST_CASE("queries and keys are normed per head", "[layers]") {
  // Keys and queries of length √d times the norm's weights: the largest logit is bounded, whatever the projections.
  TransformerConfig c = decoder();
  c.layers = 1;
  c.qk_norm = true;
  c.positions = Positions::none;
  engine::Rng rng(3);
  const Transformer model(c, rng, DType::f64);
  const Tensor before = model.forward(tokens()).value();
  for (const Parameter& p : model.parameters())
    if (p.name.find("q_proj") != std::string::npos)  // eps is all that a longer query changes
      engine::copy_inplace(p.var.value(), autograd::scale(p.var, 1000).value());
  CHECK(distance(model.forward(tokens()).value(), before) < 1e-3);
  c.qk_norm = false;
  engine::Rng again(3);
  const Transformer plain(c, again, DType::f64);
  CHECK(distance(plain.forward(tokens()).value(), before) > 1e-6);
}

}  // namespace headroom::models
