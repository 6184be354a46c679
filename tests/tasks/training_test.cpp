#include <cmath>
#include <filesystem>
#include <limits>

#include "autograd/ops.h"
#include "engine/cpu/kernel_level.h"
#include "engine/error.h"
#include "engine/parallel.h"
#include "tasks/training/evaluation.h"
#include "tests/support/folder.h"
#include "tests/tasks/training/fixture.h"

using namespace headroom;
using namespace headroom::tasks;
using namespace testing;

namespace {

/// The task, but one of its losses is infinite.
class Bursting : public Objective {
 public:
  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override {
    step_ = step;
    return small_task().train_batch(step, sequences, rng);
  }
  Var loss(const Var& output, const Batch& batch) const override {
    return autograd::scale(small_task().loss(output, batch), step_ == 3 ? std::numeric_limits<double>::infinity() : 1);
  }

 private:
  mutable int64_t step_ = 0;
};

}  // namespace

TEST_CASE("trainer: the error falls, with the same bits on any number of threads") {
  Training one, two;
  const Batch test = small_task().evaluation(Split::test, 64);
  const double before = evaluate(one.model, small_task(), test, 32).metrics.at("relative_mse");
  one.run(150);
  {
    const engine::ThreadScope threads(2);
    two.run(150);
  }
  CHECK((one.weights() == two.weights()));
  CHECK(evaluate(one.model, small_task(), test, 32).metrics.at("relative_mse") < 0.7 * before);
  CHECK(one.trainer.steps_done() == 150);
}

TEST_CASE("trainer: the state after a step") {
  Training training;
  const engine::StepState first = training.trainer.step();
  CHECK(first.step == 1);
  CHECK(first.updates == 1);
  CHECK(first.learning_rate == 1e-2 * 0.2);
  CHECK(first.loss > 0);
  CHECK(first.gradient_factor == (first.gradient_norm > 0.5 ? 0.5 / first.gradient_norm : 1));
  CHECK(first.random_count > 0);
  CHECK(first.random_offset == first.random_count);
  CHECK(training.trainer.step().random_offset == 2 * first.random_count);
  training.trainer.observe(1);
  training.trainer.observe(2);  // no better: half the rate
  CHECK(training.trainer.step().learning_rate == Approx(1e-2 * 0.6 * 0.5));
}

TEST_CASE("trainer: what the host reads only now and then changes no bit") {
  TrainerConfig rarely = small_settings();
  rarely.read_every = 4;
  Training each, seldom(rarely);
  for (int64_t step = 1; step <= 11; ++step) {
    each.run(1), seldom.run(1);
    CHECK(seldom.trainer.state().step == step / 4 * 4);
    if (step % 4 == 0) CHECK(seldom.trainer.state().loss == each.trainer.state().loss);
    if (step == 6) each.trainer.observe(1), seldom.trainer.observe(1);
    if (step == 7) each.trainer.observe(2), seldom.trainer.observe(2);
  }
  CHECK((each.weights() == seldom.weights()));
}

TEST_CASE("trainer: a training that went through a file goes on to the same bits") {
  const testing::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "training.safetensors";
  Training whole, part, resumed;
  whole.run(4), part.run(4);
  for (Training* each : {&whole, &part}) each->trainer.observe(1), each->trainer.observe(2);
  part.trainer.save(path);
  resumed.trainer.load(path);
  CHECK(resumed.trainer.steps_done() == 4);
  CHECK((resumed.weights() == part.weights()));
  CHECK((resumed.run(5).weights() == whole.run(5).weights()));
  TrainerConfig sgd = small_settings();
  sgd.optimizer.kind = "sgd";
  sgd.optimizer.momentum = 0.9;
  Training other(sgd);
  CHECK_THROWS_WITH(other.trainer.load(path), contains("optimizer state: no 'momentum'"));
  CHECK_THROWS_WITH(load_checkpoint(path, "somebody"), contains("is of trial , not of somebody"));
  Checkpoint foreign = load_checkpoint(path, "");
  foreign.level = "avx2, own products, bits 0";
  save_checkpoint(path, "", foreign);
  const std::string words =
      ": its steps were computed by avx2, own products, bits 0; " + engine::kernel_level() + " here ";
  CHECK_THROWS_WITH(resumed.trainer.load(path), contains(path.string() + words));
  foreign.level.clear();  // as a file of an earlier version
  save_checkpoint(path, "", foreign);
  resumed.trainer.load(path);
  CHECK((resumed.run(5).weights() == whole.weights()));
}

