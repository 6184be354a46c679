#include <unistd.h>

#include <csignal>
#include <fstream>

#include "experiments/studies/config/study.h"
#include "experiments/studies/run/runner.h"
#include "experiments/studies/run/store.h"
#include "tests/experiments/program.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

/// Trials that take long enough to be interrupted, and many of them.
std::string slow_study() {
  std::string text = replaced(small_study(), "seed                 = [1, 2]", "seed = [1, 2, 3, 4, 5, 6, 7, 8]");
  return replaced(text, "steps     = 6", "steps     = 300");
}

/// Waits until the store knows `wanted` trials, as long as the program runs.
size_t wait_for_some(Program& program, const Study& study, const std::filesystem::path& out, size_t wanted) {
  size_t done = 0;
  while (done < wanted && program.is_running()) {
    usleep(2000);
    try {
      done = collect_results(study, out).trials.size();
    } catch (const std::exception&) {
      continue;  // the store is not there yet
    }
  }
  return done;
}

}  // namespace

TEST_CASE("a run ends with a table and a report; report renders it again") {
  const StudyFile study(small_study());
  Program run(study.folder(), "run study.toml --quiet");
  CHECK(run.wait() == 0);
  CHECK(run.err().empty());
  CHECK(contains(run.out(), "heads"));
  CHECK(contains(run.out(), "optimum_at [2]"));
  CHECK(contains(run.out(), "report  runs/small/paper/report.html\n"));
  const std::filesystem::path page = study.folder() / "runs/small/paper/report.html";
  CHECK(std::filesystem::exists(page));
  std::filesystem::remove(page);
  output_of(study.folder(), "report study.toml");
  CHECK(std::filesystem::exists(page));
}

TEST_CASE("settings have a report of their own, which says so; they train only what they change") {
  const StudyFile study(small_study());
  const std::filesystem::path& folder = study.folder();
  CHECK(Program(folder, "run study.toml --quiet").wait() == 0);
  const std::string main = "runs/small/paper/", other = "runs/small/paper+train.steps=5/";
  const auto files = {"report.html", "metrics.csv", "verdicts.json", "summary.json"};
  std::vector<std::string> before;
  for (const char* file : files) before.push_back(read(folder / (main + file)));
  const std::string changed = output_of(folder, "run study.toml --quiet --set train.steps=5");
  CHECK(contains(changed, "\nchanged by --set train.steps=5\n"));
  CHECK(contains(changed, "report  " + other + "report.html\n"));
  CHECK(contains(read(folder / (other + "summary.json")), "\"paper+train.steps=5\""));
  CHECK(contains(read(folder / "runs/index.html"), "paper%2Btrain.steps%3D5/report.html"));
  CHECK_FALSE(contains(output_of(folder, "report study.toml"), "changed"));
  size_t i = 0;
  for (const char* file : files) CHECK(read(folder / (main + file)) == before[i++]);
  // A third seed: eight trials of the study's own store are taken over with their times.
  CHECK(Program(folder, "run study.toml --quiet --set sweep.seed=[1,2,3]").wait() == 0);
  const Study more = load_study((folder / "study.toml").string(), "paper", {"sweep.seed=[1,2,3]"});
  const StudyResults own = collect_results(load_study((folder / "study.toml").string()), folder / "runs");
  const StudyResults grown = collect_results(more, folder / "runs");
  CHECK(grown.trials.size() == 12);
  CHECK(grown.overrides == std::vector<std::string>{"sweep.seed=[1,2,3]"});
  int64_t same = 0;
  for (const TrialRecord& old : own.trials)
    for (const TrialRecord& trial : grown.trials) same += trial.id == old.id && trial.seconds == old.seconds;
  CHECK(same == 8);
  // What changes only the report trains nothing.
  CHECK(contains(output_of(folder, "report study.toml --set 'report.x.label=\"H\"'"),
                 "report  runs/small/paper+report.x.label=H/report.html\n"));
}

