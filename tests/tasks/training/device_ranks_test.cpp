// Trainings that several ranks share on a GPU, or on the emulator: the bits of one process. Both replay their passes.
// All ranks are threads that have the one card, and what they send each other goes through host memory.
#include <mutex>

#include "autograd/ops.h"
#include "engine/error.h"
#include "tests/support/thread_ranks.h"
#include "tests/tasks/training/fixture.h"

using namespace headroom;
using namespace headroom::tasks;
using namespace testing;

namespace {

/// Next tokens. At the fourth step the first half of the parts has nothing that is scored.
class Tokens final : public Objective {
 public:
  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override {
    const Tensor input = engine::random_integers({sequences, 8}, 0, 11, rng.take("data", sequences * 8));
    const Tensor target = input.clone();
    auto* classes = target.mutable_data<int64_t>();
    for (int64_t i = 0; i < target.numel(); ++i)
      if (i % 7 == 0 || (step == 3 && i < target.numel() / 2)) classes[i] = ignore_index;
    return {input, target};
  }
  Var loss(const Var& output, const Batch& batch) const override {
    return autograd::cross_entropy(output, batch.target);
  }
};

models::TransformerConfig token_model() {
  models::TransformerConfig config = small_model(0.2);
  config.input_dim = 0;
  config.vocab = config.output_dim = 11;
  config.tied = true;
  return config;
}

struct Case {
  const char* label;
  const Objective* objective;
  models::TransformerConfig model;
  bool is_bf16;
};

struct End {
  std::vector<float> weights;
  std::vector<double> losses;
  bool operator==(const End&) const = default;
};

constexpr int64_t steps = 6;

/// What a training ends with; it must have been replayed.
End end_of(const Case& c, Ranks* ranks) {
  TrainerConfig config = small_settings(cuda);
  config.batch = 8;
  config.parts = 4;
  config.bf16_weights = c.is_bf16;
  config.ranks = ranks;
  Training training(config, *c.objective, c.model);
  const std::vector<double> losses = training.losses(steps);
  require(training.trainer.is_recorded(), "a training is not replayed");
  return {training.weights(), losses};
}

}  // namespace

TEST_CASE("ranks on a GPU: the weights and losses are those of one process, to the bit") {
  if (lacks_cuda()) return;
  const Tokens tokens;
  for (const bool is_bf16 : {false, true})
    for (const Case& c : {Case{"dropout", &small_task(), small_model(0.2), is_bf16},
                          Case{"tied, parts without targets", &tokens, token_model(), is_bf16}}) {
      INFO(c.label << (is_bf16 ? ", bf16" : ", f32"));
      const End one = end_of(c, nullptr);
      for (const int size : {1, 2, 4}) {
        std::mutex mutex;
        std::vector<End> all;
        ThreadRanks::run(size, [&](Ranks& self) {
          const End end = end_of(c, &self);
          const std::lock_guard lock(mutex);
          all.push_back(end);
        });
        INFO(size << " ranks");
        REQUIRE(std::ssize(all) == size);
        for (const End& end : all) CHECK((end == one));
      }
    }
}
