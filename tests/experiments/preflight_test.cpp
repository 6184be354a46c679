// What is known of a sweep before its first step.
#include "experiments/studies/run/preflight.h"

#include <limits>
#include <string>
#include <vector>

#include "experiments/studies/config/study.h"
#include "experiments/studies/run/dry_run.h"
#include "experiments/studies/run/jobs.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

const MemoryLimit endless{std::numeric_limits<double>::infinity(), "no limit"};

/// What the check says to a study; "" when it lets it pass.
std::string complaint(const std::string& text, const std::vector<std::string>& settings = {}, int jobs = 1,
                      const MemoryLimit& limit = endless) {
  const StudyFile file(text);
  const Study study = load_study(file.path(), base_profile, settings);
  std::vector<const PlannedTrial*> trials;
  for (const PlannedTrial& trial : study.trials) trials.push_back(&trial);
  WorkPool pool({});
  return error_of([&] { check_before_training(trials, pool, jobs, true, limit); });
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  write_bytes(file, text);
}

}  // namespace

TEST_CASE("a trial that would fail before its first step is told, and how many are like it") {
  CHECK(complaint(small_study()) == "");
  const std::string bf16 = complaint(small_study(), {"train.precision=\"bf16\""});
  if (headroom::engine::has_bf16_pairs()) CHECK(bf16 == "");
  else CHECK(contains(bf16, "train.precision: bf16 would be emulated on this CPU"));
  CHECK(contains(complaint(small_study(), {"train.optimizer.no_decay=\"wieght\""}), "'wieght' matches no parameter"));
  CHECK(contains(complaint(small_study(), {"model.tied=true"}), "model.tied is true"));
  const std::string missing = "task={kind=\"next-token\", source=\"no-such.txt\", length=6}";
  const std::string metric = "report.y={metric=\"cross_entropy\"}";
  CHECK(contains(complaint(small_study(), {missing, metric}), "no-such.txt"));
  const std::string language = "task={kind=\"next-token\", source=\"markov\", length=6}";
  CHECK(complaint(small_study(), {language, metric, "model.causal=true"}) == "");
  CHECK(contains(complaint(small_study(), {language, metric, "model.causal=false"}), "model.causal: is false"));
  CHECK(contains(complaint(small_study(), {missing, metric}), "(trial \"heads=1 lr=0.001 seed=1\" and 3 more)"));
}

TEST_CASE("memory: what one trial needs, what would fit, and how many fit at once") {
  const StudyFile file(small_study());
  const Study study = load_study(file.path());
  std::vector<const PlannedTrial*> trials;
  for (const PlannedTrial& trial : study.trials) trials.push_back(&trial);
  WorkPool pool({});
  double largest = 0;
  for (const PlannedTrial* trial : trials)
    largest = std::max(largest, memory_need(trial->config, pool.get(trial->config)).total());
  RunOptions options;
  options.threads = options.jobs = 1;
  const double measured = static_cast<double>(dry_run(study, options).value().peak_bytes);
  CAPTURE(largest, measured);
  CHECK(largest > 0.2 * measured);
  CHECK(largest <= measured);

  const MemoryLimit two{2.5 * largest, "the test's limit"};
  CHECK(check_before_training(trials, pool, 8, false, two) == 2);
  CHECK(check_before_training(trials, pool, 2, true, two) == 2);
  CHECK(check_before_training(trials, pool, 8, true, endless) == 8);
  const std::string jobs = error_of([&] { check_before_training(trials, pool, 8, true, two); });
  CHECK(contains(jobs, "--jobs 8: so many trials at once need at least"));
  CHECK(contains(jobs, "the test's limit is"));
  CHECK(contains(jobs, "--jobs 2 would fit"));

  const std::string tokens = "task={kind=\"next-token\", markov.tokens=1000000, length=6}";
  CHECK(contains(complaint(small_study(), {tokens, "report.y={metric=\"excess\"}"}, 1, {1 << 20, "the test's limit"}),
                 "the task's data need 3.81 MiB of memory, and the test's limit is 1 MiB"));

  const std::vector<std::string> many{"train.batch=4096", "train.eval_sequences=8"};
  CHECK(contains(complaint(small_study(), many, 1, {1 << 20, "the test's limit"}), "train.accumulate = "));
  const std::vector<std::string> wide{"model.width=1024", "train.eval_sequences=8"};
  CHECK(contains(complaint(small_study(), wide, 1, {1 << 20, "the test's limit"}), "a model of at most "));
}