TEST_CASE("a trial that two series share is one trial in every count") {
  const StudyFile file(replaced(small_study(), "[[claim]]",
                                "[[series]]\nname = \"a\"\n[[series]]\nname = \"b\"\n[[claim]]\nseries = \"a\""));
  CHECK(contains(output_of(file.folder(), "run study.toml --dry-run"), "small · paper · 8 trials, "));
  CHECK(contains(output_of(file.folder(), "run study.toml --threads 1"), "small · paper · 8 trials · "));
  CHECK(contains(read(file.folder() / "runs/small/paper/summary.json"), "8 of 8 trials done, 0 failed"));
  CHECK(contains(output_of(file.folder(), "status"), "8 of 8 trials finished"));
}

TEST_CASE("a study's files are found beside it, then in the working folder") {
  const StudyFile file(small_study());
  const std::filesystem::path& folder = file.folder();
  std::filesystem::create_directory(folder / "sub");
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(folder / name) << text; };
  // A text next to the study takes precedence over one of the same name in the working folder.
  std::string text;
  for (int i = 0; i < 400; ++i) text += "ab";
  std::string study = small_study();
  const size_t from = study.find("[task]"), to = study.find("[model]");
  study.replace(from, to - from, "[task]\nkind = \"next-token\"\nsource = \"own.txt\"\nlength = 6\n\n");
  study = replaced(replaced(study, "\"encoder\"", "\"decoder\""), "relative_mse", "cross_entropy");
  write("sub/study.toml", study);
  write("own.txt", "too short");
  CHECK(contains(complaint(folder, "run sub/study.toml --dry-run", 1), "own.txt"));
  write("sub/own.txt", text);
  CHECK(Program(folder, "run sub/study.toml --dry-run").wait() == 0);
  std::filesystem::rename(folder / "sub/own.txt", folder / "own.txt");
  CHECK(Program(folder, "run sub/study.toml --dry-run").wait() == 0);
  // The same for a kernel's CSV.
  write("sub/csv.toml",
        replaced(small_study(), "{ kind = \"n-gram\", n = 2 }", "{ kind = \"file\", file = \"rho.csv\" }"));
  CHECK(contains(complaint(folder, "run sub/csv.toml --dry-run", 1), "sub/rho.csv"));
  write("rho.csv", "rho\n1\n0.5\n");
  CHECK(Program(folder, "run sub/csv.toml --dry-run").wait() == 0);
}

TEST_CASE("trials of an earlier state of a study are counted, not shown") {
  const StudyFile study(small_study());
  CHECK(Program(study.folder(), "run study.toml --quiet").wait() == 0);
  std::ofstream(study.folder() / "study.toml") << replaced(small_study(), "steps     = 6", "steps     = 7");
  CHECK(contains(output_of(study.folder(), "run study.toml --quiet"),
                 "\n8 finished trials of an earlier state of this study are not in this report: its file, "
                 "or one that it names, has changed\n"));
}

TEST_CASE("a study that speaks of no paper and has no profiles has its own") {
  const StudyFile study(replaced(small_study(), "paper = \"Figure 1\"\n", ""));
  const std::string run = output_of(study.folder(), "run study.toml");
  CHECK(contains(run, "small · own · 8 trials"));
  CHECK(contains(run, "report  runs/small/own/report.html\n"));
  for (const char* name : {"own", "paper"})
    CHECK(Program(study.folder(), std::string("report study.toml --profile ") + name).wait() == 0);
  CHECK(contains(complaint(study.folder(), "run study.toml --profile quick", 1), "no profile 'quick'; it has own\n"));
}

TEST_CASE("progress in a log is plain lines") {
  const StudyFile study(small_study());
  Program run(study.folder(), "run study.toml");
  CHECK(run.wait() == 0);
  CHECK_FALSE(contains(run.err(), "\r"));
  CHECK_FALSE(contains(run.err(), "\x1b"));
  CHECK(contains(run.out(), "small · paper · 8 trials"));
}

