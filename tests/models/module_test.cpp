#include "models/weights/module.h"

#include "autograd/optim/arena.h"
#include "models/weights/projection.h"
#include "models/weights/sources.h"
#include "tests/support/catch.h"

namespace headroom::models {
namespace {

/// A matrix (2, 3) and a bias.
Projection linear(engine::Rng& rng) {
  DrawnWeights drawn({}, rng, engine::DType::f32);
  return Projection({.in = 3, .out = 2, .bias = true}, WeightScope(drawn));
}

struct Part : Module {
  explicit Part(engine::Rng& rng) : v_proj(linear(rng)) {
    add_child("v_proj", v_proj);
    slopes = add_parameter("slopes", Var(Tensor::zeros({5}), true), false);
  }
  std::string describe() const override { return "part"; }
  void register_again(const std::string& name) { add_parameter(name, Var(Tensor::zeros({1}), true), true); }
  void adopt_again(const std::string& name) { add_child(name, v_proj); }

  Projection v_proj;
  Var slopes;
};

struct Whole : Module {
  explicit Whole(engine::Rng& rng) : first(rng), second(rng) {
    add_child("blocks.0", first);
    add_child("blocks.1", second);
  }
  std::string describe() const override { return "whole"; }

  Part first, second;
};

}  // namespace

TEST_CASE("a module's parameters carry their path, own ones first", "[models]") {
  engine::Rng rng(1);
  const Whole whole(rng);
  std::vector<std::string> names;
  for (const Parameter& p : whole.parameters()) names.push_back(p.name);
  CHECK(names == std::vector<std::string>{"blocks.0.slopes", "blocks.0.v_proj.weight", "blocks.0.v_proj.bias",
                                          "blocks.1.slopes", "blocks.1.v_proj.weight", "blocks.1.v_proj.bias"});
  CHECK(whole.parameter_count() == 2 * (5 + 6 + 2));
  CHECK(whole.first.v_proj.describe() == "linear 3 -> 2, bias");
}

TEST_CASE("an error inside a module says in which", "[models]") {
  engine::Rng rng(1);
  const Whole whole(rng);
  CHECK(whole.path().empty());
  CHECK(whole.second.path() == "blocks[1]");
  std::string what = "no error";
  try {
    whole.second.v_proj.forward(Var(Tensor::zeros({4, 5})));
  } catch (const Error& error) {
    what = error.what();
  }
  CHECK(what.find("linear") == 0);
  CHECK(what.find("(4, 5)") != std::string::npos);
  CHECK(what.find("\n  in blocks[1].v_proj") != std::string::npos);
}

TEST_CASE("a module's weights are loaded in place, and frozen", "[models]") {
  engine::Rng rng(1), other(2);
  Whole whole(rng);
  const Whole from(other);
  const Var bias = whole.first.v_proj.bias();
  whole.load(from.weights());
  CHECK(bias.value().to_vector<float>() == from.first.v_proj.bias().value().to_vector<float>());
  NamedTensors given = from.weights();
  given[0].second = Tensor::full({5}, 3);
  given.emplace_back("more", Tensor::zeros({1}));
  CHECK_THROWS_WITH(whole.load(given), "load: there is no weight 'more'");
  given.erase(given.begin() + 1, given.end());
  CHECK_THROWS_WITH(whole.load(given), "load: no 'blocks.0.v_proj.weight'");
  CHECK(whole.first.slopes.value().to_vector<float>()[0] == 0);  // nothing was written
  whole.first.set_requires_grad(false);
  CHECK(whole.parameters().size() == 3);
  whole.first.set_requires_grad(true);
  const autograd::ParameterArena arena(whole.parameters());
  CHECK_THROWS_WITH(whole.set_requires_grad(false), testing::contains("is in an optimizer's arena"));
  CHECK_THROWS_WITH((bias + bias).set_requires_grad(false), testing::contains("is no leaf"));
}

TEST_CASE("two parts or parameters of one name are refused", "[models]") {
  engine::Rng rng(1);
  Part part(rng);
  CHECK_THROWS_WITH(part.register_again("slopes"), "module: two parameters named 'slopes'");
  CHECK_THROWS_WITH(part.adopt_again("v_proj"), "module: two parts named 'v_proj'");
}

}  // namespace headroom::models
