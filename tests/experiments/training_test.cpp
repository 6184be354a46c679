#include <cmath>
#include <fstream>
#include <iterator>

#include "autograd/ops.h"
#include "autograd/product_operand.h"
#include "engine/context.h"
#include "engine/cpu/kernel_level.h"
#include "engine/isa.h"
#include "engine/transfer.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/run/trial.h"
#include "tasks/training/checkpoint.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;
namespace tasks = headroom::tasks;
namespace autograd = headroom::autograd;

namespace {

TrialConfig trial_with(const std::vector<std::string>& settings = {}) {
  const StudyFile file(small_study());
  return load_study(file.path(), base_profile, settings).trials.at(0).config;
}

/// A trial's record and the weights that it kept.
struct Trained : TrialRecord {
  headroom::models::NamedTensors tensors;
};

Trained train(const TrialConfig& config, const StepHook& on_step = {}, TrialFiles files = {}) {
  Trained out;
  files.weights = &out.tensors;
  static_cast<TrialRecord&>(out) = run_trial(config, *tasks::make_task(config.task, {}), on_step, files);
  return out;
}

/// One that uses whatever has a state: dropout, moments, a plateau, best weights, parts of a batch.
TrialConfig stateful_trial(const std::vector<std::string>& more = {}) {
  std::vector<std::string> settings{"train.steps=40",
                                    "train.eval_every=4",
                                    "train.judged=\"best\"",
                                    "train.keep_weights=true",
                                    "train.accumulate=2",
                                    "train.clip=1.0",
                                    "model.dropout=0.2",
                                    "train.log_every=3",
                                    "train.schedule={kind=\"reduce_on_plateau\", patience=1, factor=0.5, warmup=5}",
                                    "sweep.\"train.optimizer.lr\"={best_of=[0.1]}"};
  settings.insert(settings.end(), more.begin(), more.end());
  return trial_with(settings);
}

void check_same(const Trained& a, const Trained& b) {
  CHECK(a.status == b.status);
  CHECK(a.steps == b.steps);
  CHECK(a.validation == b.validation);
  CHECK(a.test == b.test);
  CHECK(a.history == b.history);
  CHECK(a.predictions == b.predictions);
  REQUIRE(a.tensors.size() == b.tensors.size());
  for (size_t i = 0; i < a.tensors.size(); ++i) {
    CHECK(a.tensors[i].first == b.tensors[i].first);
    CHECK(a.tensors[i].second.to_vector<float>() == b.tensors[i].second.to_vector<float>());
  }
}

StepHook stop_at(int64_t last) {
  return [=](int64_t step, double) { return step < last; };
}

}  // namespace

TEST_CASE("a trial that is stopped and goes on from its checkpoint ends with the same bits") {
  const TrialConfig config = stateful_trial();
  const Trained whole = train(config);
  REQUIRE(whole.status == TrialStatus::finished);
  REQUIRE(whole.tensors.size() > 3);
  CHECK(whole.history.size() > 20);
  CHECK_FALSE(whole.predictions.empty());
  const TemporaryFolder folder;
  const TrialFiles files{folder.path() / "trial.safetensors", [](const std::string& line) { FAIL(line); }};
  for (const int64_t step : {0, 1, 4, 5, 19, 20, 39}) {
    const Trained part = train(config, stop_at(step), files);
    CHECK(part.status == TrialStatus::stopped);
    CHECK(part.steps == step);
  }
  check_same(train(config, {}, files), whole);
}

TEST_CASE("so is one under Muon, whose numbers are its own") {
  const TrialConfig config = stateful_trial({"train.optimizer={kind=\"muon\", lr=0.1}"});
  const Trained whole = train(config);
  REQUIRE(whole.status == TrialStatus::finished);
  CHECK(whole.test.at("mse") != train(stateful_trial()).test.at("mse"));
  const TemporaryFolder folder;
  const TrialFiles files{folder.path() / "trial.safetensors", [](const std::string& line) { FAIL(line); }};
  for (const int64_t step : {3, 22}) CHECK(train(config, stop_at(step), files).status == TrialStatus::stopped);
  check_same(train(config, {}, files), whole);
}