TEST_CASE("an interrupted run keeps its trials, and the same command completes it") {
  const StudyFile file(slow_study());
  const Study study = load_study(file.path());
  const std::filesystem::path out = file.folder() / "runs";
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1, SIGKILL}) {
    CAPTURE(number);
    Program program(file.folder(), "run study.toml --quiet");
    const size_t before = wait_for_some(program, study, out, 2);
    program.signal(number);
    if (number == SIGHUP || number == SIGXCPU) program.signal(number);  // as a terminal and a limit do
    const int status = program.wait();
    const size_t kept = collect_results(study, out).trials.size();
    CHECK(kept >= before);
    if (number == SIGKILL) {
      CHECK(status == -SIGKILL);
    } else {
      CHECK(status == 130);
      CHECK(contains(program.err(), "the same command goes on from here"));
      CHECK(kept < study.trials.size());
    }
    if (number != SIGKILL) std::filesystem::remove_all(out);
  }
  const StudyResults before = collect_results(study, out);
  output_of(file.folder(), "run study.toml --quiet");
  const StudyResults after = collect_results(study, out);
  CHECK(after.trials.size() == study.trials.size());
  // What was finished before was not trained again: its time is still the first one's.
  for (const TrialRecord& old : before.trials) {
    for (const TrialRecord& trial : after.trials)
      if (trial.id == old.id) CHECK(trial.seconds == old.seconds);
  }
}

TEST_CASE("a signal that is ignored when a run starts stays ignored") {
  const StudyFile file(slow_study());
  const Study study = load_study(file.path());
  const std::filesystem::path out = file.folder() / "runs";
  Program program(file.folder(), "run study.toml --quiet", "trap '' HUP INT USR1;");
  const size_t before = wait_for_some(program, study, out, 1);
  for (const int number : {SIGHUP, SIGINT, SIGUSR1}) program.signal(number);
  CHECK(wait_for_some(program, study, out, before + 2) >= before + 2);
  program.signal(SIGTERM);
  CHECK(program.wait() == 130);
}

TEST_CASE("a full disk ends a run with one line, and a later run completes it") {
  const StudyFile file(slow_study());
  const Study study = load_study(file.path());
  // sh counts in blocks of 512 bytes: room for some trials, not for all.
  CHECK(contains(complaint(file.folder(), "run study.toml --quiet --set train.steps=6", 1, "ulimit -f 96;"),
                 "run store: disk I/O error (File too large)"));
  output_of(file.folder(), "run study.toml --quiet --set train.steps=6");
}

TEST_CASE("status tells of every store, a damaged one last") {
  const StudyFile file(small_study());
  CHECK(Program(file.folder(), "run study.toml --quiet").wait() == 0);
  const auto damaged = file.folder() / "runs" / "a damaged one" / "paper";
  std::filesystem::create_directories(damaged);
  std::ofstream(damaged / "store.sqlite") << std::string(5000, 'x');
  Program status(file.folder(), "status");
  CHECK(status.wait() == 1);
  CHECK(contains(status.out(), "small · paper   8 of 8 trials finished"));
  CHECK(contains(status.err(), "a damaged one/paper/store.sqlite: run store: "));
}

TEST_CASE("doctor and ops") {
  const TemporaryFolder folder;
  const std::string doctor = output_of(folder.path(), "doctor");
  for (const char* word : {"CPU level", "threads", "memory", "data", "products", "oneDNN", "CUDA"})
    CHECK(contains(doctor, word));
  const std::string ops = output_of(folder.path(), "ops");
  CHECK(contains(ops, "attention"));
  CHECK(contains(ops, "reference"));
  CHECK(output_of(folder.path(), "--version").rfind("headroom 0.", 0) == 0);
}

