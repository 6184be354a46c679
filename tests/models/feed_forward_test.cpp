#include "models/feed_forward.h"

#include "autograd/ops.h"
#include "models/transformer.h"
#include "models/weights/sources.h"
#include "tests/support/catch.h"

namespace headroom::models {

TEST_CASE("a feed-forward network is down(f(up(x))), with swiglu down(silu(gate(x)) up(x))", "[models]") {
  for (const Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu,
                                      Activation::swiglu, Activation::geglu}) {
    CAPTURE(name_of(activation));
    TransformerConfig config;
    config.width = 5;
    config.groups = {{1, 2, 2}};
    config.input_dim = config.output_dim = 3;
    config.ffn_width = 8;
    config.activation = activation;
    config.ffn_bias = false;
    engine::Rng rng(2);
    DrawnWeights drawn(config, rng, engine::DType::f64);
    const FeedForward network(config, config.ffn_width, WeightScope(drawn));
    std::map<std::string, Var> weight;
    for (const Parameter& p : network.parameters()) weight.emplace(p.name, p.var);
    CHECK(weight.size() == (is_gated(activation) ? 3 : 2));
    const Var x(engine::random_normal({4, 5}, 0, 1, rng.take("x", 20), engine::DType::f64));
    const Var h = autograd::linear(x, weight.at("up.weight"));
    const auto activated = [&] {
      switch (activation) {
        case Activation::relu:
          return autograd::relu(h);
        case Activation::gelu:
          return autograd::gelu(h);
        case Activation::gelu_tanh:
          return autograd::gelu_tanh(h);
        case Activation::silu:
          return autograd::silu(h);
        case Activation::geglu:
          return autograd::gelu_tanh(autograd::linear(x, weight.at("gate.weight"))) * h;
        case Activation::swiglu:
          break;
      }
      return autograd::silu(autograd::linear(x, weight.at("gate.weight"))) * h;
    };
    const std::vector<double> want =
        autograd::linear(activated(), weight.at("down.weight")).value().to_vector<double>();
    const std::vector<double> found = network.forward(x).value().to_vector<double>();
    for (size_t i = 0; i < want.size(); ++i) CHECK(found[i] == Approx(want[i]).epsilon(1e-14));
    int64_t parameters = 0;
    for (const auto& [name, var] : weight) parameters += var.value().numel();
    TransformerConfig without = config;
    without.ffn_width = 0;
    const int64_t norm = 2 * config.width;
    CHECK(parameter_count(config) - parameter_count(without) - norm == parameters);
  }
}

}  // namespace headroom::models
