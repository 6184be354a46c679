// Weights in each of their forms, and where models get them from.
#include <cmath>
#include <map>
#include <set>

#include "autograd/op_suite/quantized_data.h"
#include "autograd/ops.h"
#include "models/transformer.h"
#include "models/weights/projection.h"
#include "models/weights/sources.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

using engine::BlockFormat;
using engine::DType;
using testing::error_of;

Tensor random(const Shape& shape, uint64_t seed, DType dtype = DType::f32) {
  return engine::random_normal(shape, 0, 1, engine::Rng(seed).take("x", shape.numel()), dtype);
}

double distance(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  REQUIRE(x.size() == y.size());
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::abs(x[i] - y[i]));
  return worst;
}

TransformerConfig decoder() {
  TransformerConfig c;
  c.layers = 2;
  c.width = 32;
  c.groups = {{.heads = 2, .qk_dim = 16, .v_dim = 16}};
  c.max_length = 9;
  c.vocab = 7;
  c.tied = true;
  c.causal = true;
  c.ffn_width = 64;
  return c;
}

Tensor tokens() { return Tensor::from<int64_t>({2, 4}, {1, 2, 3, 4, 6, 5, 0, 1}); }

}  // namespace

TEST_CASE("a projection multiplies with each form of its weight", "[weights]") {
  const Tensor x = random({3, 5, 64}, 1);
  const Tensor bias = random({6}, 2);
  const auto same = [&](const Projection& projection, const Tensor& matrix) {
    const Tensor want = autograd::linear(Var(x), Var(matrix), Var(bias)).value();
    CHECK(distance(projection.forward(Var(x)).value(), want) < 1e-4);
  };
  const Tensor dense = random({6, 64}, 3);
  const Projection trained(Weight(Var(dense, true)), Var(bias, true)), frozen(Weight(Var(dense)), Var(bias, true));
  same(trained, dense);
  same(frozen, dense);
  const auto blocks = autograd::op_suite::random_blocks("weights", BlockFormat::q4_1, 6, 64);
  const Projection quantized{Weight(blocks), Var(bias)};
  same(quantized, blocks.dequantize());
  const Tensor a = random({6, 2}, 4), b = random({2, 64}, 5);
  const Projection thin(Weight(LowRank{Var(a, true), Var(b)}), Var(bias));
  same(thin, autograd::matmul(Var(a), Var(b)).value());

  CHECK(trained.describe() == "linear 64 -> 6, bias");
  CHECK(frozen.describe() == "linear 64 -> 6, bias, frozen");
  CHECK(quantized.describe() == "linear 64 -> 6, bias, q4_1");
  CHECK(thin.describe() == "linear 64 -> 6, bias, rank 2");
  const auto names = [](const Projection& projection) {
    std::string text;
    for (const Parameter& p : projection.parameters()) text += p.name + " ";
    return text;
  };
  CHECK(names(trained) == "weight bias ");
  CHECK(names(frozen) == "bias ");
  CHECK(names(quantized).empty());
  CHECK(names(thin) == "weight_a ");
  CHECK(trained.parameter_count() == 6 * 64 + 6);
  CHECK(quantized.parameter_count() == 6 * 64 + 6);
  CHECK(quantized.weight_bytes() == 6 * 2 * 20 + 6 * 4);
  CHECK(thin.parameter_count() == 2 * (6 + 64) + 6);
  CHECK(thin.weight_bytes() == 4 * thin.parameter_count());
}

TEST_CASE("what is frozen gets no gradient, what is trained does", "[weights]") {
  const Var a(random({6, 2}, 4), true), b(random({2, 64}, 5)), x(random({3, 64}, 1), true);
  autograd::sum(Weight(LowRank{a, b}).linear(x, {})).backward();
  CHECK(a.grad().defined());
  CHECK_FALSE(b.grad().defined());
  CHECK(x.grad().shape() == Shape{3, 64});
}

TEST_CASE("factors are applied in the order that costs least, to the same product", "[weights]") {
  // Rank 5 of (6, 8): two thin products cost 70 a row, the matrix 48 a row and 240 once.
  const Var a(random({6, 5}, 1, DType::f64)), b(random({5, 8}, 2, DType::f64));
  const Weight weight(LowRank{a, b});
  for (const int64_t rows : {1, 10, 11, 100}) {
    const Var x(random({rows, 8}, 3, DType::f64));
    const Tensor thin = autograd::linear(autograd::linear(x, b), a).value();
    const Tensor rebuilt = autograd::linear(x, autograd::matmul(a, b)).value();
    REQUIRE(distance(thin, rebuilt) > 0);  // so that the order can be told
    CHECK(distance(weight.linear(x, {}).value(), rows <= 10 ? thin : rebuilt) == 0);
    CHECK(distance(thin, rebuilt) < 1e-12);
  }
}