TEST_CASE("weights that a finished study lacks are trained again, and said") {
  const StudyFile study(small_study());
  const std::filesystem::path& folder = study.folder();
  const std::string command = "run study.toml --quiet --set train.keep_weights=true";
  CHECK(Program(folder, "run study.toml --quiet").wait() == 0);
  const std::string numbers = output_of(folder, "export csv --metrics-only");
  Program kept(folder, command);
  CHECK(kept.wait() == 0);
  CHECK(kept.err() ==
        "headroom: 8 finished trials have no weights in runs/small/paper/weights, which train.keep_weights asks for: "
        "trained again\n");
  const std::filesystem::path weights = folder / "runs/small/paper/weights";
  const std::filesystem::path one = std::filesystem::directory_iterator(weights)->path();
  const std::string bytes = read(one);
  std::filesystem::remove(one);
  Program again(folder, command);
  CHECK(again.wait() == 0);
  CHECK(contains(again.err(), "headroom: 1 finished trial has no weights"));
  CHECK(read(one) == bytes);
  // Weights of another training, with a checksum of their own, and bytes that have changed.
  std::filesystem::path other;
  for (const auto& entry : std::filesystem::directory_iterator(weights))
    if (entry.path() != one) other = entry.path();
  for (const std::string& wrong : {read(other), bytes.substr(0, bytes.size() - 1) + "?"}) {
    std::ofstream(one) << wrong;
    Program mended(folder, command);
    CHECK(mended.wait() == 0);
    CHECK(mended.err() ==
          "headroom: 1 finished trial has weights in runs/small/paper/weights that are not those of their rows (wrong "
          "checksum): trained again\n");
    CHECK(read(one) == bytes);
  }
  Program nothing(folder, command);
  CHECK(nothing.wait() == 0);
  CHECK(nothing.err().empty());
  CHECK(output_of(folder, "export csv --metrics-only") == numbers);
}

TEST_CASE("a report of a study that is running says what is running") {
  const StudyFile file(small_study());
  const Study study = load_study(file.path());
  {
    RunStore store(file.folder() / "runs/small/paper/store.sqlite");
    const Owner owner = this_process();
    CHECK(store.acquire(study.trials[0].id, "", owner, {}, wall_clock()) == LeaseResult::taken);
    Program report(file.folder(), "report study.toml");
    CHECK(report.wait() == 1);
    CHECK(report.err() ==
          "headroom: small · paper: 1 running, 0 finished, 0 failed, 7 to do\n"
          "headroom: error: small · paper: no trial has finished yet; 1 running, 7 to do\n");
    store.release(study.trials[0].id, owner);
  }
  CHECK(Program(file.folder(), "run study.toml --quiet").wait() == 0);
  RunStore store(file.folder() / "runs/small/paper/store.sqlite");
  const RunStore::Known known = store.known(study.trials[0].id);
  CHECK(store.acquire(study.trials[0].id, "", this_process(), known, wall_clock()) == LeaseResult::taken);
  Program report(file.folder(), "report study.toml");
  CHECK(report.wait() == 0);
  CHECK(report.err() == "headroom: small · paper: 1 running, 8 finished, 0 failed, 0 to do\n");
}

TEST_CASE("doctor says what is damaged, repairs it, and the next run ends with the same numbers") {
  const StudyFile study(small_study());
  const std::filesystem::path &folder = study.folder(), store = folder / "runs/small/paper/store.sqlite";
  CHECK(Program(folder, "run study.toml --quiet --set train.keep_weights=true").wait() == 0);
  const std::string numbers = output_of(folder, "export csv --metrics-only");
  CHECK(output_of(folder, "doctor runs") == "runs/small/paper/store.sqlite: 8 trials and 8 files are sound\n");
  Database(store, false).run("UPDATE scores SET value = value * 1.0001 WHERE trial = (SELECT min(id) FROM trials)");
  CHECK(contains(complaint(folder, "export csv", 1), "its scores, curve or predictions are not what was written"));
  CHECK(contains(complaint(folder, "report study.toml", 1), "store.sqlite: trial "));
  CHECK(contains(complaint(folder, "plan --width 8 --from-study runs/small/paper", 1), "store.sqlite: trial "));
  Program damaged(folder, "doctor runs");
  CHECK(damaged.wait() == 1);
  CHECK(contains(damaged.out(), "not what was written; it is to be run again"));
  const std::string repair = output_of(folder, "doctor runs/small/paper/store.sqlite --repair");
  CHECK(contains(repair, "holds its 7 sound trials"));
  CHECK(contains(repair, "7 trials and 8 files are sound\n"));
  CHECK(std::filesystem::exists(store.string() + ".damaged-1"));
  CHECK(Program(folder, "run study.toml --quiet --set train.keep_weights=true").wait() == 0);
  CHECK(output_of(folder, "export csv --metrics-only") == numbers);
}