TEST_CASE("a trial that is stopped between the batches of an evaluation does it again, to the same bits") {
  const TemporaryFolder folder;
  for (const std::string judged : {"best", "last"}) {
    const TrialConfig config = stateful_trial({"train.eval_sequences=16", fmt::format("train.judged=\"{}\"", judged)});
    const Trained whole = train(config);
    REQUIRE(whole.status == TrialStatus::finished);
    TrialFiles files{folder.path() / judged, [](const std::string& line) { FAIL(line); }};
    int64_t step = 0;
    for (const int may : {0, 2, 5, 11, 17, 0, 7, 10}) {  // of 4 batches for each set
      CAPTURE(judged, may);
      int asked = 0;
      files.goes_on = [&] { return asked++ < may; };
      const Trained part = train(config, {}, files);
      CHECK(part.status == TrialStatus::stopped);
      CHECK(asked == may + 1);
      CHECK(part.steps % 4 == 0);
      CHECK(part.steps >= step);
      step = part.steps;
    }
    if (judged == "last") CHECK(step == 40);  // within the test set
    files.goes_on = {};
    check_same(train(config, {}, files), whole);
  }
}

TEST_CASE("a damaged checkpoint is reported, and the trial starts over") {
  const TrialConfig config = stateful_trial();
  const Trained whole = train(config);
  const TemporaryFolder folder;
  const auto path = folder.path() / "trial.safetensors";
  REQUIRE(train(config, stop_at(20), {path, {}}).status == TrialStatus::stopped);
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> damaged{"", bytes.substr(0, 4), bytes.substr(0, bytes.size() / 2),
                                   bytes.substr(0, bytes.size() - 1)};
  for (const size_t at : {size_t{3}, size_t{40}, bytes.size() / 2, bytes.size() - 2}) {
    damaged.push_back(bytes);
    damaged.back()[at] = static_cast<char>(damaged.back()[at] ^ 0x10);
  }
  for (const std::string& text : damaged) {
    std::ofstream(path, std::ios::binary) << text;
    std::string warnings;
    const Trained outcome = train(config, {}, {path, [&](const std::string& line) { warnings += line + "\n"; }});
    CAPTURE(warnings);
    CHECK(contains(warnings, path.string()));
    CHECK(contains(warnings, "; the trial starts over\n"));
    CHECK(std::count(warnings.begin(), warnings.end(), '\n') == 1);
    check_same(outcome, whole);
  }
  // Another trial's is not used.
  TrialConfig other = config;
  other.seed += 1;
  REQUIRE(train(other, stop_at(7), {path, {}}).status == TrialStatus::stopped);
  std::string warnings;
  check_same(train(config, {}, {path, [&](const std::string& line) { warnings = line; }}), whole);
  CHECK(contains(warnings, "is of trial "));
}

TEST_CASE("a checkpoint of other kernels, or of an older program's that are not known, is not gone on from") {
  const TrialConfig config = stateful_trial();
  const TemporaryFolder folder;
  const auto path = folder.path() / "trial.safetensors";
  REQUIRE(train(config, stop_at(20), {path, {}}).status == TrialStatus::stopped);
  const auto owner = headroom::models::SafetensorsFile(path).metadata().at("trial");
  const tasks::Checkpoint kept = tasks::load_checkpoint(path, owner);
  const std::string here = headroom::engine::kernel_level(), isa = here.substr(0, here.find(','));
  CHECK(kept.level == here);
  CHECK(isa == headroom::engine::name_of(headroom::engine::active_isa()));
  for (const std::string level : {"another", "", "another, own products, bits 01234567"}) {
    tasks::Checkpoint changed = kept;
    changed.level = level;
    tasks::save_checkpoint(path, owner, changed);
    std::string warning;
    check_same(train(config, {}, {path, [&](const std::string& line) { warning += line; }}), train(config));
    CHECK(warning == path.string() + ": was begun with kernels " + (level.empty() ? "unknown" : level) +
                         ", whose bits differ from those of " + here + "; the trial starts over");
  }
  tasks::Checkpoint old = kept;
  old.level = isa;  // all that programs noted once
  tasks::save_checkpoint(path, owner, old);
  std::string warning;
  check_same(train(config, {}, {path, [&](const std::string& line) { warning += line; }}), train(config));
  CHECK(warning.empty());
  // Steps that no training of this config has.
  for (const int64_t steps : {int64_t{1} << 62, int64_t{1} << 50, int64_t{-1}}) {
    tasks::Checkpoint forged = kept;
    forged.step = steps;
    tasks::save_checkpoint(path, owner, forged);
    std::string said;
    check_same(train(config, {}, {path, [&](const std::string& line) { said += line; }}), train(config));
    CHECK(contains(said, "; the trial starts over"));
    CHECK(contains(said, std::to_string(steps)));
  }
}