TEST_CASE("trials at once: within the threads, on a GPU as many as a small step leaves room for, or one if they wait") {
  const StudyFile file(small_study());
  const auto jobs = [&](const std::vector<std::string>& settings, const RunOptions& options = {.threads = 32}) {
    const Study study = load_study(file.path(), base_profile, settings);
    std::vector<const PlannedTrial*> trials;
    for (const PlannedTrial& trial : study.trials) trials.push_back(&trial);
    WorkPool pool({});
    return wanted_jobs(trials, options, pool);
  };
  const std::string cuda = "train.device=\"cuda\"";
  CHECK(jobs({}) == 32);
  CHECK(jobs({cuda}) == 16);
  CHECK(jobs({cuda}, {.threads = 3}) == 3);
  CHECK(jobs({cuda}, {.jobs = 20, .threads = 3}) == 20);
  CHECK(jobs({cuda, "train.timed=true"}) == 1);
  const std::vector<std::string> medium{cuda, "model.width=128", "train.batch=64", "task.length=64"};
  CHECK(jobs(medium) > 4);
  CHECK(jobs(medium) < 16);
  CHECK(jobs({cuda, "model.width=512", "train.batch=1024", "task.length=64"}) == 4);
  const Study narrowed = load_study(source_root() + "/experiments/narrowed-by-length.toml", "quick");
  WorkPool pool({});
  CHECK(wanted_jobs({&narrowed.trials.at(0)}, {.threads = 32}, pool) == 1);
}

TEST_CASE("memory: a training in bf16 has copies beside the weights, and activations of half the size") {
  const StudyFile file(small_study());
  TrialConfig config = load_study(file.path()).trials.at(0).config;
  WorkPool pool({});
  const headroom::tasks::Work& problem = pool.get(config);
  const MemoryNeed exact = memory_need(config, problem);
  config.train.precision = headroom::engine::Precision::bf16;
  const bool is_emulated = !headroom::engine::has_bf16_pairs();  // in f32
  CHECK(memory_need(config, problem).state == exact.state * (is_emulated ? 16 : 18) / 16);
  config.train.device = {headroom::engine::Device::Kind::cuda, 0};
  const MemoryNeed reduced = memory_need(config, problem);
  CHECK(reduced.state == exact.state * 18 / 16);         // weights, gradients, two moments: 16 bytes; the copy: 2
  CHECK(reduced.activations < 0.7 * exact.activations);  // the loss is f32
  CHECK(reduced.activations >= 0.5 * exact.activations);
}

TEST_CASE("memory: what the gradient of attention works in on a GPU counts") {
  const StudyFile file(small_study());
  WorkPool pool({});
  using headroom::engine::Precision;
  const auto activations = [&](const char* length, const char* width, Precision precision = Precision::bf16) {
    const std::vector<std::string> settings{
        std::string("task={kind=\"next-token\", source=\"markov\", length=") + length + "}",
        "report.y={metric=\"cross_entropy\"}",
        "model.causal=true",
        std::string("model.width=") + width,
        "sweep.\"model.heads\"=[1]",
        "train.batch=2"};
    TrialConfig config = load_study(file.path(), base_profile, settings).trials.at(0).config;
    config.train.precision = precision;
    config.train.device = {headroom::engine::Device::Kind::cuda, 0};
    const headroom::tasks::Work& work = pool.get(config);
    return memory_need(config, work).activations;
  };
  const double per_token = activations("16", "32") / 16;  // so few queries are not cuDNN's
  CHECK(activations("128", "32") == Approx(128 * per_token + 2 * 128 * 128 * 2));
  CHECK(activations("128", "24") == Approx(128 * activations("16", "24") / 16));  // nor are narrow heads
  CHECK(activations("12800", "32") == Approx(12800 * per_token));                 // 625 MiB: our own kernels
  const double exact = activations("16", "32", Precision::f32) / 16;              // nothing is stored of so few queries
  CHECK(activations("100", "32", Precision::f32) == Approx(100 * exact + 2 * 2 * 100 * 128 * 4));  // p and ds
  CHECK(activations("5000", "32", Precision::f32) == Approx(5000 * exact + 2 * 5000 * 5056 * 4));  // of one sequence
  CHECK(activations("12800", "32", Precision::f32) == Approx(12800 * exact));
}