TEST_CASE("claims of a run study are verified, listed and set beside the paper's numbers") {
  const std::string claim = "kind = \"optimum_at\"\namong = [2]";
  const StudyFile study(replaced(small_study(), claim,
                                 "kind = \"band\"\nhigh = 100\nreference = [\"ngram-tradeoff\", \"optimum\", \"M\"]"));
  const std::filesystem::path& folder = study.folder();
  std::ofstream(folder / "fails.toml") << replaced(replaced(small_study(), claim, "kind = \"band\"\nhigh = 0"),
                                                   "\"small\"", "\"fails\"");

  Program early(folder, "verify study.toml");
  CHECK(early.wait() == 1);
  CHECK(contains(early.err(), "small · paper has no run store under runs; run it first"));
  CHECK(contains(early.out(), "not run"));
  CHECK(contains(complaint(folder, "report", 1), "runs: no study has a report"));
  CHECK(contains(complaint(folder, "export csv", 1), "runs: there is no run store"));

  CHECK(Program(folder, "run study.toml --quiet").wait() == 0);
  CHECK(Program(folder, "run fails.toml --quiet").wait() == 0);  // whatever the verdict
  const std::string passes = output_of(folder, "verify study.toml");
  CHECK(contains(passes, "small · paper   band [−∞, 100]   pass"));
  CHECK(contains(passes, "paper 4\n"));
  Program both(folder, "verify study.toml fails.toml --json");
  CHECK(both.wait() == 1);
  CHECK(contains(both.out(), "\"verdict\": \"pass\""));
  CHECK(contains(both.out(), "\"verdict\": \"fail\""));
  const std::string list = output_of(folder, "report");
  CHECK(list.rfind("fails · paper", 0) == 0);
  CHECK(contains(list, "\nsmall · paper"));
  const std::string paper = output_of(folder, "report --compare-paper");
  const std::string page = read(folder / "runs" / "paper.html");
  for (const std::string& shown : {paper, page}) {
    CHECK(contains(shown, "ours (paper)"));
    CHECK(contains(shown, " pass"));
  }
  CHECK(contains(page, "small · paper"));
}

TEST_CASE("claims are sealed before a study's first run") {
  const StudyFile study(small_study());
  CHECK(contains(output_of(study.folder(), "register study.toml --profile paper"), "before the first trial"));
  CHECK(contains(complaint(study.folder(), "register study.toml --profile paper", 1),
                 "runs/small/paper/sealed.json: sealed already"));
  CHECK(Program(study.folder(), "run study.toml --quiet").wait() == 0);
  CHECK(contains(output_of(study.folder(), "report study.toml"), "before the first trial"));
}

TEST_CASE("what is exported does not depend on jobs or time") {
  const StudyFile study(small_study());
  const std::filesystem::path& folder = study.folder();
  CHECK(Program(folder, "run study.toml --quiet --jobs 1 --out one").wait() == 0);
  CHECK(Program(folder, "run study.toml --quiet --jobs 4 --threads 4 --out two").wait() == 0);
  for (const char* format : {"csv", "json"}) {
    const std::string one = output_of(folder, std::string("export ") + format + " --metrics-only --out one");
    const std::string first = one;
    CHECK(first == output_of(folder, std::string("export ") + format + " study.toml --metrics-only --out two"));
    CHECK(contains(first, "relative_mse"));
  }
  CHECK(output_of(folder, "export tensorboard small --to events --out one") == "8 trials in events\n");
  CHECK(output_of(folder, "export wandb small --to boards --out one") ==
        "8 trials in boards/wandb; wandb sync boards/wandb/offline-run-* uploads them\n");
  CHECK(contains(complaint(folder, "export csv other --out one", 1), "no run store of study 'other'"));
}
