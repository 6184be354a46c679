// Weights in each of their forms, and where models get them from.
#include <map>

#include "autograd/ops.h"
#include "models/weights/projection.h"
#include "models/weights/sources.h"
#include "tests/models/small_decoder.h"
#include "tests/op_suite/quantized_data.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

using engine::BlockFormat;
using engine::DType;
using testing::error_of;

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
    REQUIRE(distance(thin, rebuilt) > 0);  // so that the two orders differ
    CHECK(distance(weight.linear(x, {}).value(), rows <= 10 ? thin : rebuilt) == 0);
    CHECK(distance(thin, rebuilt) < 1e-12);
  }
}

TEST_CASE("factors per head are the matrix of every head's product", "[weights]") {
  // Two heads of 5 rows, rank 3: 4 thin rows cost less than the matrix, 100 do not.
  const Var a(random({10, 3}, 1, DType::f64), true), b(random({6, 8}, 2, DType::f64), true);
  const Var bias(random({10}, 4, DType::f64));
  const Weight weight(LowRank{a, b, 2});
  CHECK(weight.shape() == Shape{10, 8});
  CHECK(weight.describe() == ", rank 3 per head");
  std::vector<Var> heads;
  for (int64_t h = 0; h < 2; ++h)
    heads.push_back(autograd::matmul(autograd::slice(a, 0, 5 * h, 5 * h + 5), autograd::slice(b, 0, 3 * h, 3 * h + 3)));
  const Var dense = autograd::concat(heads, 0);  // (10, 8)
  CHECK(distance(weight.values(DType::f64), dense.value()) < 1e-14);
  const Tensor ids = Tensor::from<int64_t>({2}, {7, 2});
  CHECK(distance(weight.rows(ids, DType::f64).value(), autograd::embedding(dense, ids).value()) < 1e-14);
  for (const int64_t rows : {4, 100}) {
    const Var x(random({2, rows / 2, 8}, 3, DType::f64), true);
    const Tensor cotangent = random({2, rows / 2, 10}, 5, DType::f64);
    const auto gradients = [&](const Var& y) {
      for (const Var& leaf : {a, b, x}) leaf.zero_grad();
      autograd::sum(y * Var(cotangent)).backward();
      return std::vector<Tensor>{a.grad().clone(), b.grad().clone(), x.grad().clone()};
    };
    const Var y = weight.linear(x, bias), want = autograd::linear(x, dense, bias);
    CHECK(distance(y.value(), want.value()) < 1e-12);
    const auto have_grads = gradients(weight.linear(x, bias));
    std::vector<Var> again;
    for (int64_t h = 0; h < 2; ++h)
      again.push_back(
          autograd::matmul(autograd::slice(a, 0, 5 * h, 5 * h + 5), autograd::slice(b, 0, 3 * h, 3 * h + 3)));
    const auto want_grads = gradients(autograd::linear(x, autograd::concat(again, 0), bias));
    for (size_t i = 0; i < want_grads.size(); ++i) CHECK(distance(have_grads[i], want_grads[i]) < 1e-11);
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
  CHECK(error_of([] { Weight(Var(Tensor::zeros({3}))); }) == "weight: expected a matrix (out, in), got f32 (3)");
  CHECK(error_of([] {
          Weight(LowRank{Var(Tensor::zeros({3, 2})), Var(Tensor::zeros({3, 4}))});
        }) == "weight: expected factors (out, rank) and (rank, in), got f32 (3, 2) and f32 (3, 4)");
  CHECK(error_of([] {
          Weight(LowRank{Var(Tensor::zeros({3, 2})), Var(Tensor::zeros({4, 4})), 2});
        }) == "weight: expected factors (out, rank) and (2 * rank, in), got f32 (3, 2) and f32 (4, 4)");
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
  {  // What is frozen lies in the file, also when nothing else holds it; what is trained does not.
    const auto mapped = std::make_shared<const SafetensorsFile>(path);
    SafetensorsWeights frozen(mapped, {.is_trained = none_trained}, "model."), trained(mapped, {}, "model.");
    const Var a = frozen.tensor("tokens.weight", {7, 32}, {}), b = trained.tensor("tokens.weight", {7, 32}, {});
    CHECK(a.value().raw() == mapped->mapped("model.tokens.weight").raw());
    CHECK(b.value().raw() != a.value().raw());
    CHECK(error_of([&] { engine::copy_inplace(a.value(), b.value()); }) != "");
    CHECK_NOTHROW(engine::copy_inplace(b.value(), Tensor::zeros({7, 32})));
  }
  const std::string file = path.string();
  CHECK(error_of([&] { build(""); }) == file + ": weights: 'tokens.weight' is not given");
  NamedTensors tensors = drawn.weights();
  tensors.emplace_back("surplus", Tensor::zeros({2}));
  write(tensors);
  CHECK(error_of([&] { build(); }) == file + ": weights: 'model.surplus' is no parameter of this model");
  tensors = drawn.weights();
  tensors[1].second = Tensor::zeros({8, 32});
  write(tensors);
  CHECK(error_of([&] { build(); }) == file + ": weights: 'model.tokens.weight' is f32 (8, 32), expected f32 (7, 32)");
  tensors[1].second = Tensor::zeros({7, 32}, DType::i64);
  write(tensors);
  CHECK(error_of([&] { build(); }) == file + ": weights: 'model.tokens.weight' is i64 (7, 32), expected real numbers");
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

}  // namespace headroom::models
