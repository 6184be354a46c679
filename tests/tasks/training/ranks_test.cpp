// Trainings that several ranks share, which are threads here: the bits of one process, whatever their number.
#include <algorithm>
#include <cmath>
#include <mutex>

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/isa.h"
#include "engine/parallel.h"
#include "tasks/classification.h"
#include "tests/support/folder.h"
#include "tests/support/thread_ranks.h"
#include "tests/tasks/training/fixture.h"

using namespace headroom;
using namespace headroom::tasks;
using namespace testing;

namespace {

TrainerConfig in_parts(int64_t parts) {
  TrainerConfig config = small_settings();
  config.parts = parts;
  return config;
}

/// Next tokens of a sequence that repeats itself. Some of its eighths have nothing that is scored, others less.
class Sparse final : public Objective {
 public:
  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override {
    const int64_t count = sequences * length;
    const Tensor input = engine::random_integers({sequences, length}, 0, 11, rng.take("data", count));
    const Tensor target = input.clone();
    auto* classes = target.mutable_data<int64_t>();
    for (int64_t i = 0; i < count; ++i)
      if (const int64_t part = i * 8 / count; part == step % 8 || part % 2 == 1 || i % 7 == 0)
        classes[i] = ignore_index;
    return {input, target};
  }
  Var loss(const Var& output, const Batch& batch) const override {
    return autograd::cross_entropy(output, batch.target);
  }
  static constexpr int64_t length = 8;
};

models::TransformerConfig tied_model() {
  models::TransformerConfig config = small_model(0.2);
  config.input_dim = 0;
  config.vocab = config.output_dim = 11;
  config.tied = true;
  config.layers = 2;
  return config;
}

/// Of several buckets: one for two of the four layers, then one for all that does not decay.
models::TransformerConfig wide_model() {
  models::TransformerConfig config = tied_model();
  config.layers = 4;
  config.width = 256;
  config.ffn_width = 1024;
  return config;
}

struct Case {
  const char* label;
  const Objective* objective;
  models::TransformerConfig model;
  int64_t steps = 10;
  bool is_bf16 = false;
};

std::vector<Case> f32_cases() {
  static const Sparse sparse;
  return {{"f32", &small_task(), small_model()},
          {"f32, tied, parts without targets", &sparse, tied_model()},
          {"f32, tied, parts without targets, several buckets", &sparse, wide_model(), 2}};
}
std::vector<Case> bf16_cases() {
  std::vector<Case> all = f32_cases();
  for (Case& each : all) each.is_bf16 = true;
  return all;
}

/// The weights that rank 0 has after `steps`, and each loss. All ranks must have them.
struct End {
  std::vector<float> weights;
  std::vector<double> losses;
  bool operator==(const End&) const = default;
};

/// `file`: gone on from where there is one, saved by rank 0.
End end_of(const Case& c, int ranks, int64_t steps, const std::filesystem::path& file = {}) {
  End end;
  std::mutex mutex;
  ThreadRanks::run(ranks, [&](Ranks& self) {
    const engine::ThreadScope threads(1);
    TrainerConfig config = in_parts(8);
    config.batch = 16;
    config.bf16_weights = c.is_bf16;
    config.ranks = &self;
    Training training(config, *c.objective, c.model);
    if (!file.empty()) training.trainer.resume(file);
    const std::vector<double> losses = training.losses(steps);
    const std::vector<float> weights = training.weights();
    if (self.is_first() && !file.empty()) training.trainer.save(file);
    const std::lock_guard lock(mutex);
    if (end.weights.empty()) end = {weights, losses};
    else if (end != End{weights, losses}) fail("rank {} has other weights", self.rank());
  });
  return end;
}

void check_any_number(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    INFO(c.label);
    const End one = end_of(c, 1, c.steps);
    CHECK(std::all_of(one.losses.begin(), one.losses.end(), [](double loss) { return std::isfinite(loss); }));
    for (const int ranks : {2, 4, 8}) {
      INFO(ranks << " ranks");
      CHECK((end_of(c, ranks, c.steps) == one));
    }
  }
}

void check_resumed(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    if (c.steps < 10) continue;
    INFO(c.label);
    const testing::TemporaryFolder folder;
    const End whole = end_of(c, 1, 9);
    const std::filesystem::path file = folder.path() / "training.safetensors";
    end_of(c, 4, 3, file);
    end_of(c, 1, 2, file);
    end_of(c, 2, 1, file);
    CHECK((end_of(c, 8, 3, file).weights == whole.weights));
  }
}

}  // namespace

TEST_CASE("ranks: the weights and losses after ten steps are those of one process, to the bit") {
  check_any_number(f32_cases());
}

TEST_CASE("ranks: a training goes on with another number of them, to the same bits") { check_resumed(f32_cases()); }

TEST_CASE("ranks: both with bf16 weights") {
  if (!engine::has_bf16_pairs()) return testing::skip("no CPU with AVX512-BF16");
  check_any_number(bf16_cases());
  check_resumed(bf16_cases());
}

