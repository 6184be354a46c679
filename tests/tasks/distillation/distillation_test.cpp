// What a student is trained to match in its teacher: values by hand, gradients, and that only what is trained moves.
#include "tasks/distillation/distillation.h"

#include <cmath>

#include "autograd/gradcheck.h"
#include "autograd/ops.h"
#include "engine/context.h"
#include "models/weights/sources.h"
#include "tasks/training/trainer.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

using namespace headroom;
using namespace headroom::tasks;
using testing::contains;
using testing::error_of;

namespace {

constexpr int64_t vocab = 11;

bool has(const std::string& name, const char* part) { return name.find(part) != std::string::npos; }

models::TransformerConfig small_decoder() {
  models::TransformerConfig config;
  config.layers = 2;
  config.width = 8;
  config.groups = {{.heads = 2, .qk_dim = 4, .v_dim = 4, .kv_heads = 1}};
  config.max_length = 6;
  config.vocab = vocab;
  config.tied = true;
  config.causal = true;
  config.positions = models::Positions::rope;
  config.norm = models::Norm::rms_norm;
  config.attention_bias = config.ffn_bias = false;
  config.activation = models::Activation::swiglu;
  config.ffn_width = 12;
  config.init = {.scheme = models::InitScheme::normal, .std = 0.5, .embedding_std = 0.5};
  return config;
}

/// Random sequences of five tokens, whose last two positions are neither scored nor kept in every second sequence.
class Words : public Objective {
 public:
  Batch train_batch(int64_t, int64_t sequences, engine::Rng& rng) const override {
    const engine::Shape shape{sequences, 5};
    Batch batch;
    batch.input = engine::random_integers(shape, 0, vocab, rng.take("data", shape.numel()));  // (B, 5)
    std::vector<int64_t> targets =
        engine::random_integers(shape, 0, vocab, rng.take("data", shape.numel())).to_vector<int64_t>();
    batch.key_mask = engine::Tensor::full(shape, 1, engine::DType::boolean);
    for (int64_t b = 0; b < sequences; b += 2)
      for (int64_t t = 3; t < 5; ++t) {
        targets[static_cast<size_t>(b * 5 + t)] = ignore_index;
        batch.key_mask.mutable_data<bool>()[b * 5 + t] = false;
      }
    batch.target = engine::Tensor::from(shape, targets);  // (B, 5)
    return batch;
  }
  Var loss(const Var& output, const Batch& batch) const override {
    return autograd::cross_entropy(output, batch.target);
  }
};

const Words words;

Batch some_words(int64_t sequences = 3) {
  engine::Rng rng(5);
  return words.train_batch(0, sequences, rng);
}

DistillationConfig all_terms(HiddenStates hidden = HiddenStates::all) {
  return {.weights = {.cross_entropy = 0.3, .kl = 0.7, .hidden = 2, .attention = 5},
          .hidden = hidden,
          .attention_layers = {0, 1}};
}

/// Some weights are leaves of the caller's, the others a model's, frozen.
class Leaves : public models::WeightSource {
 public:
  Leaves(const models::Transformer& model, const std::vector<std::string>& names, const std::vector<Var>& leaves) {
    for (const auto& [name, tensor] : model.weights()) weights_[name] = Var(tensor);
    for (size_t i = 0; i < names.size(); ++i) weights_[names[i]] = leaves[i];
  }
  Var tensor(const std::string& name, const engine::Shape&, const models::Draw&) override { return weights_.at(name); }
  engine::DType dtype() const override { return engine::DType::f64; }

 private:
  std::map<std::string, Var> weights_;
};

/// A model of the seed.
struct Model {
  engine::Rng rng;
  models::Transformer transformer;
  explicit Model(uint64_t seed, engine::DType dtype = engine::DType::f64)
      : rng(seed), transformer(small_decoder(), rng, dtype) {}
};

}  // namespace

TEST_CASE("a student that is its teacher has nothing to learn but the labels", "[distillation]") {
  for (const engine::DType dtype : {engine::DType::f32, engine::DType::f64}) {
    const Model teacher(3, dtype), twin(3, dtype), other(4, dtype);
    const Distillation distillation(teacher.transformer, words, all_terms());
    const Batch batch = some_words();
    const DistillationTerms same = distillation.terms(twin.transformer, batch, {.key_mask = batch.key_mask});
    CHECK(same.kl.value().item() == 0);
    CHECK(same.hidden.value().item() == 0);
    CHECK(same.attention.value().item() == 0);
    CHECK(same.total.value().item() == Approx(0.3 * same.cross_entropy.value().item()));
    const DistillationTerms terms = distillation.terms(other.transformer, batch, {.key_mask = batch.key_mask});
    CHECK(terms.kl.value().item() > 0);
    CHECK(terms.hidden.value().item() > 0);
    CHECK(terms.attention.value().item() > 0);
    CHECK(terms.total.value().item() ==
          Approx(0.3 * terms.cross_entropy.value().item() + 0.7 * terms.kl.value().item() +
                 2 * terms.hidden.value().item() + 5 * terms.attention.value().item()));
  }
}