TEST_CASE("a trial whose checkpoint is no longer its own ends as stopped") {
  const TrialConfig config = trial_with({"train.save_every=0"});
  const TemporaryFolder folder;
  int asked = 0;
  TrialFiles files{folder.path() / "trial.safetensors", {}};
  files.keep = [&](const auto& write) {
    write(folder.path() / "staged");
    return ++asked < 3;
  };
  const Trained outcome = train(config, {}, files);
  CHECK(outcome.status == TrialStatus::stopped);
  CHECK(outcome.steps == 2);
  CHECK(std::filesystem::exists(folder.path() / "staged"));
  CHECK_FALSE(std::filesystem::exists(files.checkpoint));
}

TEST_CASE("a checkpoint that cannot be written is reported, and the training goes on") {
  const TrialConfig config = trial_with({"train.save_every=0"});
  const TemporaryFolder folder;
  int warnings = 0;
  const TrialFiles files{folder.path() / "missing" / "trial.safetensors", [&](const std::string&) { ++warnings; }};
  check_same(train(config, {}, files), train(config));
  CHECK(warnings == config.train.steps);
}

TEST_CASE("a batch in parts gives the update of the whole batch") {
  const std::vector<std::string> settings{"train.steps=5", "train.batch=7", "train.accumulate=1",
                                          "train.optimizer.kind=\"sgd\"",
                                          "sweep.\"train.optimizer.lr\"={best_of=[0.1]}"};
  std::vector<std::string> parts = settings;
  parts[2] = "train.accumulate=3";
  const Trained whole = train(trial_with(settings)), cut = train(trial_with(parts));
  // Sums of 7 sequences in another order: rounding of f32.
  CHECK(std::fabs(cut.test.at("mse") / whole.test.at("mse") - 1) < 1e-5);
  CHECK(train(trial_with({"train.steps=1"})).test.at("mse") != whole.test.at("mse"));
}

TEST_CASE("validation on the way does not change the training") {
  const Trained never = train(trial_with({"model.dropout=0.2"}));
  const Trained always = train(trial_with({"model.dropout=0.2", "train.eval_every=1"}));
  CHECK(always.test == never.test);
  CHECK(always.history.size() > never.history.size());
}

TEST_CASE("training ends early after so many validations without a new best") {
  std::vector<std::string> settings{"train.steps=200", "train.eval_every=2",
                                    "sweep.\"train.optimizer.lr\"={best_of=[0.5]}", "train.patience=3"};
  for (const char* judged : {"train.judged=\"last\"", "train.judged=\"best\""}) {
    settings.push_back(judged);
    const Trained outcome = train(trial_with(settings));
    REQUIRE(outcome.status == TrialStatus::finished);
    const int64_t end = outcome.steps;
    REQUIRE(end < 200);
    std::map<int64_t, double> errors;
    for (const HistoryPoint& p : outcome.history)
      if (p.metric == "mse") errors[p.step] = p.value;
    const double best = errors.at(end - 6);
    for (const auto& [step, error] : errors) CHECK(error >= best);
    CHECK(outcome.validation.at("mse") == (settings.back() == "train.judged=\"best\"" ? best : errors.at(end)));
    CHECK(outcome.flops < train(trial_with({"train.steps=200"})).flops);
  }
  CHECK(contains(error_of([] { trial_with({"train.patience=2"}); }), "train.patience: expected an eval_every above 0"));
}

namespace {

/// Judged by a number where more is better.
class Scored : public tasks::LinearFunctional {
 public:
  using tasks::LinearFunctional::LinearFunctional;
  std::string criterion() const override { return "accuracy"; }
  std::unique_ptr<tasks::Meter> meter() const override {
    struct Accuracy : tasks::Meter {
      std::unique_ptr<tasks::Meter> errors;
      void add(const headroom::engine::Tensor& output, const tasks::Batch& batch) override {
        errors->add(output, batch);
      }
      std::vector<double> sums() const override { return errors->sums(); }
      tasks::Metrics metrics(const std::vector<double>& sums) const override {
        return {{"accuracy", 1 / (1 + errors->metrics(sums).at("mse"))}};
      }
    };
    auto accuracy = std::make_unique<Accuracy>();
    accuracy->errors = tasks::LinearFunctional::meter();
    return accuracy;
  }
};

}  // namespace