TEST_CASE("a loop of one's own, saved and resumed by one call each, goes on to the same bits") {
  const testing::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "training.safetensors";
  // Trains until `stop`, as a process would that is killed there.
  const auto train = [&](int64_t stop, const std::filesystem::path& path, uint64_t seed = 3) {
    engine::Rng rng(seed);
    const models::Transformer model(small_model(), rng);
    const auto optimizer = autograd::make_optimizer({}, autograd::ParameterArena(model.parameters()));
    for (int64_t step = resume_training(path, *optimizer, rng); step < stop;) {
      optimizer->arena().zero_grad();
      const Batch batch = small_task().train_batch(step, 8, rng);
      small_task().loss(model.forward(batch.input, {.training = true, .rng = &rng}), batch).backward();
      optimizer->step(1e-2, 1);
      if (++step % 3 == 0) save_training(path, *optimizer, rng, step);
    }
    return optimizer->arena().values().to_vector<float>();
  };
  const std::vector<float> whole = train(8, folder.path() / "other.safetensors");
  CHECK_FALSE((train(5, file) == whole));  // the file is of step 3
  CHECK((train(8, file) == whole));
  CHECK_THROWS_WITH(train(8, file, 4), contains("its random streams are of seed 3, not of 4"));
  Checkpoint old = load_checkpoint(file, "");
  CHECK(old.step == 6);
  old.seed.reset();  // as a file of an earlier version
  save_checkpoint(file, "", old);
  CHECK((train(8, file) == whole));
  old.tensors.erase(old.tensors.begin());
  save_checkpoint(file, "", old);
  CHECK_THROWS_WITH(train(8, file), contains("checkpoint: no weights '") || contains("optimizer state: no '"));
}

TEST_CASE("trainer: a restore that does not fit changes nothing") {
  Training first, second;
  first.run(3);
  Checkpoint checkpoint = first.trainer.checkpoint();
  for (auto& [name, tensor] : checkpoint.tensors) tensor = tensor.clone();
  checkpoint.tensors.back().second = Tensor::zeros({1});  // the last moment, or weight
  const std::vector<float> before = second.weights();
  CHECK_THROWS_AS(second.trainer.restore(checkpoint), Error);
  CHECK((second.weights() == before));
  Training third;
  CHECK((second.run(3).weights() == third.run(3).weights()));
}

TEST_CASE("trainer: the graph of a loss outside of a step needs nothing of the trainer's") {
  const Batch batch = small_task().evaluation(Split::test, 4);
  const auto gradient = [&](bool is_gone) {
    engine::Rng rng(3);
    const models::Transformer model(small_model(), rng);
    auto trainer = std::make_unique<Trainer>(model, small_task(), small_settings(), rng);
    trainer->step();
    const Var loss = trainer->loss(batch);  // with dropout
    if (is_gone) trainer.reset();
    const Tensor reused = Tensor::full({sizeof(engine::StepState)}, 255, engine::DType::u8);  // the freed state's block
    model.parameters()[0].var.zero_grad();
    loss.backward();
    return model.parameters()[0].var.grad().to_vector<float>();
  };
  CHECK((gradient(true) == gradient(false)));
}

TEST_CASE("trainer: a step that is not finite changes neither weights nor moments, and the next one goes on") {
  const Bursting bursting;
  Training training(small_settings(), bursting);
  training.run(3);
  const std::vector<float> before = training.weights();
  const auto moments = training.trainer.checkpoint().tensors;
  const engine::StepState& burst = training.trainer.step();
  REQUIRE(problem_of(burst));
  CHECK(std::string(problem_of(burst)) == "loss is not finite");
  CHECK(burst.updates == 3);
  CHECK(burst.step == 4);
  CHECK((training.weights() == before));
  const auto after = training.trainer.checkpoint().tensors;
  REQUIRE(after.size() == moments.size());
  for (size_t i = 0; i < after.size(); ++i)
    CHECK((after[i].second.to_vector<double>() == moments[i].second.to_vector<double>()));
  CHECK_FALSE(problem_of(training.trainer.step()));
  CHECK_FALSE((training.weights() == before));
}

