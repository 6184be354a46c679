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
  Program report(study.folder(), "report study.toml");
  CHECK(report.wait() == 0);
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
  Program changed(folder, "run study.toml --quiet --set train.steps=5");
  CHECK(changed.wait() == 0);
  CHECK(contains(changed.out(), "\nchanged by --set train.steps=5\n"));
  CHECK(contains(changed.out(), "report  " + other + "report.html\n"));
  CHECK(contains(read(folder / (other + "summary.json")), "\"paper+train.steps=5\""));
  CHECK(contains(read(folder / "runs/index.html"), "paper%2Btrain.steps%3D5/report.html"));
  Program again(folder, "report study.toml");
  CHECK(again.wait() == 0);
  CHECK_FALSE(contains(again.out(), "changed"));
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
  Program label(folder, "report study.toml --set 'report.x.label=\"H\"'");
  CHECK(label.wait() == 0);
  CHECK(contains(label.out(), "report  runs/small/paper+report.x.label=H/report.html\n"));
}

TEST_CASE("a trial that two series share is one trial in every count") {
  const StudyFile file(replaced(small_study(), "[[claim]]",
                                "[[series]]\nname = \"a\"\n[[series]]\nname = \"b\"\n[[claim]]\nseries = \"a\""));
  Program dry(file.folder(), "run study.toml --dry-run");
  CHECK(dry.wait() == 0);
  CHECK(contains(dry.out(), "small · paper · 8 trials, "));
  Program run(file.folder(), "run study.toml --threads 1");
  CHECK(run.wait() == 0);
  CHECK(contains(run.out(), "small · paper · 8 trials · "));
  CHECK(contains(read(file.folder() / "runs/small/paper/summary.json"), "8 of 8 trials done, 0 failed"));
  Program status(file.folder(), "status");
  CHECK(status.wait() == 0);
  CHECK(contains(status.out(), "8 of 8 trials finished"));
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
  Program run(study.folder(), "run study.toml --quiet");
  CHECK(run.wait() == 0);
  CHECK(contains(run.out(),
                 "\n8 finished trials of an earlier state of this study are not in this report: its file, "
                 "or one that it names, has changed\n"));
}

TEST_CASE("a study that speaks of no paper and has no profiles has its own") {
  const StudyFile study(replaced(small_study(), "paper = \"Figure 1\"\n", ""));
  Program run(study.folder(), "run study.toml");
  CHECK(run.wait() == 0);
  CHECK(contains(run.out(), "small · own · 8 trials"));
  CHECK(contains(run.out(), "report  runs/small/own/report.html\n"));
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
  Program program(file.folder(), "run study.toml --quiet");
  CHECK(program.wait() == 0);
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
  Program again(file.folder(), "run study.toml --quiet --set train.steps=6");
  CHECK(again.wait() == 0);
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
  Program doctor(folder.path(), "doctor");
  CHECK(doctor.wait() == 0);
  for (const char* word : {"CPU level", "threads", "memory", "data", "products", "oneDNN", "CUDA"})
    CHECK(contains(doctor.out(), word));
  Program ops(folder.path(), "ops");
  CHECK(ops.wait() == 0);
  CHECK(contains(ops.out(), "attention"));
  CHECK(contains(ops.out(), "reference"));
  Program version(folder.path(), "--version");
  CHECK(version.wait() == 0);
  CHECK(version.out().rfind("headroom 0.", 0) == 0);
}

TEST_CASE("weights that a finished study lacks are trained again, and said") {
  const StudyFile study(small_study());
  const std::filesystem::path& folder = study.folder();
  const std::string command = "run study.toml --quiet --set train.keep_weights=true";
  CHECK(Program(folder, "run study.toml --quiet").wait() == 0);
  Program before(folder, "export csv --metrics-only");
  CHECK(before.wait() == 0);
  const std::string numbers = before.out();
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
  Program after(folder, "export csv --metrics-only");
  CHECK(after.wait() == 0);
  CHECK(after.out() == numbers);
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
  Program before(folder, "export csv --metrics-only");
  CHECK(before.wait() == 0);
  const std::string numbers = before.out();
  Program sound(folder, "doctor runs");
  CHECK(sound.wait() == 0);
  CHECK(sound.out() == "runs/small/paper/store.sqlite: 8 trials and 8 files are sound\n");
  Database(store, false).run("UPDATE scores SET value = value * 1.0001 WHERE trial = (SELECT min(id) FROM trials)");
  CHECK(contains(complaint(folder, "export csv", 1), "its scores, curve or predictions are not what was written"));
  CHECK(contains(complaint(folder, "report study.toml", 1), "store.sqlite: trial "));
  CHECK(contains(complaint(folder, "plan --width 8 --from-study runs/small/paper", 1), "store.sqlite: trial "));
  Program damaged(folder, "doctor runs");
  CHECK(damaged.wait() == 1);
  CHECK(contains(damaged.out(), "not what was written; it is to be run again"));
  Program repair(folder, "doctor runs/small/paper/store.sqlite --repair");
  CHECK(repair.wait() == 0);
  CHECK(contains(repair.out(), "holds its 7 sound trials"));
  CHECK(contains(repair.out(), "7 trials and 8 files are sound\n"));
  CHECK(std::filesystem::exists(store.string() + ".damaged-1"));
  CHECK(Program(folder, "run study.toml --quiet --set train.keep_weights=true").wait() == 0);
  Program after(folder, "export csv --metrics-only");
  CHECK(after.wait() == 0);
  CHECK(after.out() == numbers);
}

