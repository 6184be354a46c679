#include "models/feed_forward.h"

#include <functional>
#include <map>

#include "autograd/ops.h"
#include "models/config_names.h"
#include "models/transformer.h"
#include "models/weights/sources.h"
#include "tests/support/catch.h"

namespace headroom::models {

TEST_CASE("a feed-forward network is down(f(up(x))), with swiglu down(silu(gate(x)) up(x))", "[models]") {
  for (const auto& [activation, name] : activation_names) {
    CAPTURE(name);
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
    using namespace autograd;
    const auto gate = [&] { return linear(x, weight.at("gate.weight")); };
    const std::map<Activation, std::function<Var()>> activated{
        {Activation::relu, [&] { return relu(h); }},
        {Activation::gelu, [&] { return gelu(h); }},
        {Activation::gelu_tanh, [&] { return gelu_tanh(h); }},
        {Activation::silu, [&] { return silu(h); }},
        {Activation::geglu, [&] { return gelu_tanh(gate()) * h; }},
        {Activation::swiglu, [&] { return silu(gate()) * h; }}};
    if (activated.count(activation) == 0) continue;  // an op that came later
    const std::vector<double> want =
        autograd::linear(activated.at(activation)(), weight.at("down.weight")).value().to_vector<double>();
    const std::vector<double> found = network.forward(x).value().to_vector<double>();
    for (size_t i = 0; i < want.size(); ++i) CHECK(found[i] == Approx(want[i]).epsilon(1e-14));
    int64_t parameters = 0;
    for (const auto& [path, var] : weight) parameters += var.value().numel();
    TransformerConfig without = config;
    without.ffn_width = 0;
    const int64_t norm = 2 * config.width;
    CHECK(parameter_count(config) - parameter_count(without) - norm == parameters);
  }
}

}  // namespace headroom::models
