// Training on a GPU, or on the emulator: op by op, recorded and replayed, against the CPU, and through a checkpoint.
#include <cmath>

#include "autograd/ops.h"
#include "tasks/language/corpus_tasks.h"
#include "tasks/language/token_meter.h"
#include "tasks/training/evaluation.h"
#include "tests/tasks/training/fixture.h"

using namespace headroom;
using namespace headroom::tasks;
using namespace testing;

namespace {

TrainerConfig settings(bool records = true, int64_t accumulate = 1, engine::Device device = cuda) {
  TrainerConfig config = small_settings(device);
  config.batch = 4;
  config.records = records;
  config.accumulate = accumulate;
  return config;
}

/// The task, but its loss reads a number of the device.
class Reading : public Objective {
 public:
  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override {
    return small_task().train_batch(step, sequences, rng);
  }
  Var loss(const Var& output, const Batch& batch) const override {
    const Var loss = small_task().loss(output, batch);
    return loss * (loss.value().item() > 0 ? 1.0 : -1.0);
  }
};

/// Classes in place of the task's targets, of which fewer are scored from step to step, and of some sequences none.
class Classes : public Objective {
 public:
  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override {
    Batch batch = small_task().train_batch(step, sequences, rng);
    std::vector<int64_t> classes(static_cast<size_t>(sequences * 8));
    for (size_t i = 0; i < classes.size(); ++i) {
      const auto sequence = static_cast<int64_t>(i) / 8, place = static_cast<int64_t>(i) % 8;
      const bool is_scored = place < 8 - (step + sequence) % 5 && !(step == 5 && sequence < 3);
      classes[i] = is_scored ? (static_cast<int64_t>(i) + step) % 4 : ignore_index;
    }
    batch.target = Tensor::from({sequences, 8}, classes);
    return batch;
  }
  Var loss(const Var& output, const Batch& batch) const override {
    return autograd::cross_entropy(output, batch.target);
  }
};

/// Sequences that end early, each with a class; at step 4 only half as many.
class Sentences : public Objective {
 public:
  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override {
    Batch batch = small_task().train_batch(step, sequences, rng);
    std::vector<float> kept(static_cast<size_t>(sequences * 8));
    std::vector<int64_t> classes(static_cast<size_t>(sequences));
    for (int64_t b = 0; b < sequences; ++b) {
      const int64_t length = 1 + (3 * b + step) % 8;
      for (int64_t t = 0; t < length; ++t) kept[static_cast<size_t>(b * 8 + t)] = 1;
      classes[static_cast<size_t>(b)] = (b + step) % 4;
    }
    batch.key_mask = Tensor::from({sequences, 8}, kept).to(engine::DType::boolean);
    batch.target = Tensor::from({sequences}, classes);
    return step == 4 ? batch.slice(0, sequences / 2) : batch;
  }
  Var loss(const Var& output, const Batch& batch) const override {
    return autograd::cross_entropy(output, batch.target);
  }
};

/// Weights and the last loss of eight steps, which are recorded or not.
struct End {
  std::vector<float> weights;
  double loss;
};
End end_of(engine::Device device, bool records, const Objective& objective, int64_t accumulate,
           models::Pooling pooling) {
  models::TransformerConfig model = small_model();
  model.pooling = pooling;
  Training training(settings(records, accumulate, device), objective, model);
  training.run(8);
  CHECK(training.trainer.is_recorded() == (records && !device.is_cpu()));
  CHECK(training.notes.empty());
  return {training.weights(), training.trainer.read_state().loss};
}
void check_replayed(const Objective& objective, int64_t accumulate, models::Pooling pooling = models::Pooling::none) {
  const End queued = end_of(cuda, false, objective, accumulate, pooling);
  const End replayed = end_of(cuda, true, objective, accumulate, pooling);
  CHECK((queued.weights == replayed.weights));
  CHECK(queued.loss == replayed.loss);
  CHECK(replayed.loss == Approx(end_of(engine::cpu, true, objective, accumulate, pooling).loss).epsilon(1e-5));
}

}  // namespace

TEST_CASE("a model is drawn with the same bits on a device") {
  if (lacks_cuda()) return;
  Training here, there(small_settings(cuda));
  CHECK(there.model.device() == cuda);
  CHECK((here.weights() == there.weights()));
}

TEST_CASE("a step that is replayed gives the bits of one that is queued op by op") {
  if (lacks_cuda()) return;
  std::vector<float> queued, replayed;
  double queued_loss = 0, replayed_loss = 0;
  {
    Training training(settings(false));
    queued = training.run(8).weights();
    queued_loss = training.trainer.state().loss;
    CHECK_FALSE(training.trainer.is_recorded());
  }
  {
    Training training(settings());
    replayed = training.run(8).weights();
    replayed_loss = training.trainer.state().loss;
    CHECK(training.trainer.is_recorded());
    CHECK(training.notes.empty());
  }
  CHECK((queued == replayed));
  CHECK(queued_loss == replayed_loss);
}

TEST_CASE("training on a device goes as it does on the CPU, to rounding") {
  if (lacks_cuda()) return;
  // Losses, not weights: where a gradient is 0 up to rounding, as those of the keys' biases are, AdamW's step is not.
  struct Course {
    std::vector<double> losses;
    double error;
  };
  const auto course = [](engine::Device device) {
    TrainerConfig config = small_settings(device);
    config.batch = 4;
    Training training(config);
    const std::vector<double> losses = training.losses(8);
    const Batch test = small_task().evaluation(Split::test, 8);
    return Course{losses, evaluate(training.model, small_task(), test, 4).metrics.at("relative_mse")};
  };
  const Course here = course(engine::cpu), there = course(cuda);
  for (size_t step = 0; step < here.losses.size(); ++step)
    CHECK(there.losses[step] == Approx(here.losses[step]).epsilon(1e-5));
  CHECK(there.error == Approx(here.error).epsilon(1e-4));
}