TEST_CASE("every study's smoke profile runs") {
  const std::filesystem::path studies = std::filesystem::path(headroom::testing::source_root()) / "experiments";
  for (const auto& entry : std::filesystem::directory_iterator(studies)) {
    if (entry.path().extension() != ".toml") continue;
    const TemporaryFolder folder;
    Program run(folder.path(), "run '" + entry.path().string() + "' --profile smoke --quiet");
    CAPTURE(entry.path());
    CHECK(run.wait() == 0);
    CHECK(run.err().empty());
  }
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
  Program passes(folder, "verify study.toml");
  CHECK(passes.wait() == 0);
  CHECK(contains(passes.out(), "small · paper   band [−∞, 100]   pass"));
  CHECK(contains(passes.out(), "paper 4\n"));
  Program both(folder, "verify study.toml fails.toml --json");
  CHECK(both.wait() == 1);
  CHECK(contains(both.out(), "\"verdict\": \"pass\""));
  CHECK(contains(both.out(), "\"verdict\": \"fail\""));
  Program list(folder, "report");
  CHECK(list.wait() == 0);
  CHECK(list.out().rfind("fails · paper", 0) == 0);
  CHECK(contains(list.out(), "\nsmall · paper"));
  Program paper(folder, "report --compare-paper");
  CHECK(paper.wait() == 0);
  const std::string page = read(folder / "runs" / "paper.html");
  for (const std::string& shown : {paper.out(), page}) {
    CHECK(contains(shown, "ours (paper)"));
    CHECK(contains(shown, " pass"));
  }
  CHECK(contains(page, "small · paper"));
}

TEST_CASE("claims are sealed before a study's first run") {
  const StudyFile study(small_study());
  Program seals(study.folder(), "register study.toml --profile paper");
  CHECK(seals.wait() == 0);
  CHECK(contains(seals.out(), "before the first trial"));
  CHECK(contains(complaint(study.folder(), "register study.toml --profile paper", 1),
                 "runs/small/paper/sealed.json: sealed already"));
  CHECK(Program(study.folder(), "run study.toml --quiet").wait() == 0);
  Program report(study.folder(), "report study.toml");
  CHECK(report.wait() == 0);
  CHECK(contains(report.out(), "before the first trial"));
}

TEST_CASE("what is exported does not depend on jobs or time") {
  const StudyFile study(small_study());
  const std::filesystem::path& folder = study.folder();
  CHECK(Program(folder, "run study.toml --quiet --jobs 1 --out one").wait() == 0);
  CHECK(Program(folder, "run study.toml --quiet --jobs 4 --threads 4 --out two").wait() == 0);
  for (const char* format : {"csv", "json"}) {
    Program one(folder, std::string("export ") + format + " --metrics-only --out one");
    CHECK(one.wait() == 0);
    const std::string first = one.out();
    Program two(folder, std::string("export ") + format + " study.toml --metrics-only --out two");
    CHECK(two.wait() == 0);
    CHECK(first == two.out());
    CHECK(contains(first, "relative_mse"));
  }
  Program events(folder, "export tensorboard small --to events --out one");
  CHECK(events.wait() == 0);
  CHECK(events.out() == "8 trials in events\n");
  Program offline(folder, "export wandb small --to boards --out one");
  CHECK(offline.wait() == 0);
  CHECK(offline.out() == "8 trials in boards/wandb; wandb sync boards/wandb/offline-run-* uploads them\n");
  CHECK(contains(complaint(folder, "export csv other --out one", 1), "no run store of study 'other'"));
}