TEST_CASE("the terms are what their formulas say", "[distillation]") {
  const Model teacher(3), student(4);
  const Batch batch = some_words();
  const models::ForwardContext context{.key_mask = batch.key_mask};
  const autograd::NoGrad no_grad;
  const auto run = [&](const models::Transformer& model, std::vector<Var>& states, std::vector<engine::Tensor>& maps) {
    models::ForwardContext own = context;
    own.states = &states;
    own.probabilities = &maps;
    return model.forward(batch.input, own).value().to_vector<double>();
  };
  std::vector<Var> states, wanted;
  std::vector<engine::Tensor> maps, wanted_maps;
  const std::vector<double> x = run(student.transformer, states, maps);
  const std::vector<double> t = run(teacher.transformer, wanted, wanted_maps);
  REQUIRE(states.size() == 3);
  const auto targets = batch.target.to_vector<int64_t>();
  const auto keeps = batch.key_mask.to_vector<uint8_t>();
  double kl = 0, rows = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] == ignore_index) continue;
    ++rows;
    double sum_x = 0, sum_t = 0;
    for (size_t v = 0; v < vocab; ++v) sum_x += std::exp(x[i * vocab + v]), sum_t += std::exp(t[i * vocab + v]);
    for (size_t v = 0; v < vocab; ++v)
      kl += std::exp(t[i * vocab + v]) / sum_t *
            (t[i * vocab + v] - std::log(sum_t) - x[i * vocab + v] + std::log(sum_x));
  }
  std::vector<double> hidden;
  for (size_t s = 0; s < 3; ++s) {
    const auto a = states[s].value().to_vector<double>(), b = wanted[s].value().to_vector<double>();
    double error = 0, energy = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!keeps[i / 8]) continue;
      error += (a[i] - b[i]) * (a[i] - b[i]);
      energy += b[i] * b[i];
    }
    hidden.push_back(error / energy);
  }
  const DistillationTerms all =
      Distillation(teacher.transformer, words, all_terms()).terms(student.transformer, batch, context);
  CHECK(all.kl.value().item() == Approx(kl / rows));
  CHECK(all.hidden.value().item() == Approx((hidden[0] + hidden[1] + hidden[2]) / 3));
  const Distillation last(teacher.transformer, words, {.weights = {.hidden = 1}});
  CHECK(last.terms(student.transformer, batch, context).total.value().item() == Approx(hidden[2]));

  // Layer 0 reads the same embedding in a student that differs in its heads alone.
  models::NamedTensors mixed;
  for (const auto& [name, tensor] : teacher.transformer.weights()) mixed.emplace_back(name, tensor);
  for (auto& [name, tensor] : mixed)
    for (const auto& [own, replaced] : student.transformer.weights())
      if (own == name && has(name, "blocks.0.attention.0.q_proj")) tensor = replaced;
  models::NamedWeights source(mixed, {.dtype = engine::DType::f64});
  const models::Transformer changed(small_decoder(), source);
  std::vector<Var> ignored;
  std::vector<engine::Tensor> changed_maps;
  run(changed, ignored, changed_maps);
  const auto a = changed_maps[0].to_vector<double>(), b = wanted_maps[0].to_vector<double>();
  double error = 0;
  for (size_t i = 0; i < a.size(); ++i) error += (a[i] - b[i]) * (a[i] - b[i]);
  const Distillation heads(teacher.transformer, words, {.weights = {.attention = 1}, .attention_layers = {0}});
  CHECK(heads.terms(changed, batch, context).total.value().item() == Approx(error / (3 * 2 * 15)));
  const Distillation upper(teacher.transformer, words, {.weights = {.attention = 1}, .attention_layers = {1}});
  CHECK(upper.terms(changed, batch, context).total.value().item() == 0);  // it is given what the teacher's is
}

