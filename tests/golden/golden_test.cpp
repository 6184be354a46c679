// Transformers against PyTorch: loss, every gradient, and the weights after three AdamW steps. make_golden.py wrote the
// fixtures.
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "autograd/ops.h"
#include "autograd/optim/optimizer.h"
#include "engine/context.h"
#include "engine/error.h"
#include "engine/transfer.h"
#include "models/transformer.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"

namespace headroom::models {
namespace {

using engine::DType;
using Json = nlohmann::ordered_json;  // keeps the order of parameters

/// The enumerator whose name_of() is `name`.
template <class E>
E named(const std::string& name, E last) {
  for (int i = 0; i <= static_cast<int>(last); ++i)
    if (name == name_of(static_cast<E>(i))) return static_cast<E>(i);
  fail("golden: unknown name {}", name);
}

TransformerConfig config_of(const Json& j) {
  TransformerConfig c;
  for (const Json& g : j["groups"]) c.groups.push_back({g["heads"], g["qk_dim"], g["v_dim"], g["kv_heads"]});
  c.layers = j["layers"], c.width = j["width"], c.max_length = j["max_length"], c.vocab = j["vocab"];
  c.input_dim = j["input_dim"], c.output_dim = j["output_dim"], c.tied = j["tied"], c.causal = j["causal"];
  c.rope_base = j["rope_base"], c.norm_eps = j["norm_eps"], c.ffn_width = j["ffn_width"];
  c.final_norm = j["final_norm"], c.attention_bias = j["attention_bias"], c.ffn_bias = j["ffn_bias"];
  c.pooling = named(j["pooling"], Pooling::last);
  c.positions = named(j["positions"], Positions::alibi);
  c.norm = named(j["norm"], Norm::rms_norm);
  c.norm_place = named(j["norm_place"], NormPlace::post);
  c.activation = named(j["activation"], Activation::swiglu);
  if (!j["logit_scale"].is_null()) c.logit_scale = j["logit_scale"].get<double>();
  return c;
}

Shape shape_of(const Json& j) {
  Shape shape;
  for (const int64_t dim : j["shape"]) shape.push_back(dim);
  return shape;
}

Tensor tensor_of(const Json& j, DType dtype) {
  return Tensor::from(shape_of(j), j["values"].get<std::vector<double>>()).to(dtype);
}

/// Largest |got - want| in units of the largest |want|, which counts as at least `floor`.
double distance(const Tensor& got, const std::vector<double>& want, double floor) {
  const std::vector<double> values = got.to_vector<double>();
  REQUIRE(values.size() == want.size());
  double worst = 0, scale = floor;
  for (size_t i = 0; i < want.size(); ++i) {
    worst = std::max(worst, testing::apart(values[i], want[i]));
    scale = std::max(scale, std::abs(want[i]));
  }
  return worst / scale;
}

void check_against(const std::string& name, DType dtype, double tolerance, engine::Device device = engine::cpu) {
  std::ifstream file(testing::source_root() + "/tests/golden/" + name + ".json");
  REQUIRE(file);
  const Json golden = Json::parse(file);
  const Json& expected = golden["parameters"];

  const engine::DeviceScope scope(device);
  engine::Rng rng(0);
  const Transformer model(config_of(golden["config"]), rng, dtype);
  const std::vector<Parameter> parameters = model.parameters();
  REQUIRE(parameters.size() == expected.size());
  double largest = 0;
  auto row = expected.begin();
  for (const Parameter& p : parameters) {
    INFO(p.name);
    REQUIRE(p.name == row.key());
    REQUIRE(p.var.shape() == shape_of(*row));
    CHECK(p.decays == row->at("decays").get<bool>());
    engine::copy_inplace(p.var.value(), tensor_of(*row, dtype).to(device));
    for (const double g : row->at("gradient")) largest = std::max(largest, std::abs(g));
    ++row;
  }

  autograd::ParameterArena arena(parameters);
  const Json& o = golden["optimizer"];
  const auto optimizer = autograd::make_optimizer({.kind = "adamw",
                                                   .lr = o["lr"],
                                                   .beta1 = o["beta1"],
                                                   .beta2 = o["beta2"],
                                                   .eps = o["eps"],
                                                   .weight_decay = o["weight_decay"]},
                                                  arena);
  const bool tokens = model.config().vocab > 0, mse = golden["objective"] == "mse";
  const Tensor input = tensor_of(golden["input"], tokens ? DType::i64 : dtype).to(device);
  const Tensor target = tensor_of(golden["target"], mse ? dtype : DType::i64).to(device);
  ForwardContext context;
  if (golden.contains("key_mask")) context.key_mask = tensor_of(golden["key_mask"], DType::boolean).to(device);
  bool first = true;
  for (const double want : golden["losses"]) {
    arena.zero_grad();
    const Var y = model.forward(input, context);
    const Var loss = mse ? autograd::mse(y, Var(target)) : autograd::cross_entropy(y, target);
    loss.backward();
    CHECK(std::abs(loss.value().item() - want) <= tolerance * want);
    for (const Parameter& p : parameters) {
      if (!first) break;
      INFO("gradient of " << p.name);
      // Gradients that are 0 in theory (the keys' bias) are noise: hence the floor.
      CHECK(distance(p.var.grad(), expected[p.name]["gradient"], 1e-2 * largest) <= tolerance);
    }
    first = false;
    optimizer->step(o["lr"]);
  }
  for (const Parameter& p : parameters) {
    INFO(p.name << " after the last step");
    CHECK(distance(p.var.value(), expected[p.name]["after"], 0) <= tolerance);
  }
}

constexpr std::array names{"encoder_pre_gelu", "encoder_post_relu", "decoder_swiglu_tied", "groups_alibi",
                           "rope_shared_masked"};

}  // namespace

TEST_CASE("a Transformer's loss, gradients and AdamW steps are PyTorch's", "[golden]") {
  for (const char* name : names) {
    SECTION(std::string(name) + " f64") { check_against(name, DType::f64, 1e-10); }
    SECTION(std::string(name) + " f32") { check_against(name, DType::f32, 1e-4); }
  }
}

TEST_CASE("and so they are on a GPU", "[golden]") {
  const engine::Device cuda{engine::Device::Kind::cuda, 0};
  if (!engine::has_device(cuda.kind)) return testing::skip("no CUDA device");
  for (const char* name : names) {
    SECTION(std::string(name) + " f64") { check_against(name, DType::f64, 1e-10, cuda); }
    SECTION(std::string(name) + " f32") { check_against(name, DType::f32, 1e-4, cuda); }
  }
}

}  // namespace headroom::models