TEST_CASE("the memory limit is the smallest of the machine's and of all control groups around the process") {
  const TemporaryFolder root;
  const auto limit = [&] { return memory_limit(root.path()); };
  CHECK(limit().source == "no limit that is known");
  write(root / "proc/meminfo", "MemFree: 1 kB\nMemTotal:       1000 kB\n");
  CHECK(limit().bytes == 1024000);
  CHECK(limit().source == "the machine's memory");

  // Version 2: the limit of a group around the process's own.
  write(root / "proc/self/mountinfo",
        "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n31 30 0:27 / /tmp rw - tmpfs tmpfs rw\n");
  write(root / "proc/self/cgroup", "0::/a/b/c\n");
  CHECK(limit().bytes == 1024000);
  write(root / "sys/fs/cgroup/a/b/c/memory.max", "max\n");
  write(root / "sys/fs/cgroup/a/b/memory.max", "500000\n");
  write(root / "sys/fs/cgroup/a/memory.max", "600000\n");
  CHECK(limit().bytes == 500000);
  CHECK(limit().source == "the limit in /sys/fs/cgroup/a/b/memory.max");

  // Version 1 next to it; in a container its group is mounted as the top.
  write(root / "proc/self/mountinfo",
        "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
        "35 31 0:32 /docker/x /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n");
  write(root / "proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/docker/x/y\n0::/a/b/c\n");
  write(root / "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(limit().bytes == 500000);
  write(root / "sys/fs/cgroup/memory/y/memory.limit_in_bytes", "400000\n");
  CHECK(limit().source == "the limit in /sys/fs/cgroup/memory/y/memory.limit_in_bytes");
  CHECK(limit().bytes == 400000);
  write(root / "sys/fs/cgroup/memory/memory.limit_in_bytes", "300000\n");
  CHECK(limit().bytes == 300000);
}

TEST_CASE("trials whose trained model is not here are left out with a line, the others run") {
  const std::string model = std::string(source_root()) + "/tests/models/pretrained/checkpoints/llama2-gqa";
  const auto study_of = [&](const std::string& first, const std::string& second) {
    return "[study]\nid = \"two-models\"\ntitle = \"t\"\n"
           "[task]\nkind = \"attention-heads\"\nmodel = \"" +
           first +
           "\"\ntext = \"random\"\nlength = 4\nat = \"last\"\n"
           "[sweep]\n\"task.length\" = [4, 8]\nseed = [0]\n"
           "[report]\nx = { key = \"task.length\" }\ny = { metric = \"median_jacobian_norm\" }\n"
           "[[series]]\nname = \"first\"\n[[series]]\nname = \"second\"\ntask.model = \"" +
           second + "\"\n";
  };
  const StudyFile file(study_of(model, "nowhere.gguf"));
  const Study study = load_study(file.path());
  const RunOptions options{.out = file.folder() / "runs", .output = ProgressOutput::none};
  const DryRun before = dry_run(study, options).value();
  CHECK(before.trials == 2);
  REQUIRE(before.left_out.notes.size() == 1);
  CHECK(contains(before.left_out.notes[0], "2 trials left out: nowhere.gguf: there is no such model at nowhere.gguf"));
  CHECK(contains(before.left_out.notes[0], "headroom data fetch models"));
  CHECK(contains(dry_run_text(study, before), before.left_out.notes[0]));
  REQUIRE(run_trials(study, options));
  const StudyResults results = collect_results(study, options.out);
  CHECK(results.trials.size() == 2);
  CHECK(results.planned == 4);
  for (const TrialRecord& trial : results.trials) CHECK(trial.series == "first");
  REQUIRE(run_trials(study, options));  // nothing is left but what is left out
  const StudyFile neither(study_of("nowhere.gguf", "elsewhere.gguf"));
  CHECK_THROWS_WITH(run_trials(load_study(neither.path()), options), contains("nowhere.gguf: there is no such model"));
}
