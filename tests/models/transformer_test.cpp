#include "models/transformer.h"

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "autograd/ops.h"
#include "models/model_cache.h"
#include "models/positions.h"
#include "tests/models/small_decoder.h"
#include "tests/support/error_of.h"

namespace headroom::models {
namespace {

using engine::DType;
using testing::error_of;

TransformerConfig narrow_decoder() {
  TransformerConfig c = decoder();
  c.width = 12;
  c.groups = {{.heads = 2, .qk_dim = 4, .v_dim = 3}};
  c.output_dim = 5;
  c.tied = false;
  c.ffn_width = 10;
  return c;
}

Tensor tokens(const Shape& shape, uint64_t seed = 5) {
  return engine::random_integers(shape, 0, 7, engine::Rng(seed).take("data", shape.numel()));
}

std::map<std::string, Parameter> by_name(const Module& module) {
  std::map<std::string, Parameter> all;
  for (const Parameter& p : module.parameters()) REQUIRE(all.emplace(p.name, p).second);
  return all;
}

}  // namespace

TEST_CASE("a Transformer's output shapes", "[models]") {
  TransformerConfig c = narrow_decoder();
  CHECK(build(c).forward(tokens({3, 9})).shape() == Shape{3, 9, 5});
  CHECK(build(c).forward(tokens({3, 4})).shape() == Shape{3, 4, 5});
  CHECK(build(c).forward(tokens({1, 1})).shape() == Shape{1, 1, 5});
  CHECK(build(c).forward(tokens({0, 4})).shape() == Shape{0, 4, 5});
  c.pooling = Pooling::mean;
  CHECK(build(c).forward(tokens({3, 9})).shape() == Shape{3, 5});
  c.tied = true, c.output_dim = 0, c.pooling = Pooling::none;
  CHECK(build(c).forward(tokens({3, 9})).shape() == Shape{3, 9, 7});
  c.tied = false, c.vocab = 0, c.input_dim = 4, c.output_dim = 2;
  CHECK(build(c, DType::f64).forward(Tensor::zeros({3, 9, 4}, DType::f64)).shape() == Shape{3, 9, 2});
}

TEST_CASE("the smallest Transformer works", "[models]") {
  TransformerConfig c;
  c.width = c.input_dim = c.output_dim = c.max_length = 1;
  c.groups = {{1, 1, 1, 0}};
  c.norm = Norm::none;
  c.positions = Positions::sinusoidal;
  const Transformer model = build(c);
  const Var y = model.forward(Tensor::full({2, 1, 1}, 0.5));
  CHECK(y.shape() == Shape{2, 1, 1});
  autograd::sum(y).backward();
  for (const Parameter& p : model.parameters()) CHECK(p.var.grad().defined());
}

TEST_CASE("parameters are named by their path, and matrices alone decay", "[models]") {
  TransformerConfig c = narrow_decoder();
  c.groups.push_back({.heads = 1, .qk_dim = 2, .v_dim = 5});
  const auto all = by_name(build(c));
  CHECK(all.at("tokens.weight").var.shape() == Shape{7, 12});
  CHECK(all.at("positions").var.shape() == Shape{9, 12});
  CHECK(all.at("blocks.0.attention_norm.weight").var.shape() == Shape{12});
  CHECK(all.at("blocks.1.attention.0.q_proj.weight").var.shape() == Shape{8, 12});
  CHECK(all.at("blocks.1.attention.0.v_proj.bias").var.shape() == Shape{6});
  CHECK(all.at("blocks.1.attention.1.k_proj.weight").var.shape() == Shape{2, 12});
  CHECK(all.at("blocks.1.attention.o_proj.weight").var.shape() == Shape{12, 11});
  CHECK(all.at("blocks.0.ffn.up.weight").var.shape() == Shape{10, 12});
  CHECK(all.at("final_norm.bias").var.shape() == Shape{12});
  CHECK(all.at("readout.weight").var.shape() == Shape{5, 12});
  for (const auto& [name, p] : all) {
    INFO(name);
    CHECK(p.decays == (p.var.value().rank() == 2 && name != "positions"));
    CHECK(p.var.requires_grad());
  }
  c.positions = Positions::alibi;
  const auto alibi = by_name(build(c));
  CHECK(alibi.count("positions") == 0);
  CHECK_FALSE(alibi.at("blocks.0.attention.1.log_slopes").decays);
}

TEST_CASE("ALiBi slopes start geometrically over the heads of all groups", "[models]") {
  const auto slopes = alibi_log_slopes({{.heads = 2}, {.heads = 1}}, 4.0, 0.25, DType::f64);
  REQUIRE(slopes.size() == 2);
  CHECK(slopes[0].to_vector<double>() == std::vector<double>{std::log(4.0), 0.0});
  CHECK(slopes[1].to_vector<double>() == std::vector<double>{std::log(0.25)});
  CHECK(std::abs(alibi_log_slopes({{.heads = 1}}, 4.0, 1.0, DType::f64)[0].item() - std::log(2.0)) < 1e-15);
}

TEST_CASE("ALiBi's slopes are shared by neighbouring heads", "[models]") {
  const auto slopes = [](int64_t distinct) {
    return alibi_log_slopes({{.heads = 4}}, 4.0, 0.25, DType::f64, distinct)[0].to_vector<double>();
  };
  CHECK(slopes(2) == std::vector<double>{std::log(4.0), std::log(4.0), std::log(0.25), std::log(0.25)});
  CHECK(slopes(1) == std::vector<double>(4, slopes(1)[0]));
  CHECK(slopes(1)[0] == Approx(0).margin(1e-15));
  CHECK(slopes(9) == slopes(0));
}

TEST_CASE("RoPE turns a part of a head as it turns a head of that width", "[models]") {
  CHECK(partial_rope_frequencies(4, 8, 100) == std::vector<double>{1, std::pow(100, -0.5), 0, 0});
  CHECK(partial_rope_frequencies(8, 8, 100) == engine::rope_frequencies(8, 100).to_vector<double>());
  for (const int64_t turned : {0, 3, 10}) CHECK_THROWS_AS(partial_rope_frequencies(turned, 8, 100), Error);
}

TEST_CASE("sinusoids interleave sines and cosines", "[models]") {
  const std::vector<double> p = sinusoids(3, 5, DType::f64).to_vector<double>();
  const double slow = std::pow(10000.0, -2.0 / 5);
  CHECK(std::vector<double>(p.begin(), p.begin() + 5) == std::vector<double>{0, 1, 0, 1, 0});
  CHECK(p[10] == std::sin(2.0));
  CHECK(p[11] == std::cos(2.0));
  CHECK(p[12] == std::sin(2 * slow));
  CHECK(p[13] == std::cos(2 * slow));
}

TEST_CASE("a causal model's past does not see its future", "[models]") {
  const Tensor a = tokens({1, 9});
  std::vector<int64_t> changed = a.to_vector<int64_t>();
  changed[6] = (changed[6] + 1) % 7;
  const Tensor b = Tensor::from({1, 9}, changed);
  for (const PositionScheme& scheme : position_schemes()) {
    INFO(scheme.name);
    TransformerConfig c = narrow_decoder();
    c.positions = scheme.positions;
    const Transformer model = build(c);
    const Tensor ya = model.forward(a).value(), yb = model.forward(b).value();
    CHECK(distance(ya.slice(1, 0, 6), yb.slice(1, 0, 6)) == 0);
    CHECK(distance(ya.slice(1, 6, 9), yb.slice(1, 6, 9)) > 1e-4);
    c.causal = false;
    const Transformer seeing = build(c);
    CHECK(distance(seeing.forward(a).value().slice(1, 0, 6), seeing.forward(b).value().slice(1, 0, 6)) > 1e-5);
  }
}

TEST_CASE("every kind of positions but none tells the order of tokens", "[models]") {
  const Tensor forwards = Tensor::from<int64_t>({1, 4}, {1, 2, 3, 4}),
               swapped = Tensor::from<int64_t>({1, 4}, {2, 1, 3, 4});
  for (const PositionScheme& scheme : position_schemes()) {
    INFO(scheme.name);
    TransformerConfig c = narrow_decoder();
    c.causal = false;
    c.positions = scheme.positions;
    c.init.position_std = c.init.embedding_std = 1.0;
    const Transformer model = build(c, DType::f64);
    const double moved =
        distance(model.forward(forwards).value().slice(1, 3, 4), model.forward(swapped).value().slice(1, 3, 4));
    if (scheme.positions == Positions::none) CHECK(moved < 1e-12);
    else CHECK(moved > 1e-4);
  }
}

TEST_CASE("RoPE with ALiBi is RoPE where the slopes are nearly none, and not where they are", "[models]") {
  TransformerConfig c = narrow_decoder();
  c.positions = Positions::rope;
  const Tensor x = tokens({1, 9}), rope = build(c, DType::f64).forward(x).value();
  c.positions = Positions::rope_alibi;
  const Tensor both = build(c, DType::f64).forward(x).value();
  c.alibi_slope_first = c.alibi_slope_last = 1e-14;
  CHECK(distance(build(c, DType::f64).forward(x).value(), rope) < 1e-12);
  CHECK(distance(both, rope) > 1e-4);
}

TEST_CASE("what the key mask hides changes nothing that is kept", "[models]") {
  TransformerConfig c = narrow_decoder();
  c.causal = false;
  c.pooling = Pooling::mean;
  const Transformer model = build(c, DType::f64);
  const Tensor whole = tokens({2, 9}, 1);
  const Tensor mask =
      Tensor::from<uint8_t>({2, 9}, {1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0}).to(DType::boolean);
  const Tensor masked = model.forward(whole, {.key_mask = mask}).value();
  const Tensor cut = model.forward(whole.slice(1, 0, 6)).value();
  CHECK(distance(masked, cut) < 1e-14);
  CHECK(distance(model.forward(whole).value(), cut) > 1e-5);
  const Tensor nothing = Tensor::full({2, 9}, 0, DType::boolean);
  const Tensor bias = by_name(model).at("readout.bias").var.value().reshape({1, 5}).expand({2, 5});
  CHECK(distance(model.forward(whole, {.key_mask = nothing}).value(), bias) == 0);
}

TEST_CASE("mean pooling is the mean over positions, before the readout", "[models]") {
  TransformerConfig c = narrow_decoder();
  const Tensor x = tokens({3, 9}), every = build(c).forward(x).value();
  c.pooling = Pooling::mean;
  CHECK(distance(build(c).forward(x).value(), engine::Tensor(autograd::mean(Var(every), {1}).value())) < 1e-6);
}

TEST_CASE("last pooling is the last position that the key mask keeps", "[models]") {
  TransformerConfig c = narrow_decoder();
  const Tensor x = tokens({3, 9}), every = build(c).forward(x).value();  // (B, T, 5)
  c.pooling = Pooling::last;
  const Transformer model = build(c);
  CHECK_THAT(model.describe(), testing::contains(", last position, linear 12 -> 5"));
  CHECK(distance(model.forward(x).value(), every.slice(1, 8, 9).reshape({3, 5})) < 1e-6);
  std::vector<uint8_t> kept(27, 1);
  kept[8] = 0;                                     // the first sequence ends one earlier
  for (size_t t = 1; t < 9; ++t) kept[9 + t] = 0;  // the second has one token
  kept[18] = 0;                                    // what a mask hides at the front hides no last position
  const Tensor mask = Tensor::from({3, 9}, kept).to(DType::boolean);
  const Tensor masked = model.forward(x, {.key_mask = mask}).value();  // (B, 5)
  CHECK(distance(masked.slice(0, 0, 1), every.slice(0, 0, 1).slice(1, 7, 8).reshape({1, 5})) < 1e-6);
  CHECK(distance(masked.slice(0, 1, 2), every.slice(0, 1, 2).slice(1, 0, 1).reshape({1, 5})) < 1e-6);
  const std::string none = error_of([&] { model.forward(x, {.key_mask = Tensor::zeros({3, 9}, DType::boolean)}); });
  CHECK(none == "transformer: the key mask keeps no position of sequence 0, so it has no last one");
  ModelCache state(c);
  CHECK(error_of([&] { model.decode(x, state); }) == "transformer: only a causal model without pooling decodes");
}

TEST_CASE("last pooling gives its gradient to the last position alone", "[models]") {
  TransformerConfig c = narrow_decoder();
  c.layers = 1, c.causal = true, c.pooling = Pooling::last;
  const Transformer model = build(c, DType::f64);
  const Tensor x = Tensor::from<int64_t>({2, 4}, {1, 2, 3, 0, 4, 5, 6, 1});
  const Tensor mask = Tensor::from<uint8_t>({2, 4}, {1, 1, 1, 0, 1, 1, 1, 1}).to(DType::boolean);
  const Var y = model.forward(x, {.key_mask = mask});  // (B, 5)
  y.backward(Tensor::full({2, 5}, 1.0, DType::f64));
  const std::vector<double> got = by_name(model).at("tokens.weight").var.grad().to_vector<double>();
  for (size_t i = 0; i < 12; ++i) CHECK(got[i] == 0);  // token 0, which the mask hides
  double all = 0;
  for (const double g : got) all += std::abs(g);
  CHECK(all > 0.1);
}

TEST_CASE("equal groups are one group", "[models]") {
  // Two groups of one head compute what one group of two heads does, given the same rows of its projections.
  TransformerConfig c = narrow_decoder();
  c.layers = 1;
  const Transformer one = build(c, DType::f64);
  c.groups = {{.heads = 1, .qk_dim = 4, .v_dim = 3}, {.heads = 1, .qk_dim = 4, .v_dim = 3}};
  const Transformer two = build(c, DType::f64);
  const auto from = by_name(one);
  for (const Parameter& p : two.parameters()) {
    const auto same = from.find(p.name);
    const bool projection =
        p.name.find("attention.") != std::string::npos && p.name.find("o_proj") == std::string::npos;
    if (!projection) {
      engine::copy_inplace(p.var.value(), same->second.var.value());
      continue;
    }
    std::string whole = p.name;
    const size_t digit = whole.find("attention.") + std::strlen("attention.");
    const int64_t head = whole[digit] - '0', rows = p.var.dim(0);
    whole[digit] = '0';
    engine::copy_inplace(p.var.value(), from.at(whole).var.value().slice(0, head * rows, (head + 1) * rows));
  }
  const Tensor x = tokens({2, 9});
  CHECK(distance(one.forward(x).value(), two.forward(x).value()) < 1e-14);
}

TEST_CASE("the logit scale is what the config says", "[models]") {
  TransformerConfig c = narrow_decoder();
  const Tensor x = tokens({2, 9}), usual = build(c).forward(x).value();
  c.logit_scale = 0.5;  // 1/√4
  CHECK(distance(build(c).forward(x).value(), usual) == 0);
  c.logit_scale = 0.0;  // uniform attention
  CHECK(distance(build(c).forward(x).value(), usual) > 0);
}

TEST_CASE("initialisation follows its scheme", "[models]") {
  const auto stats = [](InitScheme scheme, const std::string& name) {
    TransformerConfig c = narrow_decoder();
    c.width = 200, c.ffn_width = 300;
    c.init.scheme = scheme;
    c.init.std = 0.3;
    double sum = 0, squares = 0, largest = 0;
    const std::vector<double> values = by_name(build(c)).at(name).var.value().to_vector<double>();
    for (const double v : values) sum += v, squares += v * v, largest = std::max(largest, std::abs(v));
    const auto n = static_cast<double>(values.size());
    return std::vector<double>{sum / n, std::sqrt(squares / n), largest};
  };
  const std::string up = "blocks.0.ffn.up.weight", down = "blocks.0.ffn.down.weight", bias = "blocks.0.ffn.up.bias";
  const auto close = [](double got, double want) { return std::abs(got - want) < 0.02 * want; };
  const double torch = 1 / std::sqrt(200.0), xavier = std::sqrt(6.0 / 500);
  CHECK(stats(InitScheme::torch_linear, up)[2] <= torch);
  CHECK(close(stats(InitScheme::torch_linear, up)[1], torch / std::sqrt(3.0)));
  CHECK(stats(InitScheme::torch_linear, bias)[2] <= torch);
  CHECK(stats(InitScheme::torch_linear, bias)[2] > 0.9 * torch);
  CHECK(close(stats(InitScheme::normal, up)[1], 0.3));
  CHECK(stats(InitScheme::normal, bias)[2] == 0);
  CHECK(stats(InitScheme::xavier, up)[2] <= xavier);
  CHECK(close(stats(InitScheme::xavier, up)[1], xavier / std::sqrt(3.0)));
  CHECK(close(stats(InitScheme::kaiming, up)[1], std::sqrt(2.0 / 200)));
  CHECK(close(stats(InitScheme::gpt2, up)[1], 0.02));
  CHECK(close(stats(InitScheme::gpt2, down)[1], 0.01));  // 0.02 / √(2·2)
  CHECK(std::abs(stats(InitScheme::gpt2, up)[0]) < 0.001);
}

TEST_CASE("a wrong input is an error that says what was wanted", "[models]") {
  const Transformer model = build(narrow_decoder());
  CHECK(error_of([&] {
          model.forward(Tensor::zeros({2, 3}));
        }) == "transformer: tokens must be i64 (B, T), got f32 (2, 3)");
  CHECK(error_of([&] { model.forward(tokens({4})); }) == "transformer: tokens must be i64 (B, T), got i64 (4)");
  CHECK(error_of([&] {
          model.forward(tokens({2, 10}));
        }) == "transformer: sequences of 10 are longer than max_length, which is 9");
  CHECK(error_of([&] {
          model.forward(tokens({2, 3}), {.key_mask = Tensor::full({2, 4}, 1, DType::boolean)});
        }) == "transformer: key_mask must be bool (2, 3), got bool (2, 4)");
  const std::string outside = error_of([&] { model.forward(Tensor::full({1, 2}, 7, DType::i64)); });
  CHECK(outside.find("embedding") != std::string::npos);
  CHECK(outside.find("\n  in tokens") != std::string::npos);
  TransformerConfig c = narrow_decoder();
  c.dropout = 0.5;
  CHECK(error_of([&] {
          build(c).forward(tokens({2, 3}), {.training = true});
        }) == "transformer: training with dropout 0.5 needs ForwardContext::rng");
  CHECK_NOTHROW(build(c).forward(tokens({2, 3})));
  c.vocab = 0, c.input_dim = 4;
  CHECK(error_of([&] {
          build(c).forward(Tensor::zeros({2, 3, 5}));
        }) == "transformer: input must be f32 (B, T, 4), got f32 (2, 3, 5)");
  CHECK(error_of([&] { build(c, DType::i64); }) == "transformer: parameters must be f32 or f64, not i64");
}

TEST_CASE("a Transformer describes itself in one line", "[models]") {
  TransformerConfig c = narrow_decoder();
  CHECK(build(c).describe() ==
        "transformer: embedding 7 -> 12, learned positions, causal, 2 x [block: attention 2 x (qk 4, v 3), gelu "
        "feed-forward 12 -> 10 -> 12, pre-norm layer_norm 12, eps 1e-05], linear 12 -> 5, bias; 1641 parameters");
  c.groups = {{2, 4, 3, 1}, {1, 5, 6, 0}};
  c.positions = Positions::alibi, c.causal = false, c.tied = true, c.output_dim = 0, c.norm = Norm::none;
  c.norm_place = NormPlace::post, c.ffn_width = 0, c.pooling = Pooling::mean;
  CHECK(build(c).describe() ==
        "transformer: embedding 7 -> 12, alibi positions, 2 x [block: attention 2 x (qk 4, v 3, 1 key-value) + 1 x (qk "
        "5, "
        "v 6), post-norm none], mean over positions, tied readout; 1208 parameters");
}

}  // namespace headroom::models
