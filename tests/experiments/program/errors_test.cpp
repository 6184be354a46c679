// What goes wrong, as a user meets it: an exit status and one line.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/experiments/program.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::testing;

TEST_CASE("what the user gets wrong is one line and exit status 2") {
  const TemporaryFolder folder;
  Program bare(folder.path(), "");
  CHECK(bare.wait() == 0);
  CHECK(contains(bare.out(), "run "));
  CHECK(bare.err().empty());
  CHECK(contains(complaint(folder.path(), "run", 2), "STUDY"));
  CHECK(contains(complaint(folder.path(), "runn study.toml", 2), "runn"));
  CHECK(contains(complaint(folder.path(), "run study.toml --threads 0", 2), "--threads"));
  CHECK(contains(complaint(folder.path(), "run study.toml --jobs -1", 2), "--jobs"));
  CHECK(contains(complaint(folder.path(), "run study.toml --jobs two", 2), "--jobs"));
}

TEST_CASE("what the world gets wrong is one line and exit status 1") {
  const StudyFile study(small_study());
  const std::filesystem::path& folder = study.folder();
  CHECK(contains(complaint(folder, "run missing.toml", 1), "missing.toml: cannot read the study file"));
  CHECK(contains(complaint(folder, "run study.toml --profile quick", 1), "there is no profile 'quick'; it has paper"));
  CHECK(contains(complaint(folder, "run study.toml", 1, "HEADROOM_THREADS=0"), "HEADROOM_THREADS"));
  CHECK(contains(complaint(folder, "run study.toml --out study.toml", 1),
                 "study.toml/small/paper: cannot make the folder"));
  CHECK(contains(complaint(folder, "run study.toml --out /proc/runs", 1),
                 "/proc/runs/small/paper: cannot make the folder"));
  CHECK(contains(complaint(folder, "report study.toml", 1), "there is no run store; run the study first"));
  std::ofstream(folder / "broken.toml") << "[study\n";
  CHECK(contains(complaint(folder, "run broken.toml", 1), "broken.toml:1:7: malformed TOML"));
  CHECK(contains(complaint(folder, "run study.toml --set train.lr=1", 1),
                 "train.lr: unknown key; did you mean train.optimizer.lr?"));
  Program fails(folder,
                "run study.toml --out fails --quiet --set train.optimizer.kind='\"sgd\"' --set train.steps=50 "
                "--set 'sweep.\"train.optimizer.lr\"={best_of=[1e12]}'");
  CHECK(fails.wait() == 1);
  CHECK(contains(fails.err(), "headroom: error: small · paper+train.optimizer.kind=sgd,"));
  CHECK(contains(fails.err(), ": every trial failed; the first failed at step "));
}

TEST_CASE("a folder that may not be written is named") {
  if (geteuid() == 0) return skip("root may write anywhere");
  const StudyFile study(small_study());
  std::filesystem::create_directory(study.folder() / "closed");
  std::filesystem::permissions(study.folder() / "closed", std::filesystem::perms::owner_read);
  CHECK(contains(complaint(study.folder(), "run study.toml --out closed", 1),
                 "closed/small/paper: cannot make the folder"));
}

TEST_CASE("output that is lost is an error of every command") {
  const StudyFile study(small_study());
  const std::filesystem::path& folder = study.folder();
  CHECK(Program(folder, "run study.toml --quiet").wait() == 0);
  std::filesystem::create_directory(folder / "studies");
  std::filesystem::copy(folder / "study.toml", folder / "studies/study.toml");
  for (const std::string command : {"--help",
                                    "--version",
                                    "run --help",
                                    "run study.toml --quiet",
                                    "run study.toml --json",
                                    "report",
                                    "report study.toml",
                                    "report --compare-paper",
                                    "verify study.toml",
                                    "verify study.toml --json",
                                    "export csv",
                                    "export json",
                                    "export tensorboard --to events",
                                    "export wandb --to runs_of_wandb",
                                    "status",
                                    "status --json",
                                    "list studies",
                                    "schema",
                                    "schema --json",
                                    "ops",
                                    "doctor",
                                    "data list",
                                    "data verify",
                                    "new-op lost_op",
                                    "tokenize byte --text a",
                                    "plan --width 64 --token-dim 8 --decay 1,0.5",
                                    "run study.toml --dry-run"}) {
    CAPTURE(command);
    CHECK(complaint(folder, command + " >/dev/full", 1) ==
          "headroom: error: standard output cannot be written to: No space left on device\n");
    std::filesystem::remove_all(folder / "lost_op");
    CHECK(complaint(folder, command + " >&-", 1) ==
          "headroom: error: standard output cannot be written to: Bad file descriptor\n");
    std::filesystem::remove_all(folder / "lost_op");
  }
  // Standard error has no reader left: the exit status stays.
  Program deaf(folder, "runn 2>/dev/full");
  CHECK(deaf.wait() == 2);
}

TEST_CASE("standard input that cannot be read is an error") {
  const TemporaryFolder folder;
  CHECK(contains(complaint(folder.path(), "tokenize byte", 1, "exec <&-;"),
                 "standard input cannot be read: Bad file descriptor"));
  CHECK(contains(complaint(folder.path(), "tokenize byte </", 1), "standard input cannot be read: Is a directory"));
  Program empty(folder.path(), "tokenize byte </dev/null");
  CHECK(empty.wait() == 0);
}