TEST_CASE("each term has the gradient of its value", "[distillation]") {
  const engine::ReferenceScope reference;
  const Batch batch = some_words();
  const Model teacher(3), student(4);
  for (const DistillationWeights& weights : {DistillationWeights{.kl = 1}, DistillationWeights{.hidden = 1},
                                             DistillationWeights{.attention = 1}, all_terms().weights}) {
    for (const HiddenStates hidden : {HiddenStates::last, HiddenStates::all}) {
      const Distillation distillation(teacher.transformer, words,
                                      {.weights = weights, .hidden = hidden, .attention_layers = {0, 1}});
      std::vector<Var> inputs;
      std::vector<std::string> names;
      for (const models::Parameter& parameter : student.transformer.parameters()) {
        const bool is_of_scores = has(parameter.name, "q_proj") || has(parameter.name, "k_proj");
        if (weights.attention > 0 && weights.kl == 0 && !is_of_scores) continue;
        inputs.emplace_back(parameter.var.value(), true);
        names.push_back(parameter.name);
      }
      const auto result = autograd::gradcheck(
          [&](const std::vector<Var>& in) {
            Leaves leaves(student.transformer, names, in);
            const models::Transformer own(small_decoder(), leaves);
            return distillation.loss_of(own, batch, {.key_mask = batch.key_mask});
          },
          inputs, engine::Rng(1).take("cotangent", 1), {.elements = 4});
      INFO(result.message);
      CHECK(result.ok);
    }
  }
}

TEST_CASE("only what is trained moves, and checkpointed blocks give the same", "[distillation]") {
  const Model teacher(3, engine::DType::f32), start(4, engine::DType::f32);
  const auto is_trained = [](const std::string& name) { return has(name, "q_proj") || has(name, "k_proj"); };
  const auto trained = [&](bool checkpoints, HiddenStates hidden) {
    models::NamedWeights source(start.transformer.weights(), {.dtype = engine::DType::f32, .is_trained = is_trained});
    models::TransformerConfig config = small_decoder();
    config.checkpoint_blocks = checkpoints;
    const models::Transformer student(config, source);
    const Distillation distillation(teacher.transformer, words, all_terms(hidden));
    TrainerConfig settings;
    settings.optimizer.lr = 1e-2;
    settings.batch = 4;
    Trainer trainer(student, distillation, settings, engine::Rng(7));
    std::vector<float> losses;
    for (int step = 0; step < 20; ++step) losses.push_back(static_cast<float>(trainer.step().loss));
    CHECK(losses.back() < losses.front());
    for (const auto& [name, tensor] : student.weights()) {
      for (const auto& [old_name, old] : start.transformer.weights())
        if (old_name == name) CHECK((old.to_vector<float>() == tensor.to_vector<float>()) == !is_trained(name));
    }
    return losses;
  };
  CHECK(trained(false, HiddenStates::last) == trained(true, HiddenStates::last));
  // Gradients of a layer's output add up in another order where it is looked at, too.
  const std::vector<float> plain = trained(false, HiddenStates::all), again = trained(true, HiddenStates::all);
  for (size_t i = 0; i < plain.size(); ++i) CHECK(again[i] == Approx(plain[i]).epsilon(1e-4));
  const Model untouched(3, engine::DType::f32);
  for (size_t i = 0; i < teacher.transformer.weights().size(); ++i)
    CHECK(teacher.transformer.weights()[i].second.to_vector<float>() ==
          untouched.transformer.weights()[i].second.to_vector<float>());
}

TEST_CASE("a distillation that cannot be says why", "[distillation]") {
  const Model teacher(3);
  const auto error = [&](const DistillationConfig& config) {
    return error_of([&] { Distillation(teacher.transformer, words, config); });
  };
  CHECK_THAT(error({}), contains("nothing to train on"));
  CHECK_THAT(error({.weights = {.kl = -1}}), contains("kl: expected a weight >= 0, got -1"));
  CHECK_THAT(error({.weights = {.attention = 1}}), contains("in no layer"));
  CHECK_THAT(error({.weights = {.attention = 1}, .attention_layers = {2}}), contains("no layer 2, the teacher has 2"));
  models::TransformerConfig wider = small_decoder();
  wider.width = 12;
  engine::Rng rng(1);
  const models::Transformer student(wider, rng, engine::DType::f64);
  const Batch batch = some_words();
  const Distillation distillation(teacher.transformer, words, {.weights = {.hidden = 1}});
  CHECK_THAT(error_of([&] { distillation.loss_of(student, batch, {}); }), contains("(3, 5, 12), the teacher's"));
}
