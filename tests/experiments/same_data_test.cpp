// Text that changes under a study: neither results nor a checkpoint of other bytes are taken for those of the present.
#include <atomic>

#include "experiments/studies/run/runner.h"
#include "experiments/studies/run/trial.h"
#include "experiments/studies/run/work_pool.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

/// A study of the text.txt next to it.
class TextStudy {
 public:
  TextStudy() : file_(study(folder_.path() / "text.txt")) { write("abcdefghij"); }

  void write(const std::string& unit) const {
    std::ofstream text(path());
    for (int i = 0; i < 50; ++i) text << unit;
  }
  std::filesystem::path path() const { return folder_.path() / "text.txt"; }
  Study load(const std::vector<std::string>& settings = {}) const {
    return load_study(file_.path(), base_profile, settings);
  }
  RunOptions options() const { return {.out = folder_.path() / "runs", .output = ProgressOutput::none}; }

 private:
  static std::string study(const std::filesystem::path& text) {
    const std::string task =
        "kind      = \"linear-functional\"\nkernel    = { kind = \"n-gram\", n = 2 }\n"
        "token_dim = 2\nlength    = 6\nfirst_position = 1";
    const std::string y = "\"relative_mse\", scale = \"log10\"";
    const std::string from_text =
        "kind = \"next-token\"\ntokenizer = \"byte\"\nlength = 6\nsource = \"" + text.string() + "\"";
    return replaced(replaced(small_study(), task, from_text), y, "\"cross_entropy\"");
  }

  TemporaryFolder folder_;
  StudyFile file_;
};

}  // namespace

TEST_CASE("a text that changed since trials finished on it is refused with both hashes; a lost or moved one is not") {
  const TextStudy text;
  REQUIRE(run_trials(text.load(), text.options()));
  const auto kept = collect_results(text.load(), text.options().out).trials;
  text.write("jihgfedcba");
  const std::string error = error_of([&] { run_trials(text.load(), text.options()); });
  CHECK(contains(error, "text.txt: has SHA-256 "));
  CHECK(contains(error, "were trained on " + kept.at(0).data.at(text.path().string())));
  std::filesystem::remove(text.path());
  CHECK(run_trials(text.load(), text.options()));  // all are finished
  CHECK(collect_results(text.load(), text.options().out).trials.size() == kept.size());
  text.write("abcdefghij");
  CHECK(run_trials(text.load(), text.options()));
}

TEST_CASE("a checkpoint of another text is not gone on from") {
  const TextStudy text;
  const Study study = text.load({"train.steps=20", "train.save_every=0"});
  const TrialConfig& config = study.trials.at(0).config;
  std::string warning;
  const TrialFiles files{text.path().parent_path() / "checkpoint.safetensors",
                         [&](const std::string& line) { warning = line; }};
  const auto first_step = [&](int64_t stop_at) {
    int64_t first = -1;
    WorkPool pool({});
    run_trial(
        config, pool.get(config),
        [&](int64_t step, double) {
          if (first < 0) first = step;
          return step < stop_at;
        },
        files);
    return first;
  };
  CHECK(first_step(7) == 0);
  CHECK(first_step(9) == 7);
  CHECK(warning.empty());
  text.write("jihgfedcba");
  CHECK(first_step(5) == 0);
  CHECK(contains(warning, "the trial starts over"));
}
