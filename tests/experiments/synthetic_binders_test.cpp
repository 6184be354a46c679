// Study files of the synthetic tasks: kernels of the user's own, bounds as overlays and as studies.
#include <cmath>
#include <fstream>

#include "experiments/studies/config/study.h"
#include "experiments/studies/config/tasks/kernel.h"
#include "experiments/studies/run/trial.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

const std::string kernel_line = "kernel    = { kind = \"n-gram\", n = 2 }";

std::string with_kernel(const std::string& kernel) {
  return replaced(small_study(), kernel_line, "kernel = { " + kernel + " }");
}

tasks::KernelConfig kernel_of(const StudyFile& file) {
  return std::get<tasks::LinearFunctionalConfig>(load_study(file.path()).trials.at(0).config.task).kernel;
}

std::string problem_of(const std::string& text) {
  const StudyFile file(text);
  return error_of([&] { load_study(file.path()); });
}

/// The small study with another [task].
std::string with_task(const std::string& task) {
  const std::string text = small_study();
  return text.substr(0, text.find("[task]")) + "[task]\n" + task + text.substr(text.find("\n[model]"));
}

std::string bound_study(const std::string& more = "") {
  return "[study]\nid = \"curve\"\n[task]\nkind = \"allocation-bound\"\nwidth = 128\ntoken_dim = 16\nheads = 1\n" +
         more +
         "[sweep]\n\"task.heads\" = [1, 8, 9]\n[report]\nx = { key = \"task.heads\" }\ny = { metric = \"bound\" }\n";
}

}  // namespace

TEST_CASE("kernels by name, and by an expression in s") {
  CHECK(kernel_of(StudyFile(with_kernel("kind = \"exponential\", alpha = 0.5"))).alpha == 0.5);
  const tasks::KernelConfig kernel =
      kernel_of(StudyFile(with_kernel("kind = \"expression\", rho = \"alpha * exp(-s) + (s == 2)\", alpha = 3")));
  CHECK(kernel.kind == "list");
  REQUIRE(kernel.values.size() == 5);  // L = 6: lags 1..5
  CHECK(kernel.values[0] == Approx(3 * std::exp(-1.0)));
  CHECK(kernel.values[1] == Approx(3 * std::exp(-2.0) + 1));
  CHECK(contains(problem_of(with_kernel("kind = \"expression\", rho = \"exp(-t)\"")),
                 "task.kernel.rho: t is not s or alpha"));
  CHECK(contains(problem_of(with_kernel("kind = \"expression\"")), "task.kernel.rho: missing"));
  CHECK(contains(problem_of(with_kernel("kind = \"expression\", rho = \"1 / (s - 2)\"")), "is not finite"));
  CHECK(contains(problem_of(with_kernel("kind = \"delta\", alpha = 9")), "rho(s) is 0 for every s in 1..5"));
  CHECK(contains(problem_of(with_kernel("kind = \"airy\", n = 3")), "task.kernel.n"));
}