TEST_CASE("tokens are scored where the logits are, to f64 rounding of the CPU's scores") {
  if (lacks_cuda()) return;
  const Batch batch{{},
                    Tensor::from<int64_t>({2, 3}, {0, ignore_index, 66, 1, 2, ignore_index}),
                    {},
                    Tensor::from<float>({2, 3}, {1, 1, 0, 0, 1, 1}).to(engine::DType::boolean)};
  const TokenMeterConfig config{.characters = std::vector<int32_t>(67, 3), .by_response = true};
  for (const engine::DType dtype : {engine::DType::f32, engine::DType::bf16}) {
    const Tensor wide = engine::random_normal({2, 3, 68}, 0, 2, {1, 0, 0}, engine::DType::f32).to(dtype);
    const Tensor logits = wide.slice(2, 0, 67), there = wide.to(cuda).slice(2, 0, 67);  // rows with gaps
    TokenMeter on_cpu(config), on_device(config);
    on_cpu.add(logits, batch);
    on_device.add(there, batch);
    const std::vector<double> want = on_cpu.sums(), got = on_device.sums();
    for (size_t i = 0; i < want.size(); ++i) CHECK(got[i] == Approx(want[i]).epsilon(1e-13));
    Batch wrong = batch;
    wrong.target = Tensor::from<int64_t>({2, 3}, {0, 0, 67, 0, 0, 0});
    CHECK_THROWS_WITH(on_device.add(there, wrong), "class meter: target 67 is outside the 67 classes");
  }
}

TEST_CASE("an evaluation gives a meter of classes the logits of the device, another one f32 on the CPU") {
  if (lacks_cuda()) return;
  CorpusConfig corpus;
  corpus.markov = {.symbols = 67, .order = 1, .tokens = 4000};
  const NextToken task({corpus, 8}, {});
  models::TransformerConfig shape = small_model(0);
  shape.input_dim = 0, shape.vocab = shape.output_dim = 67;
  shape.causal = true;
  const Batch set = task.evaluation(Split::test, 40);
  const auto found = [&](engine::Device device) {
    return evaluate(Training(small_settings(device), task, shape).model, task, set, 7);
  };
  const Evaluation here = found(engine::cpu), there = found(cuda);
  for (const auto& [metric, value] : here.metrics) CHECK(there.metrics.at(metric) == Approx(value).epsilon(1e-5));
  CHECK(there.parts.size() == here.parts.size());

  /// Notes where its outputs are.
  struct Place : Meter {
    explicit Place(bool takes_any) : takes_any(takes_any) {}
    void add(const Tensor& output, const Batch& batch) override {
      CHECK(output.device() == (takes_any ? cuda : engine::cpu));
      CHECK(output.dtype() == (takes_any ? engine::DType::bf16 : engine::DType::f32));
      count += static_cast<double>(batch.target.dim(0));
    }
    bool adds_on_device() const override { return takes_any; }
    std::vector<double> sums() const override { return {count}; }
    Metrics metrics(const std::vector<double>& sums) const override { return {{"count", sums[0]}}; }
    bool takes_any;
    double count = 0;
  };
  struct Placed : NextToken {
    Placed(const NextTokenConfig& config, bool takes_any) : NextToken(config, {}), takes_any(takes_any) {}
    std::unique_ptr<Meter> meter() const override { return std::make_unique<Place>(takes_any); }
    bool takes_any;
  };
  const engine::PrecisionScope scope(engine::Precision::bf16);
  TrainerConfig settings = small_settings(cuda);
  settings.bf16_weights = true;
  const Training training(settings, task, shape);
  for (const bool takes_any : {false, true})
    CHECK(evaluate(training.model, Placed({corpus, 8}, takes_any), set, 7).metrics.at("count") == 40);
}

TEST_CASE("a training goes on from its checkpoint to the same bits, recorded or not") {
  if (lacks_cuda()) return;
  std::vector<float> whole, resumed;
  Checkpoint checkpoint;
  {
    Training training(settings());
    training.run(4);
    checkpoint = training.trainer.checkpoint();
    for (auto& [name, tensor] : checkpoint.tensors) tensor = tensor.to(engine::cpu).clone();
    whole = training.run(4).weights();
  }
  Training training(settings());
  training.trainer.restore(checkpoint);
  resumed = training.run(4).weights();
  CHECK((whole == resumed));
}

TEST_CASE("a batch in parts is replayed as one step, to the bits of parts that are queued") {
  if (lacks_cuda()) return;
  check_replayed(small_task(), 2);
  check_replayed(small_task(), 4);
  check_replayed(Classes(), 2);  // shares that change, and once a part without a target
  const Classes classes;
  const auto loss_in = [&](int64_t parts) {
    return Training(settings(true, parts), classes, small_model(0)).run(8).trainer.read_state().loss;
  };
  CHECK(loss_in(2) == Approx(loss_in(1)).epsilon(1e-5));
}

TEST_CASE("a model that reads its last position under a key mask is replayed, beside batches of another size") {
  if (lacks_cuda()) return;
  check_replayed(Sentences(), 1, models::Pooling::last);
  check_replayed(Sentences(), 2, models::Pooling::last);
}

TEST_CASE("a loss that reads numbers of the device runs op by op, and one line says so") {
  if (lacks_cuda()) return;
  const Reading reading;
  Training training(settings(), reading, small_model(0));
  training.run(6);
  CHECK_FALSE(training.trainer.is_recorded());
  CHECK(training.notes.size() == 1);
  CHECK(training.notes.at(0).find("a copy between host and device") != std::string::npos);
}