TEST_CASE("parts: their gradients are the batch's, and no bit depends on threads") {
  Training one(in_parts(8)), more(in_parts(8));
  one.run(10);
  {
    const engine::ThreadScope threads(3);
    more.run(10);
  }
  CHECK((one.weights() == more.weights()));
  // Without dropout parts are the whole batch, up to rounding; the gradients of two steps show it.
  const models::TransformerConfig plain = small_model(0);
  Training whole(small_settings(), small_task(), plain), parts(in_parts(4), small_task(), plain);
  for (int i = 0; i < 2; ++i) {
    const engine::StepState a = whole.trainer.step(), b = parts.trainer.step();
    CHECK(b.loss == Approx(a.loss).epsilon(1e-5));
    CHECK(b.gradient_norm == Approx(a.gradient_norm).epsilon(1e-4));
  }
}

TEST_CASE("parts: each has a dropout of its own") {
  // One sequence, eight times: without dropout of their own, all parts would have the gradient of one.
  class Same final : public Objective {
   public:
    Batch train_batch(int64_t, int64_t sequences, engine::Rng&) const override {
      const Batch one = small_task().evaluation(Split::test, 1);
      const auto repeated = [&](const Tensor& x) {
        const Tensor all = Tensor::empty({sequences, x.dim(1), x.dim(2)});
        for (int64_t i = 0; i < sequences; ++i) engine::copy_inplace(all.slice(0, i, i + 1), x);
        return all;
      };
      return {repeated(one.input), repeated(one.target)};
    }
    Var loss(const Var& output, const Batch& batch) const override { return small_task().loss(output, batch); }
  };
  const Same same;
  const auto first_norm = [&](double dropout, int64_t parts) {
    Training training(in_parts(parts), same, small_model(dropout));
    return training.trainer.step().gradient_norm;
  };
  CHECK(first_norm(0, 8) == Approx(first_norm(0, 1)).epsilon(1e-5));
  TrainerConfig single = small_settings();
  single.batch = 1;
  Training alone(single, same, small_model(0.1));  // draws what part 0 draws
  CHECK(first_norm(0.1, 8) != Approx(alone.trainer.step().gradient_norm).epsilon(1e-3));
}

TEST_CASE("ranks: who is gone is named") {
  const auto lost = [&] {
    ThreadRanks::run(4, [&](Ranks& self) {
      TrainerConfig config = in_parts(8);
      config.ranks = &self;
      Training training(config);
      training.run(2);
      if (self.rank() == 3) return;
      training.run(1);
    });
  };
  CHECK_THROWS_WITH(lost(), contains("rank 3 is gone"));
}

TEST_CASE("ranks: what cannot be shared is refused with what could") {
  const auto refused = [](int ranks, const TrainerConfig& config) {
    try {
      ThreadRanks::run(ranks, [&](Ranks& self) {
        TrainerConfig own = config;
        own.ranks = &self;
        const Training training(own);
      });
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused(3, in_parts(8)) == "3 ranks cannot share train.parts = 8 evenly: expected 1, 2, 4 or 8");
  CHECK(refused(2, in_parts(1)) == "2 ranks cannot share train.parts = 1 evenly: expected 1");
  CHECK(refused(2, in_parts(6)) == "train.parts: 6 is not a power of two");
  CHECK(refused(1, in_parts(16)) == "trainer: 16 parts do not divide a batch of 8");
  TrainerConfig cut = in_parts(2);
  cut.accumulate = 2;
  CHECK(refused(1, cut) == "trainer: a batch in 2 parts is not cut into 2 more");
}

TEST_CASE("ranks: a text of any length reaches all, and sums have the tree's order") {
  for (const int size : {1, 2, 4, 8})
    ThreadRanks::run(size, [&](Ranks& self) {
      for (const size_t length : {0, 1, 1000}) {
        const std::string text(length, 'x');
        require(told_by_first(self, self.is_first() ? text : "", 1) == text, "rank {} was told another", self.rank());
      }
      for (const bool value : {false, true})
        require(decided_by_first(self, self.is_first() && value, 1) == value, "rank {} decides itself", self.rank());
      for (const int64_t n : {1, 5, 64}) {
        // Numbers of all sizes, so that the order of a sum shows.
        const auto number = [](int rank, int64_t i) {
          return static_cast<float>(std::ldexp(1.0 + static_cast<double>(i % 7) / 8, 5 * ((rank * 5) % 8)));
        };
        std::vector<float> own, expected;
        for (int64_t i = 0; i < n; ++i) {
          std::vector<float> level;
          for (int rank = 0; rank < size; ++rank) level.push_back(number(rank, i));
          own.push_back(level[static_cast<size_t>(self.rank())]);
          for (; level.size() > 1; level.resize(level.size() / 2))
            for (size_t j = 0; j < level.size() / 2; ++j) level[j] = level[2 * j] + level[2 * j + 1];
          expected.push_back(level[0]);
        }
        const Tensor flat = Tensor::from<float>({n}, own);
        sum_over(self, flat);
        require(flat.to_vector<float>() == expected, "rank {} of {} has another sum", self.rank(), size);
      }
    });
}