TEST_CASE("a kernel from a CSV file beside the study, known by its values") {
  const StudyFile file(with_kernel("kind = \"file\", file = \"rho.csv\""));
  const auto write = [&](const std::string& text) { std::ofstream(file.folder() / "rho.csv") << text; };
  write("# mine\ns, rho\n2, 0.5\n\n4,-1e-1\n");
  CHECK(kernel_of(file).values == std::vector<double>{0, 0.5, 0, -0.1});
  const std::string id = load_study(file.path()).trials.at(0).id;
  write("0\n0.5\n0\n-0.1\n");
  CHECK(kernel_of(file).values == std::vector<double>{0, 0.5, 0, -0.1});
  CHECK(load_study(file.path()).trials.at(0).id == id);
  write("0\n0.25\n");
  CHECK(load_study(file.path()).trials.at(0).id != id);
  const auto problem = [&] { return error_of([&] { load_study(file.path()); }); };
  write("1\n2,3\n");
  CHECK(contains(problem(), "rho.csv:2: expected rows `rho` or `s,rho`, 1 cells, got 2"));
  write("s,rho\n1,2\n1,3\n");
  CHECK(contains(problem(), "rho.csv:3: s = 1 is given twice"));
  write("1\nx\n");
  CHECK(contains(problem(), "rho.csv:2: \"x\" is not a number"));
  write("0,1\n");
  CHECK(contains(problem(), "rho.csv:1: s is 0: expected an integer in 1.."));
  write("\n");
  CHECK(contains(problem(), "rho.csv: has no values of rho"));
  for (const char* line : {"nan", "1e999", "1;2", "0x10"}) {
    write(std::string(line) + "\n1\n");
    CHECK(contains(problem(), "rho.csv:1: \"" + std::string(line) + "\" is not a number"));  // no heading
  }
  write("1,\n");
  CHECK(contains(problem(), "rho.csv:1: \"\" is not a number"));
  write(
      "\xEF\xBB\xBF"
      "3\n2\n");
  CHECK(kernel_of(file).values == std::vector<double>{3, 2});  // a byte order mark is no heading
  std::filesystem::remove(file.folder() / "rho.csv");
  CHECK(contains(problem(), "cannot read the kernel file (CSV): "));
}

TEST_CASE("induction heads and Volterra targets from a study file") {
  const Study heads = load_study(
      StudyFile(with_task("kind = \"induction-head\"\ntarget = \"generalized\"\nlength = 32\nrepeats = 3\nn = 3\n"
                          "lambda = 5\nsees_current = true\ntrain_sequences = 50\n"))
          .path());
  const auto& head = std::get<tasks::InductionHeadConfig>(heads.trials.at(0).config.task);
  CHECK(head.n == 3);
  CHECK(head.sees_current);
  CHECK(contains(problem_of(with_task("kind = \"induction-head\"\nlength = 12\n")),
                 "4 patterns of 5 tokens do not fit into length 12"));
  CHECK(contains(problem_of(with_task("kind = \"induction-head\"\nlambda = 3\n")), "task.lambda"));
  const Study pairs = load_study(
      StudyFile(with_task("kind = \"volterra\"\nkernel = { kind = \"pairs\", pairs = [[1, 2], [3, 4]] }\n")).path());
  const auto& volterra = std::get<tasks::VolterraConfig>(pairs.trials.at(0).config.task);
  REQUIRE(volterra.terms.size() == 2);
  CHECK(volterra.terms[1].second == 4);
  CHECK(volterra.terms[1].weight == 0.5);
  CHECK(contains(problem_of(with_task("kind = \"volterra\"\nkernel = { kind = \"pairs\", pairs = [[1], 2] }\n")),
                 "task.kernel.pairs: expected a list of pairs of integers"));
  CHECK(contains(problem_of(with_task("kind = \"volterra\"\nkernel = { kind = \"pairs\", pairs = [[1, 99]] }\n")),
                 "lags (1, 99) are out of range"));
}

TEST_CASE("the paper's bound over each x of a study") {
  const std::string text = replaced(small_study(), "[[claim]]", "overlay = \"paper-bound\"\n[[claim]]");
  const Study study = load_study(StudyFile(text).path());
  const Overlay& overlay = study.head.report.overlays.at(0);
  REQUIRE(overlay.points.size() == 2);
  CHECK(overlay.points[0].first == 1);
  CHECK(overlay.points[0].second == Approx(2));  // one head is worse than fetching nothing of two lags
  CHECK(overlay.points[1].second == Approx(1 + 1.3 * std::exp(0.02) / 2));
  CHECK(contains(problem_of(replaced(text, "paper-bound", "papers-bound")), "did you mean \"paper-bound\"?"));
  const std::string other = with_task("kind = \"induction-head\"\n");
  CHECK(contains(problem_of(replaced(other, "[[claim]]", "overlay = \"paper-bound\"\n[[claim]]")),
                 "report.overlay: the paper has no bound for this task and its heads"));
}