TEST_CASE("rows of a weight in each form", "[weights]") {
  const Tensor ids = Tensor::from<int64_t>({2, 1}, {5, 0});
  const auto blocks = autograd::op_suite::random_blocks("weights", BlockFormat::q8_0, 6, 32);
  const Tensor of_blocks = Weight(blocks).rows(ids, DType::f32).value();
  CHECK(of_blocks.shape() == Shape{2, 1, 32});
  CHECK(distance(of_blocks, autograd::embedding(Var(blocks.dequantize()), ids).value()) == 0);
  const Var a(random({6, 2}, 4)), b(random({2, 64}, 5));
  const Tensor of_factors = Weight(LowRank{a, b}).rows(ids, DType::f32).value();
  CHECK(distance(of_factors, autograd::embedding(autograd::matmul(a, b), ids).value()) < 1e-5);
}

TEST_CASE("a form that does not fit is refused", "[weights]") {
  CHECK(error_of([] { Weight(Var(Tensor::zeros({3}))); }) == "weight: wants a matrix (out, in), got f32 (3)");
  CHECK(error_of([] {
          Weight(LowRank{Var(Tensor::zeros({3, 2})), Var(Tensor::zeros({3, 4}))});
        }) == "weight: wants factors (out, rank) and (rank, in), got f32 (3, 2) and f32 (3, 4)");
  CHECK_FALSE(Weight().defined());
}

TEST_CASE("a model from its own tensors is the same model", "[weights]") {
  engine::Rng rng(3);
  const Transformer drawn(decoder(), rng);
  const Tensor want = drawn.forward(tokens()).value();
  NamedWeights given(drawn.weights());
  const Transformer trained(decoder(), given);
  CHECK(distance(trained.forward(tokens()).value(), want) == 0);
  CHECK(trained.parameters().size() == drawn.parameters().size());
  // A copy: training it leaves the tensors that it came from as they are.
  for (const Parameter& p : trained.parameters()) engine::copy_inplace(p.var.value(), Tensor::zeros(p.var.shape()));
  CHECK(distance(drawn.forward(tokens()).value(), want) == 0);

  NamedWeights again(drawn.weights(), {.is_trained = none_trained});
  const Transformer frozen(decoder(), again);
  CHECK(distance(frozen.forward(tokens()).value(), want) == 0);
  CHECK(frozen.parameters().empty());
  CHECK(frozen.parameter_count() == drawn.parameter_count());
  CHECK(frozen.weights().size() == drawn.parameters().size());

  NamedWeights some(drawn.weights(),
                    {.is_trained = [](const std::string& name) { return name.find("q_proj") != std::string::npos; }});
  const Transformer partly(decoder(), some);
  CHECK(partly.parameters().size() == 2 * 2);
  autograd::sum(partly.forward(tokens())).backward();
  for (const Parameter& p : partly.parameters()) CHECK(p.var.grad().defined());
}

TEST_CASE("a model from a safetensors file, and what is wrong with one", "[weights]") {
  const testing::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "m.safetensors";
  engine::Rng rng(3);
  const Transformer drawn(decoder(), rng);
  const auto write = [&](NamedTensors tensors) {
    for (auto& [name, tensor] : tensors) name = "model." + name;
    tensors.emplace_back("optimizer.step", Tensor::zeros({1}));
    write_safetensors(path, tensors);
  };
  const auto build = [&](const std::string& prefix = "model.") {
    SafetensorsWeights weights(path, {.is_trained = none_trained}, prefix);
    const Transformer model(decoder(), weights);
    return model.forward(tokens()).value();
  };
  write(drawn.weights());
  CHECK(distance(build(), drawn.forward(tokens()).value()) == 0);
  const std::string file = path.string();
  CHECK(error_of([&] { build(""); }) == file + ": weights: 'tokens.weight' is not given");
  NamedTensors tensors = drawn.weights();
  tensors.emplace_back("surplus", Tensor::zeros({2}));
  write(tensors);
  CHECK(error_of([&] { build(); }) == file + ": weights: 'model.surplus' is no parameter of this model");
  tensors = drawn.weights();
  tensors[1].second = Tensor::zeros({8, 32});
  write(tensors);
  CHECK(error_of([&] { build(); }) == file + ": weights: 'model.tokens.weight' is f32 (8, 32), wants f32 (7, 32)");
  tensors[1].second = Tensor::zeros({7, 32}, DType::i64);
  write(tensors);
  CHECK(error_of([&] { build(); }) == file + ": weights: 'model.tokens.weight' is i64 (7, 32), wants real numbers");
  // Halves are converted.
  tensors = drawn.weights();
  for (auto& [name, tensor] : tensors) tensor = tensor.to(DType::f16);
  write(tensors);
  const double off = distance(build(), drawn.forward(tokens()).value());
  CHECK(off > 0);
  CHECK(off < 1e-2);
}