TEST_CASE("the best weights are those of the largest accuracy where that is the criterion") {
  const TrialConfig config = trial_with({"train.steps=60", "train.eval_every=5", "train.judged=\"best\"",
                                         "sweep.\"train.optimizer.lr\"={best_of=[0.3]}"});
  const Scored task(std::get<tasks::LinearFunctionalConfig>(config.task));
  const TrialRecord outcome = run_trial(config, task);
  REQUIRE(outcome.status == TrialStatus::finished);
  double best = 0;
  for (const HistoryPoint& p : outcome.history)
    if (p.metric == "accuracy") best = std::max(best, p.value);
  CHECK(outcome.validation.at("accuracy") == best);
}

TEST_CASE("weight decay is chosen by patterns of names") {
  const std::string decay = "train.optimizer.weight_decay=0.5";
  const auto error = [](const std::vector<std::string>& settings) {
    return train(trial_with(settings)).test.at("mse");
  };
  const double none = error({}), usual = error({decay});
  CHECK(usual != none);
  CHECK(error({decay, "train.optimizer.no_decay=[\"*\"]"}) == none);
  CHECK(error({decay, "train.optimizer.decay=\"*q_proj.weight\""}) == usual);
  CHECK(error({decay, "train.optimizer.decay=\"*\""}) != usual);
  CHECK(contains(train(trial_with({"train.optimizer.no_decay=\"wieght\""})).message,
                 "failed: optimizer.no_decay: 'wieght' matches no parameter"));
}

TEST_CASE("bf16 is refused where it would be emulated, unless that is asked for") {
  const Trained without_leave = train(trial_with({"train.precision=\"bf16\""}));
  const bool is_emulated = !headroom::engine::has_bf16_pairs();
  CHECK(without_leave.status == (is_emulated ? TrialStatus::failed : TrialStatus::finished));
  CHECK(contains(without_leave.message, "bf16 would be emulated on this CPU") == is_emulated);
  const auto error = [](const std::vector<std::string>& settings) {
    return train(trial_with(settings)).test.at("mse");
  };
  const double rounded = error({"train.precision=\"bf16\"", "train.allow_emulation=true"}), exact = error({});
  CHECK(rounded != exact);
  CHECK(std::fabs(rounded / exact - 1) < 0.02);  // 8 bits of mantissa in each operand
  const headroom::engine::Tensor x = headroom::engine::Tensor::from<float>({2}, {1.00390625f, 3});
  CHECK(autograd::product_operand(x).to_vector<float>() == std::vector<float>{1.00390625f, 3});
  const headroom::engine::PrecisionScope scope(headroom::engine::Precision::bf16);
  CHECK(autograd::product_operand(x).to_vector<float>() == std::vector<float>{1, 3});
}

TEST_CASE("bf16 on a GPU needs no leave, follows f32, resumes to the same bits and keeps the f32 masters") {
  if (!headroom::engine::has_device(headroom::engine::Device::Kind::cuda)) return skip("no CUDA device");
  const TrialConfig config = trial_with({"train.precision=\"bf16\"", "train.device=\"cuda\"", "train.keep_weights=true",
                                         "train.steps=12", "train.save_every=0"});
  const Trained whole = train(config), exact = train(trial_with({"train.device=\"cuda\"", "train.steps=12"}));
  REQUIRE(whole.status == TrialStatus::finished);
  CHECK(whole.test.at("mse") != exact.test.at("mse"));
  CHECK(std::fabs(whole.test.at("mse") / exact.test.at("mse") - 1) < 0.04);  // 8 bits of mantissa
  for (const auto& [name, tensor] : whole.tensors) {
    INFO(name);
    CHECK(tensor.dtype() == headroom::engine::DType::f32);
    CHECK(tensor.device().is_cpu());
  }
  const TemporaryFolder folder;
  const TrialFiles files{folder.path() / "checkpoint", nullptr};
  CHECK(train(config, stop_at(5), files).status == TrialStatus::stopped);
  check_same(train(config, {}, files), whole);
}

TEST_CASE("what changes no number is not part of a trial's id") {
  const std::string id = trial_id(trial_with());
  CHECK(trial_id(trial_with({"train.save_every=3", "train.keep_weights=true", "train.allow_emulation=true"})) == id);
  CHECK(trial_id(trial_with({"train.device=\"cuda\""})) == id);
  CHECK(trial_id(trial_with({"train.accumulate=2"})) != id);
}