TEST_CASE("an n-gram's trial tells how many heads serve each lag") {
  const Study study = load_study(StudyFile(small_study()).path());
  const PlannedTrial& trial = study.trials.back();
  const auto task = tasks::make_task(trial.config.task, {});
  const std::map<std::string, double> test = run_trial(trial.config, *task).test;
  double sum = 0;
  for (const char* lag : {"0", "1", "2"}) sum += test.at(std::string("attention_at_lag_") + lag);
  CHECK(test.count("attention_at_lag_3") == 0);
  CHECK(sum > 0);
  CHECK(sum <= static_cast<double>(trial.config.model.groups.at(0).heads) + 1e-6);
}

TEST_CASE("ranks of lags, and what their keys refuse") {
  const tasks::KernelConfig kernel = kernel_of(StudyFile(with_kernel("kind = \"n-gram\", n = 2, ranks = [2, 1]")));
  CHECK(kernel.ranks == std::vector<int64_t>{2, 1});
  CHECK(contains(problem_of(with_kernel("n = 2, ranks = [3]")),
                 "task.kernel: ranks: the rank of lag 1 is 3: expected 1 to 2"));
  CHECK(contains(problem_of(with_kernel("n = 2, ranks = [1.5]")), "1.5 is no rank: expected whole numbers >= 1"));
  CHECK(contains(problem_of(with_kernel("n = 2, rank_seed = 1")), "task.kernel.rank_seed"));
  // The paper's bound knows of them: two heads of width 1 lose nothing at a lag of rank 1.
  const std::string text =
      replaced(with_kernel("n = 1, ranks = [1]"), "[[claim]]", "overlay = \"paper-bound\"\n[[claim]]");
  const StudyFile file(replaced(text, "width     = 8", "width     = 2"));
  CHECK(load_study(file.path()).head.report.overlays.at(0).points.at(1).second == Approx(1.3 * std::exp(0.02) / 2));
}

TEST_CASE("keys that came later leave the ids of trials that do not have them as they were") {
  const StudyFile old(small_study());
  CHECK(load_study(old.path()).trials.at(0).id == "f779fc259405211c9488f71d8bf3c08d");
  for (const char* key : {"[task]\nattention_lags = 2", "[train]\nstart = \"slopes\"",
                          "[train]\neval_every = 2\nsteps_to = { metric = \"mse\", value = 1.0 }"}) {
    const std::string line = key, table = line.substr(0, line.find('\n'));
    const StudyFile file(replaced(small_study(), table, line));
    CHECK(load_study(file.path()).trials.at(0).id != load_study(old.path()).trials.at(0).id);
  }
}

TEST_CASE("attention up to a lag of one's own, and steps to an error, are metrics of a trial") {
  const std::string text =
      replaced(replaced(small_study(), "first_position = 1", "first_position = 1\nattention_lags = 3"), "steps     = 6",
               "steps = 6\neval_every = 2\nsteps_to = { metric = \"relative_mse\", value = 1e9 }");
  const Study study = load_study(StudyFile(text).path());
  const PlannedTrial& trial = study.trials.back();
  const auto task = tasks::make_task(trial.config.task, {});
  const std::map<std::string, double> test = run_trial(trial.config, *task).test;
  CHECK(test.at("steps_to") == 2);  // at the first validation
  CHECK(test.count("attention_at_lag_3") == 1);
  CHECK(test.at("peaks_at_lag_0") + test.at("peaks_at_lag_1") + test.at("peaks_at_lag_2") + test.at("peaks_at_lag_3") ==
        static_cast<double>(trial.config.model.groups.at(0).heads));
  TrialConfig never = trial.config;
  never.train.steps_to->value = 0;
  CHECK(run_trial(never, *task).test.at("steps_to") == 7);
  never.train.patience = 1;
  never.train.optimizer.lr = 1e-30;  // the second validation is no better than the first, and training ends there
  CHECK(run_trial(never, *task).test.at("steps_to") == 5);
}

