// Heads out of a trained model's files: what they read and compute is what the model itself does.
#include "tasks/measure/head_source.h"

#include "engine/ops/matmul/matmul.h"
#include "engine/ops/rope/rope.h"
#include "models/attention.h"
#include "models/positions.h"
#include "tasks/measure/head_measurements.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace headroom::tasks {
namespace {

using engine::DType;
using testing::contains;

HeadSource source(const std::string& name, int64_t layer, int64_t head) {
  const std::string folder = testing::source_root() + "/tests/models/pretrained/checkpoints/";
  HeadSource out{.model = {.model = folder + name}, .text = {.text = "random"}};
  out.layer = layer;
  out.head = head;
  return out;
}

/// scale · q kᵀ of the head by its maps, (L, L).
std::vector<double> logits_by_maps(const HeadMaps& maps, const Tensor& tokens) {
  const int64_t length = tokens.dim(1), dim = maps.wq.dim(0);
  const auto turned = [&](const Tensor& map) {
    const Tensor x = engine::matmul(tokens, map, true, true);  // (L, d)
    if (!maps.rope_base) return x;
    const Tensor frequencies = maps.rope_frequencies.empty() ? engine::rope_frequencies(dim, *maps.rope_base)
                                                             : Tensor::from({dim / 2}, maps.rope_frequencies);
    const auto table =
        engine::rope_table(models::position_indices(length), frequencies, maps.rope_interleaved, DType::f64);
    return engine::rope(x.reshape({1, length, 1, dim}), table).reshape({length, dim});
  };
  std::vector<double> z = engine::matmul(turned(maps.wq), turned(maps.wk), false, true).to_vector<double>();
  for (double& value : z) value *= maps.scale;
  return z;
}

/// The same of the model's own queries and keys.
std::vector<double> logits_by_model(StudiedModel& model, const HeadSource& of, int64_t length) {
  std::vector<double> z;
  models::ForwardContext context;
  context.observer = [&](const models::AttentionInputs& in) {
    if (static_cast<int64_t>(in.layer) != of.layer) return;
    const int64_t dim = in.q.dim(3), key = of.head / (in.q.dim(2) / in.k.dim(2));
    const Tensor q = in.q.value().to(DType::f64).slice(2, of.head, of.head + 1).contiguous().reshape({length, dim});
    const Tensor k = in.k.value().to(DType::f64).slice(2, key, key + 1).contiguous().reshape({length, dim});
    z = engine::matmul(q, k, false, true).to_vector<double>();
    for (double& value : z) value *= *in.options.scale;
  };
  hidden_states(model.transformer(), {model.span(of.text, length, 3)}, context);
  return z;
}

}  // namespace

TEST_CASE("a head of files has the logits that its model gives it", "[probe]") {
  const std::vector<std::pair<const char*, int64_t>> heads{{"llama2-gqa", 4},  {"llama3.1", 3}, {"llama3.1.gguf", 3},
                                                           {"linear-rope", 1}, {"qwen2", 2},    {"llama-biases", 2},
                                                           {"gpt2.gguf", 1}};
  for (const auto& [name, head] : heads) {
    CAPTURE(name);
    const HeadSource own = source(name, 1, head);
    StudiedModel model(own.model, {});
    const HeadLoader loader(own, {});
    const StudiedHead studied = loader.load(HeadTokens::activations, 12, 1, 3);
    CHECK(studied.maps.has_biases ==
          (std::string(name) == "qwen2" || std::string(name) == "llama-biases" || std::string(name) == "gpt2.gguf"));
    const std::vector<double> want = logits_by_model(model, own, 12),
                              got = logits_by_maps(studied.maps, studied.tokens);
    REQUIRE(got.size() == want.size());
    for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).epsilon(1e-5).margin(1e-5));
  }
}

TEST_CASE("the bounds hold on heads of files, turned and not", "[probe]") {
  for (const char* name : {"llama2-gqa", "llama3.1.gguf", "qwen2"}) {
    CAPTURE(name);
    HeadSource head = source(name, 1, 1);
    const auto activations = HeadTokens::activations;
    const Metrics softmax = SoftmaxBound({.head = head, .tokens = activations, .length = 24}).compute(0);
    CHECK(softmax.at("violations") == 0);
    CHECK(softmax.at("largest_logit") <= softmax.at("delta"));
    const Metrics rope = RopeBound({.head = head, .tokens = activations, .length = 8, .rank = 2}).compute(0);
    CHECK(rope.at("map_error") <= rope.at("map_bound"));
    CHECK(rope.at("logit_error") <= rope.at("logit_bound"));
    CHECK(rope.at("rank_excess") == 0);
    const SvdBoundConfig turned{.head = head, .tokens = activations, .length = 24, .rank = 2};
    CHECK_THROWS_WITH(SvdBound(turned).compute(0), contains("the head has rotary positions"));
    head.ignores_rotation = true;
    const Metrics svd = SvdBound({.head = head, .tokens = activations, .length = 24, .rank = 2}).compute(0);
    CHECK(svd.at("violations") == 0);
    CHECK(svd.at("query_error") > 0);
    head.model.is_random = true;
    const Metrics random = SoftmaxBound({.head = head, .tokens = activations, .length = 24}).compute(0);
    CHECK(random.at("largest_logit") < softmax.at("largest_logit"));
  }
}

TEST_CASE("a head of files that is not there, or more than its maps, is refused", "[probe]") {
  const auto load = [](const HeadSource& of) {
    return testing::error_of([&] { HeadLoader(of, {}).load(HeadTokens::activations, 8, 1, 0); });
  };
  CHECK(load(source("llama2-gqa", 2, 0)).find("there is no layer 2, it has 2") != std::string::npos);
  CHECK(load(source("llama2-gqa", 0, 6)).find("layer 0 has 6 heads, there is no head 6") != std::string::npos);
  CHECK(load(source("qwen3", 0, 0)).find("its queries and keys are normed") != std::string::npos);
  CHECK(load(source("none", 0, 0)).find("there is no such model at") != std::string::npos);
  CHECK_THROWS_WITH(SoftmaxBound({.tokens = HeadTokens::activations}),
                    contains("tokens: activations are those of a model of files"));
  CHECK_THROWS_WITH(SoftmaxBound({.head = source("smollm2", 0, 0), .tokens = HeadTokens::embedding}),
                    contains("tokens: a head of files has no embedding"));
  HeadSource both = source("smollm2", 0, 0);
  both.run = "runs/a";
  CHECK_THROWS_WITH(SoftmaxBound({.head = both}), contains("run, model: expected one of them"));
  // A missing model fails its own trials: the other series of the study go on.
  const SoftmaxBound missing({.head = source("none", 0, 0), .tokens = HeadTokens::activations});
  missing.check();
  CHECK(missing.data_hashes().empty());
  CHECK_THROWS_WITH(missing.compute(0), contains("there is no such model at"));
  const HeadSource there = source("smollm2", 0, 0);
  CHECK(SoftmaxBound({.head = there}).data_hashes().contains(there.model.model + "/model.safetensors"));
}

}  // namespace headroom::tasks
