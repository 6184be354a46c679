#include "experiments/studies/analysis/curve.h"

#include "experiments/studies/config/trial_facts.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "tasks/data/locate.h"
#include "tasks/language/corpus_tasks.h"
#include "tasks/language/instructions.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

/// The test cross-entropy of a table of (token seen, target), counted over training batches; each count starts from
/// what the target's own frequency says, as one observation.
double table_of_pairs(const tasks::Task& task) {
  const auto in = static_cast<size_t>(task.model_interface().vocab);
  const auto out = static_cast<size_t>(task.model_interface().output_dim);
  std::vector<double> pairs(in * out), seen(in), targets(out, 1);
  const auto each = [](const tasks::Batch& batch, const auto& use) {
    const auto input = batch.input.to_vector<int64_t>(), target = batch.target.to_vector<int64_t>();
    for (size_t i = 0; i < target.size(); ++i)
      if (target[i] != tasks::ignore_index) use(static_cast<size_t>(input[i]), static_cast<size_t>(target[i]));
  };
  double all = static_cast<double>(out);
  engine::Rng rng(1);
  for (int64_t step = 0; step < 300; ++step)
    each(task.staged(task.train_batch(step, 64, rng)), [&](size_t a, size_t b) {
      ++pairs[a * out + b];
      ++seen[a];
      ++targets[b];
      ++all;
    });
  double nats = 0, count = 0;
  each(task.staged(task.evaluation(tasks::Split::test, 1024)), [&](size_t a, size_t b) {
    nats -= std::log((pairs[a * out + b] + targets[b] / all) / (seen[a] + 1));
    ++count;
  });
  return nats / count;
}

TrialFacts config(const std::string& kind, const std::string& source, const std::string& tokenizer,
                  const std::string& more = "") {
  return trial_facts(
      fmt::format(R"({{"task":{{"kind":"{}","source":"{}","tokenizer":"{}"{}}}}})", kind, source, tokenizer, more));
}

}  // namespace

TEST_CASE("only the texts of the studies have a floor that is known") {
  CHECK(text_floor(config("next-token", "tinyshakespeare", "char")) == 2.5);
  CHECK_FALSE(text_floor(config("next-token", "tinyshakespeare", "byte")));
  CHECK_FALSE(text_floor(config("next-token", "my.txt", "char")));
  CHECK_FALSE(text_floor(trial_facts(R"({"task":{"kind":"linear-functional"}})")));
  CHECK_FALSE(text_floor(trial_facts("{}")));
  CHECK_FALSE(text_floor(trial_facts("")));
}

TEST_CASE("the floors of the texts are what a table of pairs reaches", "[data]") {
  if (std::getenv("HEADROOM_DATA") == nullptr) return testing::skip("no HEADROOM_DATA");
  const testing::TemporaryFolder cache;
  const tasks::DataRoots roots{tasks::data_roots("").given, cache.path()};
  const auto holds = [](const tasks::Task& task, const TrialFacts& of) {
    const double counted = table_of_pairs(task);
    INFO(of.task << ": " << counted);
    const std::optional<double> stated = text_floor(of);
    REQUIRE(stated);
    CHECK(std::abs(counted - *stated) < 0.03);
  };
  const tasks::CorpusConfig shakespeare{.source = "tinyshakespeare", .validation = 0.05, .test = 0.05};
  holds(tasks::NextToken({shakespeare, 64}, roots), config("next-token", "tinyshakespeare", "char"));
  holds(tasks::Masked({shakespeare, 64}, roots), config("masked", "tinyshakespeare", "char"));
  holds(tasks::NextToken({{.source = "wikitext-2", .tokenizer = "byte", .tokens = 1'000'000}, 64}, roots),
        config("next-token", "wikitext-2", "byte"));
  for (const auto& [loss, name] :
       {std::pair{tasks::InstructionLoss::all, "all"}, {tasks::InstructionLoss::response, "response"}})
    holds(tasks::Instructions(
              {.source = "code-and-math", .prompt = tasks::PromptTemplate::brief, .loss = loss, .length = 128}, roots),
          config("instructions", "code-and-math", "byte", fmt::format(R"(,"loss":"{}")", name)));
}

}  // namespace headroom::experiments