TEST_CASE("a model with quantised matrices is the model with their numbers", "[weights]") {
  engine::Rng rng(3);
  const Transformer drawn(decoder(), rng);
  NamedTensors rest, dense;
  std::map<std::string, engine::QuantizedMatrix> matrices;
  for (const Parameter& p : drawn.parameters()) {
    if (p.var.value().rank() != 2 || p.name == "positions") {
      rest.emplace_back(p.name, p.var.value()), dense.emplace_back(p.name, p.var.value());
      continue;
    }
    matrices[p.name] = autograd::op_suite::random_blocks(p.name, BlockFormat::q8_0, p.var.dim(0), p.var.dim(1));
    dense.emplace_back(p.name, matrices[p.name].dequantize());
  }
  NamedWeights quantized(rest, {.is_trained = none_trained}), unpacked(dense, {.is_trained = none_trained});
  for (const auto& [name, matrix] : matrices) quantized.add(name, matrix);
  const Transformer small(decoder(), quantized), large(decoder(), unpacked);
  CHECK(distance(small.forward(tokens()).value(), large.forward(tokens()).value()) < 1e-3);
  CHECK(small.parameter_count() == large.parameter_count());
  CHECK(error_of([&] { small.weights(); }) == "weights: 'tokens.weight' is quantised");
  CHECK(small.weight_bytes() < large.weight_bytes() / 3);
  CHECK(small.describe().find("embedding 7 -> 32, q8_0") != std::string::npos);
  CHECK(small.describe().find("2 x (qk 16, v 16, q: q8_0, k: q8_0, v: q8_0)") != std::string::npos);
}

TEST_CASE("layers of unequal shape, ranks and biases count and run as they say", "[weights]") {
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

  // Every weight is asked for by the name that it has afterwards, and none other.
  NamedWeights given(model.weights());
  CHECK_NOTHROW(Transformer(c, given));
}

TEST_CASE("equal layers written out are the short form", "[weights]") {
  TransformerConfig written = decoder();
  written.unequal_layers = layers_of(written);
  written.groups.clear(), written.ffn_width = 0;
  engine::Rng rng(3), same(3);
  const Transformer a(decoder(), rng), b(written, same);
  CHECK(distance(a.forward(tokens()).value(), b.forward(tokens()).value()) == 0);
  CHECK(a.describe() == b.describe());
}

TEST_CASE("rotary positions from frequencies, scalings and an offset", "[weights]") {
  TransformerConfig c;
  const HeadGroup group{.heads = 1, .qk_dim = 8, .v_dim = 8};
  const std::vector<double> plain = rope_frequencies(c, group);
  CHECK(plain[0] == 1);
  CHECK(plain[2] == Approx(std::pow(10000.0, -0.5)));
  c.rope_scaling = {.kind = RopeScalingKind::linear, .factor = 4};
  CHECK(rope_frequencies(c, group)[2] == Approx(plain[2] / 4));
  // Llama 3.1: 8192 tokens, factor 8, from 1 to 4; transformers gives these for base 500000 and 8 dims.
  c.rope_base = 500000;
  c.rope_scaling = {.kind = RopeScalingKind::llama3, .factor = 8, .low = 1, .high = 4, .original_length = 8192};
  const std::vector<double> llama = rope_frequencies(c, group);
  CHECK(llama[0] == 1);
  CHECK(llama[1] == Approx(std::pow(500000.0, -0.25)));
  const double f = std::pow(500000.0, -0.5), share = (8192 * f / (2 * M_PI) - 1) / 3;
  CHECK(share > 0);
  CHECK(share < 1);
  CHECK(llama[2] == Approx((1 - share) * f / 8 + share * f));
  CHECK(llama[3] == Approx(std::pow(500000.0, -0.75) / 8));

  const RopeTurns turns(plain, false, DType::f32);
  const Tensor few = turns.rows(0, 3).angles.contiguous();
  const Tensor later = turns.rows(5, 8).angles.contiguous();
  const Tensor at_once = RopeTurns(plain, false, DType::f32).rows(0, 8).angles;
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

TEST_CASE("interleaved pairs are halves with the rows of queries and keys in another order", "[weights]") {
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

TEST_CASE("queries and keys are normed per head", "[weights]") {
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
