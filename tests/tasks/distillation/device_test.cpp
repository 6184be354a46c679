// Studies that train or measure trained models, on a GPU or the emulator: what they find on the CPU, to rounding.
#include "tasks/compression/lowrank_measurement.h"
#include "tasks/distillation/two_stage.h"
#include "tasks/make_task.h"
#include "tests/models/pretrained/checkpoints.h"
#include "tests/tasks/training/fixture.h"

namespace headroom::tasks {
namespace {

using testing::cuda;
using testing::lacks_cuda;

/// On both devices; what cannot be recorded is no error, but said.
void check_same(const Measurement& formula, const std::vector<std::string>& metrics) {
  const Metrics want = formula.compute(1);
  const engine::DeviceStream stream(cuda);
  const engine::StreamScope on_stream(stream.handle());
  std::vector<std::string> notes;
  const auto got = formula.run(1, {.device = cuda, .note = [&](const std::string& line) { notes.push_back(line); }});
  REQUIRE(got);
  CHECK(notes.empty());
  REQUIRE(got->size() == want.size());
  for (const std::string& metric : metrics) {
    INFO(metric);
    CHECK(got->at(metric) == Approx(want.at(metric)).epsilon(2e-3));
  }
}

std::string text_file() { return testing::source_root() + "/tests/models/pretrained/text.txt"; }

}  // namespace

TEST_CASE("two stages on the device come to the losses and accuracies of the CPU", "[distillation]") {
  if (lacks_cuda()) return;
  const std::string tests = testing::source_root() + "/tests/";
  TwoStageConfig config;
  config.source.model = (testing::checkpoints() / "smollm2").string();
  config.source.text = config.source.validation = text_file();
  config.source.sentences = tests + "tasks/distillation/train.tsv";
  config.source.dev = tests + "tasks/distillation/dev.tsv";
  config.source.window = config.source.validation_window = 16;
  config.source.validation_tokens = 64;
  config.layers = "1";
  config.rank = 2;
  config.teacher = {.epochs = 1, .batch = 8, .rate = 3e-3};
  config.one = {.steps = 5, .batch = 2, .rate = 3e-3};
  config.two = {.epochs = 1, .batch = 8, .rate = 3e-3};
  CHECK(takes_device(config));
  check_same(TwoStage(config, {}),
             {"dev_cross_entropy", "init_loss", "stage1_loss", "base_loss", "stage1_distillation"});
}

TEST_CASE("low-rank heads measured and refined on the device have the CPU's perplexities", "[compression]") {
  if (lacks_cuda()) return;
  LowRankConfig config;
  config.model.model = (testing::checkpoints() / "smollm2").string();
  config.text.text = config.calibration_text.text = config.refinement_text.text = text_file();
  config.tokens = 80;
  config.context = 20;
  config.calibration = {100, 180};
  config.rank = 3;
  config.qk = QkMethod::whitened;
  CHECK(takes_device(config));
  check_same(LowRankMeasurement(config, {}), {"perplexity", "base_perplexity", "ratio", "kl"});
  config.qk = QkMethod::plain;
  config.refinement = Refinement::weights;
  check_same(LowRankMeasurement(config, {}), {"perplexity", "base_perplexity", "error_ratio"});
  config.refinement = Refinement::attention;
  config.refinement_tokens = {200, 400};
  config.training.steps = 6;
  config.training.context = 16;
  config.spread = RankSpread::measured;
  check_same(LowRankMeasurement(config, {}), {"perplexity", "base_perplexity", "first_loss", "last_loss"});
}

TEST_CASE("formulas stay on the CPU unless they say otherwise") {
  CHECK_FALSE(takes_device(AttentionHeadsConfig{}));
  CHECK_FALSE(takes_device(SvdBoundConfig{}));
  CHECK(takes_device(LinearFunctionalConfig{}));
}

}  // namespace headroom::tasks
