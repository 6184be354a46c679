// Gradients of whole trained models, and of parts of them.
#include <map>

#include "models/costs.h"
#include "tasks/finetune/text_windows.h"
#include "tasks/finetune/trained_part.h"
#include "tests/models/pretrained/checkpoints.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"
#include "tests/support/error_of.h"

namespace headroom::tasks {
namespace {

using engine::DType;
using testing::apart;
using testing::checkpoints;
using testing::error_of;
using testing::some_tokens;

Batch some_batch() {
  engine::Rng rng(2);
  return TextWindows(some_tokens(60), 12).train_batch(3, 2, rng);
}

Var loss_of(const models::Transformer& model) {
  const TextWindows task(some_tokens(60), 12);
  const Batch batch = some_batch();
  return task.loss(model.forward(batch.input), batch);
}

double loss_value(const models::Transformer& model) {
  const autograd::NoGrad no_grad;
  return loss_of(model).value().item();
}

std::map<std::string, std::vector<double>> gradients_of(const models::Transformer& model) {
  loss_of(model).backward();
  std::map<std::string, std::vector<double>> gradients;
  for (const autograd::Parameter& parameter : model.parameters()) {
    REQUIRE(parameter.var.grad().defined());
    gradients[parameter.name] = parameter.var.grad().to_vector<double>();
  }
  return gradients;
}

/// The loss's slope along a direction of one weight, by central differences.
double slope(const models::Transformer& model, const Var& weight, const Tensor& direction) {
  const double h = 1e-5;
  const std::vector<double> value = weight.value().to_vector<double>(), along = direction.to_vector<double>();
  const auto at = [&](double t) {
    auto* to = weight.value().mutable_data<double>();
    for (size_t i = 0; i < value.size(); ++i) to[i] = value[i] + t * along[i];
    return loss_value(model);
  };
  const double difference = at(h) - at(-h);
  at(0);
  return difference / (2 * h);
}

}  // namespace

TEST_CASE("every weight of a trained model has the gradient of its loss", "[finetune]") {
  for (const char* name : {"smollm2", "llama-biases", "llama2-gqa.gguf", "qwen2", "qwen3", "gpt2", "gpt2.gguf"}) {
    INFO(name);
    const auto files = models::ModelFiles::open(checkpoints() / name);
    const auto model = files->load({.keep = models::Keep::computed, .weights = {.dtype = DType::f64}});
    const auto gradients = gradients_of(*model);
    int64_t count = 0;
    uint64_t seed = 0;
    for (const autograd::Parameter& parameter : model->parameters()) {
      INFO(parameter.name);
      const engine::Shape& shape = parameter.var.shape();
      count += shape.numel();
      engine::Rng rng(++seed);
      const Tensor direction = engine::random_normal(shape, 0, 1, rng.take("direction", shape.numel() + 1), DType::f64);
      const std::vector<double> along = direction.to_vector<double>(), &gradient = gradients.at(parameter.name);
      double expected = 0;
      for (size_t i = 0; i < along.size(); ++i) expected += along[i] * gradient[i];
      CHECK(slope(*model, parameter.var, direction) == Approx(expected).epsilon(1e-5).margin(1e-7));
    }
    CHECK(count == models::parameter_count(files->description().config));
  }
}

TEST_CASE("gradients go through frozen blocks", "[finetune]") {
  const auto files = models::ModelFiles::open(checkpoints() / "smollm2");
  const models::TransformerConfig& config = files->description().config;
  const auto heads = files->load(load_options(TrainedPart::heads, config));
  const auto whole = files->load({.keep = models::Keep::computed, .weights = {}});
  CHECK_THAT(heads->describe(), testing::contains("v: bf16"));  // as the file has it
  const auto part = gradients_of(*heads), all = gradients_of(*whole);
  CHECK(part.size() == 2 * static_cast<size_t>(config.layers));
  for (const auto& [name, gradient] : part) {
    INFO(name);
    CHECK((name.ends_with("q_proj.weight") || name.ends_with("k_proj.weight")));
    const std::vector<double>& same = all.at(name);
    double worst = 0, largest = 0;
    for (size_t i = 0; i < same.size(); ++i) {
      worst = std::max(worst, apart(same[i], gradient[i]));
      largest = std::max(largest, std::abs(same[i]));
    }
    CHECK(largest > 0);
    CHECK(worst < 1e-5 * largest);
  }
}

TEST_CASE("a part's parameters are counted before it is loaded", "[finetune]") {
  models::TransformerConfig plain;
  plain.layers = 3, plain.width = 12, plain.vocab = 7, plain.tied = plain.causal = true, plain.ffn_width = 5;
  plain.positions = models::Positions::rope;
  plain.groups = {{.heads = 4, .qk_dim = 6, .v_dim = 3, .kv_heads = 2}};
  models::TransformerConfig factors = plain, per_head = plain, classifier = plain;
  factors.groups = {{.heads = 2, .qk_dim = 6, .v_dim = 3, .q_rank = 2, .k_rank = 3}, {.heads = 1, .qk_dim = 4}};
  per_head.groups[0].q_head_rank = 2, per_head.groups[0].k_head_rank = 3, per_head.groups[0].score_dim = 2;
  classifier.tied = classifier.readout_bias = false, classifier.output_dim = 3;
  classifier.pooling = models::Pooling::last;
  for (const models::TransformerConfig& config : {plain, factors, per_head, classifier})
    for (const TrainedPart part : {TrainedPart::all, TrainedPart::heads, TrainedPart::head}) {
      engine::Rng rng(1);
      const models::Transformer model(config, rng);
      INFO(model.describe() << ", " << name_of(part));
      int64_t count = 0;
      for (const autograd::Parameter& parameter : model.parameters())
        if (is_trained(part, parameter.name, config.pooling != models::Pooling::none))
          count += parameter.var.value().numel();
      CHECK(count == trained_count(part, config));
    }
  CHECK(error_of([&] { load_options(TrainedPart::head, plain); }) ==
        "the model's readout is its token embedding: there is no head to train alone");
  CHECK(error_of([] { trained_part_named("tail"); }) == "finetune: there is no part 'tail'; known: all, heads, head");
  CHECK(trained_part_named("heads") == TrainedPart::heads);
}

TEST_CASE("what a fine-tuning needs grows with what is trained and kept", "[finetune]") {
  const auto files = models::ModelFiles::open(checkpoints() / "smollm2");
  models::TransformerConfig config = files->description().config;
  const FinetuneNeed all = finetune_need(TrainedPart::all, config, 4, 64);
  CHECK(all.state == 16.0 * static_cast<double>(models::parameter_count(config)));
  CHECK(finetune_need(TrainedPart::heads, config, 4, 64).state < all.state / 2);
  CHECK(finetune_need(TrainedPart::all, config, 8, 64).activations == Approx(2 * all.activations));
  config.checkpoint_blocks = true;
  CHECK(finetune_need(TrainedPart::all, config, 4, 64).activations < all.activations);
}

TEST_CASE("windows of a text are a function of seed and step", "[finetune]") {
  const TextWindows task(some_tokens(50), 8);
  engine::Rng rng(4);
  const Batch batch = task.train_batch(7, 3, rng);
  CHECK(rng.offsets().empty());
  const std::vector<int64_t> starts = task.starts(7, 3, 4), inputs = batch.input.to_vector<int64_t>(),
                             targets = batch.target.to_vector<int64_t>();
  CHECK(starts == task.starts(7, 3, 4));
  CHECK(starts != task.starts(8, 3, 4));
  for (size_t b = 0; b < 3; ++b)
    for (size_t t = 0; t < 8; ++t) {
      const auto at = static_cast<size_t>(starts[b]) + t;
      CHECK(inputs[b * 8 + t] == task.tokens()[at]);
      CHECK(targets[b * 8 + t] == task.tokens()[at + 1]);
    }
  const TextWindows begun(some_tokens(50), 8, 7);
  const Batch second = begun.train_batch(3, 5, rng);
  const auto input = second.input.to_vector<int64_t>(), target = second.target.to_vector<int64_t>();  // (5, 8)
  for (size_t i = 0; i < input.size(); ++i) CHECK(input[i] == (i % 8 == 0 ? 7 : target[i - 1]));
  CHECK(error_of([] { TextWindows(some_tokens(8), 8); }) ==
        "the text to train on has 8 tokens; expected a window of 8 and the token after it");
}

}  // namespace headroom::tasks