TEST_CASE("trainer: phases come in order, forward and backward once for each part of a batch") {
  TrainerConfig config = small_settings();
  config.accumulate = 2;
  Training training(config);
  std::vector<Phase> phases;
  training.trainer.step([&](Phase phase) { phases.push_back(phase); });
  CHECK((phases == std::vector<Phase>{Phase::batch, Phase::forward, Phase::backward, Phase::forward, Phase::backward,
                                      Phase::update}));
}

TEST_CASE("trainer: what it refuses") {
  const auto refused = [](auto change) {
    TrainerConfig config = small_settings();
    change(config);
    try {
      Training training(config);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(refused([](auto& c) { c.batch = 0; }), contains("trainer: a batch of 0 sequences"));
  CHECK_THAT(refused([](auto& c) { c.accumulate = 0; }), contains("trainer: a batch in 0 parts"));
  CHECK_THAT(refused([](auto& c) { c.read_every = 0; }), contains("trainer: state read every 0 steps"));
  CHECK_THAT(refused([](auto& c) { c.clip = -1; }), contains("trainer: gradients clipped"));
  CHECK_THAT(refused([](auto& c) { c.decay = {"wieght"}; }), contains("optimizer.decay: 'wieght' matches no"));
  CHECK_THAT(refused([](auto& c) { c.optimizer.lr = 0; }), contains("optimizer.lr"));
  Training training;
  CHECK_THROWS_WITH(Trainer(training.model, small_task(), small_settings(), engine::Rng(0)),
                    contains("is in another arena already"));
}

TEST_CASE("a metric's pseudo-values are those of leaving each sixteenth of the set out, and change no metric") {
  engine::Rng rng(3);
  const models::Transformer model(small_model(0), rng);
  const Batch set = small_task().evaluation(Split::test, 50);
  const Evaluation whole = evaluate(model, small_task(), set, 7);
  REQUIRE(whole.parts.size() == whole.metrics.size());
  for (const auto& [metric, value] : whole.metrics) {
    CAPTURE(metric);
    const std::vector<double>& parts = whole.parts.at(metric);
    REQUIRE(parts.size() == 16);
    for (const int64_t part : {0, 7, 15}) {
      const int64_t begin = part * 50 / 16, end = (part + 1) * 50 / 16;
      const std::unique_ptr<Meter> others = small_task().meter();
      for (const auto& [from, to] : {std::pair<int64_t, int64_t>{0, begin}, {end, 50}}) {
        if (from == to) continue;
        const Batch some = set.slice(from, to);
        others->add(model.forward(some.input).value(), some);
      }
      const double expected = 16 * value - 15 * others->result().at(metric);
      CHECK(std::abs(parts[static_cast<size_t>(part)] - expected) <= 1e-5 * std::abs(value));  // f32 outputs
    }
  }
  const std::unique_ptr<Meter> uncut = small_task().meter();
  for (int64_t begin = 0; begin < 50; begin += 7) {
    const Batch some = set.slice(begin, std::min<int64_t>(50, begin + 7));
    uncut->add(model.forward(some.input).value(), some);
  }
  CHECK(uncut->result() == whole.metrics);
  CHECK(evaluate(model, small_task(), set.slice(0, 15), 7).parts.empty());
  CHECK(evaluate(model, small_task(), set.slice(0, 16), 7).parts.size() == whole.metrics.size());
}

TEST_CASE("the spread of the pseudo-values is the standard error of the metric over test sets") {
  engine::Rng rng(3);
  const models::Transformer model(small_model(0), rng);
  std::vector<double> values;
  double predicted = 0;
  constexpr int sets = 200;
  for (int i = 0; i < sets; ++i) {
    engine::Rng data(static_cast<uint64_t>(i));
    const Evaluation found = evaluate(model, small_task(), small_task().sample(64, data, "test"), 64);
    values.push_back(found.metrics.at("relative_mse"));
    double mean = 0, squares = 0;
    for (const double part : found.parts.at("relative_mse")) mean += part / 16;
    for (const double part : found.parts.at("relative_mse")) squares += (part - mean) * (part - mean);
    predicted += squares / 15 / 16 / sets;
    CHECK(std::abs(mean / values.back() - 1) < 0.02);
  }
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / sets;
  for (const double value : values) squares += (value - mean) * (value - mean) / (sets - 1);
  CHECK(std::abs(std::sqrt(predicted / squares) - 1) < 0.15);
}