TEST_CASE("training starts from the proof's weights where that is asked for") {
  const std::string text = replaced(replaced(small_study(), "positions = \"sinusoidal\"",
                                             "positions = \"alibi\"\nnorm = \"none\"\nlogit_scale = 1e-9"),
                                    "steps     = 6", "steps = 1\nstart = \"constructive\"");
  const Study study = load_study(StudyFile(replaced(text, "heads     = 1", "heads     = 4")).path());
  TrialConfig config = study.trials.back().config;  // two heads of width 4
  config.train.optimizer.lr = 1e-12;                // as it starts
  const auto task = tasks::make_task(config.task, {});
  const auto error = [&](Start start) {
    config.train.start = start;
    return run_trial(config, *task).test.at("relative_mse");
  };
  const double drawn = error(Start::drawn), slopes = error(Start::slopes), weights = error(Start::constructive);
  CHECK(weights < 0.7 * drawn);  // two heads fetch lag 1 alone of the two
  CHECK(slopes != drawn);
}

TEST_CASE("a curve of the paper is a study without a model") {
  const Study study = load_study(StudyFile(bound_study()).path());
  REQUIRE(study.trials.size() == 3);
  const PlannedTrial& eight = study.trials[1];
  const tasks::Work bound = tasks::make_work(eight.config.task, {});
  CHECK(training_flops(eight.config, bound) == 0);
  CHECK_THROWS_WITH(tasks::make_task(eight.config.task, {}), Catch::Contains("a formula, which trains nothing"));
  const TrialRecord outcome = run_trial(eight.config, bound);
  CHECK(outcome.status == TrialStatus::finished);
  CHECK(outcome.test.at("bound") == Approx(0.16578271775434783));
  CHECK(outcome.validation == outcome.test);
  CHECK(contains(problem_of(bound_study() + "[model]\nwidth = 8\n"), "model: the task is a formula"));
  CHECK(contains(problem_of(bound_study("curve = \"equal-heads\"\n")), "task.heads: does not divide task.width"));
}

TEST_CASE("the proof's Transformer is a study without a model") {
  const auto text = [](const std::string& task) {
    return "[study]\nid = \"proof\"\n[task]\nkind = \"constructive-transformer\"\nlags = 2\nsequences = 3\nlength = "
           "5\n" +
           task +
           "[sweep]\n\"task.heads\" = [4]\n[report]\nx = { key = \"task.heads\" }\ny = { metric = \"sup_error\" }\n";
  };
  const auto measure = [&](const std::string& task) {
    const PlannedTrial trial = load_study(StudyFile(text(task)).path()).trials.at(0);
    return run_trial(trial.config, tasks::make_work(trial.config.task, {})).test;
  };
  const auto mended = measure(""), printed = measure("mended = { zero_front = false }\n"),
             shared = measure("variant = \"shared\"\ndtype = \"f32\"\n");
  CHECK(mended.at("bound") == Approx(1.3 * (std::exp(0.02) + std::exp(0.04)) / 4));
  CHECK(mended.at("sup_error") < 1e-5);
  CHECK(mended.at("tightness") == Approx(mended.at("bound") / mended.at("sup_error")));
  CHECK(printed.at("sup_error") > 0.5);
  CHECK(printed.count("worst_case") == 0);
  CHECK(shared.at("sup_error") < shared.at("bound"));
  CHECK(shared.at("sup_error") > mended.at("sup_error"));
  CHECK(contains(problem_of(text("head_dim = 9\n")), "head_dim: expected 1 to token_dim = 8, got 9"));
  CHECK(contains(problem_of(text("scale = 1\n")), "task.scale"));
  CHECK(contains(problem_of(text("variant = \"shared\"\nhead_dim = 4\n")), "shared heads are as wide as the token"));
  CHECK(contains(problem_of(text("mended = { zerofront = true }\n")), "task.mended.zerofront"));
  CHECK(contains(problem_of(text("split = true\nhead_dim = 3\n")), "split: expected head_dim = 3 to divide"));
}
