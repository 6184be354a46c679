// Runs of the program that share a folder as several hosts would: what they leave equals what one run leaves.
#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "engine/error.h"
#include "engine/isa.h"
#include "experiments/output/program.h"
#include "tests/experiments/no_onednn.h"
#include "tests/experiments/program.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::testing;

namespace {

namespace fs = std::filesystem;

/// Four trials, each long enough to be killed in, with many checkpoints.
std::string study() {
  return replaced(small_study(), "steps     = 6",
                  "steps = 400\neval_every = 50\njudged = \"best\"\nsave_every = 0.01\nkeep_weights = true");
}

/// Sets the wall clock of the program that follows.
std::string ahead(int seconds) {
  const char* const library = std::getenv("HEADROOM_FAULTS");
  REQUIRE(library != nullptr);
  return fmt::format("ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 HEADROOM_FAULT=clock:1:{} LD_PRELOAD='{}'",
                     seconds, library);
}

/// For up to ten minutes: a program under a sanitizer, beside other work, takes minutes.
void wait_for(const std::function<bool()>& condition) {
  for (int i = 0; i < 60000 && !condition(); ++i) usleep(10000);
  REQUIRE(condition());
}

std::vector<fs::path> files_in(const fs::path& folder, const std::string& extension = "") {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (const fs::path& file = entry->path();
        !file.filename().string().starts_with(".") && (extension.empty() || file.extension() == extension))
      files.push_back(file);
  return files;
}

void check_same_files(const fs::path& a, const fs::path& b) {
  for (const fs::path& file : files_in(a)) {
    INFO(file.string());
    CHECK(read(file) == read(b / file.filename()));
  }
  CHECK(files_in(a).size() == files_in(b).size());
}

}  // namespace

TEST_CASE("several workers on a shared folder, killed in their trials, with wrong clocks, find what one run finds") {
  const StudyFile file(study_in_rounds());
  const fs::path& folder = file.folder();
  output_of(folder, "run study.toml --quiet --out whole");
  const std::string metrics = output_of(folder, "export csv small --metrics-only --out whole");
  const std::string worker = "run study.toml --quiet --threads 1 --shared --out shared";
  CHECK(killed_runs(folder, worker, 8, [](int i) { return 60000 + 40000 * i; }) > 0);
  Program early(folder, worker, ahead(-86400), "early-"), late(folder, worker, ahead(86400), "late-"),
      right(folder, worker, "", "right-");
  for (Program* program : {&early, &late, &right}) CHECK(program->wait() == 0);
  CHECK(output_of(folder, "export csv small --metrics-only --out shared") == metrics);
  const fs::path run = folder / "shared/small/paper";
  CHECK_FALSE(fs::exists(run / "store.sqlite"));
  CHECK(files_in(run / "claims").empty());
  CHECK_FALSE(fs::exists(run / "checkpoints"));
  // The same rounds, the same plan.
  const auto counts = [&](const std::string& out) {
    const std::string line = output_of(folder, "status small --json --out " + out);
    return line.substr(line.find("\"remaining\""));
  };
  CHECK(contains(counts("shared"), "\"remaining\":0,\"round\":"));
  CHECK(counts("shared") == counts("whole"));
  // The same trials in a store of one host give the same report.
  output_of(folder, "export trials small --to trials --out shared");
  output_of(folder, "import trials --out plain");
  output_of(folder, "report study.toml --out plain");
  output_of(folder, "report study.toml --out shared");
  for (const char* name :
       {"report.html", "summary.json", "verdicts.json", "results.csv", "metrics.csv", "figure.svg"}) {
    INFO(name);
    REQUIRE(fs::exists(run / name) == fs::exists(folder / "plain/small/paper" / name));
    if (!fs::exists(run / name)) continue;
    std::string shared = read(run / name);
    // The page says which command gives it again.
    if (const size_t at = shared.find("--out shared"); at != std::string::npos) shared.replace(at, 12, "--out plain");
    CHECK(shared == read(folder / "plain/small/paper" / name));
  }
  CHECK(output_of(folder, "verify study.toml --json --out shared") ==
        output_of(folder, "verify study.toml --json --out plain"));
}

TEST_CASE("a host that died is waited for by the server's clock, and another goes on from its checkpoint") {
  const StudyFile file(study());
  const fs::path &folder = file.folder(), run = folder / "shared/small/paper";
  output_of(folder, "run study.toml --quiet --out whole");
  const std::string worker = "run study.toml --threads 1 --shared --out shared";
  {
    Program cut(folder, worker, "", "cut-");
    wait_for([&] { return !files_in(run / "checkpoints", ".safetensors").empty(); });
    cut.signal(SIGKILL);
    cut.wait();
  }
  REQUIRE(files_in(run / "claims").size() == 1);
  const fs::path claim = files_in(run / "claims")[0];
  REQUIRE(fs::exists(run / "checkpoints" / (claim.filename().string() + ".safetensors")));
  // As if that process had run on another host, where nobody here can tell that it is gone.
  std::string text = read(claim);
  const size_t machine = text.find("\"machine\":\"") + 11;
  text.insert(machine, "far-");
  std::ofstream(claim) << text;
  CHECK(contains(output_of(folder, "status small --out shared"), "  workers: 1 on far-"));
  Program heir(folder, worker, ahead(86400), "heir-");
  wait_for([&] {  // the other host lives for as long as the heir trains what is left: under a sanitizer, over a minute
    fs::last_write_time(claim, fs::file_time_type::clock::now());
    return contains(heir.out() + heir.err(), "waiting for trials that another run has");
  });
  CHECK(contains(read(claim), "\"machine\":\"far-"));
  CHECK(heir.is_running());
  fs::last_write_time(claim, fs::last_write_time(claim) - std::chrono::seconds(61));
  CHECK(heir.wait() == 0);
  CHECK(output_of(folder, "export csv small --metrics-only --out shared") ==
        output_of(folder, "export csv small --metrics-only --out whole"));
  check_same_files(folder / "whole/small/paper/weights", run / "weights");
}

TEST_CASE("half a line, a damaged line and a store of one host: the next run makes good what is missing") {
  const StudyFile file(study());
  const fs::path &folder = file.folder(), run = folder / "runs/small/paper";
  output_of(folder, "run study.toml --quiet");
  const std::string metrics = output_of(folder, "export csv small --metrics-only");
  output_of(folder, "run study.toml --quiet --shared");  // the store's trials are taken along
  CHECK(fs::exists(run / "store.sqlite.before-shards"));
  const fs::path shard = files_in(run / "shards", ".jsonl").at(0);
  CHECK(files_in(run / "shards", ".jsonl").size() == 1);
  CHECK(output_of(folder, "export csv small --metrics-only") == metrics);
  const std::string whole = read(shard);
  fs::resize_file(shard, fs::file_size(shard) - 100);
  CHECK(contains(output_of(folder, "status small"), "7 of 8 trials finished"));
  output_of(folder, "run study.toml --quiet");
  CHECK(output_of(folder, "export csv small --metrics-only") == metrics);
  std::string damaged = whole;
  damaged[damaged.size() / 2] ^= 1;
  std::ofstream(shard) << damaged;
  fs::last_write_time(shard, fs::last_write_time(shard) - std::chrono::seconds(61));
  Program doctor(folder, "doctor runs");
  CHECK(doctor.wait() == 1);
  CHECK(contains(doctor.out(), "is not what was written (wrong checksum)"));
  CHECK(contains(output_of(folder, "doctor --repair runs"), " has its sound lines, 7; "));
  output_of(folder, "run study.toml --quiet");
  CHECK(output_of(folder, "export csv small --metrics-only") == metrics);
  std::ofstream(shard) << whole;
  CHECK(contains(output_of(folder, "doctor runs"), ": 8 trials and 8 files are sound"));
}

TEST_CASE("hosts whose kernels differ are found out where they trained one trial") {
  if (headroom::engine::detected_isa() == headroom::engine::Isa::portable)
    return skip("this CPU has one level of kernels");
  const StudyFile file(study());
  const fs::path &folder = file.folder(), run = folder / "one/small/paper";
  for (const auto& [level, out] : {std::pair{"portable", "one"}, std::pair{"avx2", "two"}}) {
    output_of(folder, fmt::format("run study.toml --quiet --shared --out {}", out),
              fmt::format("HEADROOM_ISA={}", level));
  }
  const fs::path other = files_in(folder / "two/small/paper/shards", ".jsonl").at(0);
  fs::copy_file(files_in(run / "shards", ".jsonl").at(0), run / "shards" / "again-1.jsonl");
  CHECK(contains(output_of(folder, "status small --out one"), "8 of 8 trials finished"));  // the same bits
  fs::copy_file(other, run / "shards" / "other-1.jsonl");
  Program program(folder, "status small --out one");
  CHECK(program.wait() == 0);
  CHECK(contains(program.out(), "0 of 8 trials finished, 8 failed"));
  for (const char* words :
       {"has two results that differ: test ", "again-1.jsonl:", "(portable, ", "other-1.jsonl:", "(avx2, "})
    CHECK(contains(program.err(), words));
  // A third result decides, if it is one of the two: the CPU's best level may give others.
  output_of(folder, "run study.toml --quiet --out one", "HEADROOM_ISA=avx2");
  CHECK(contains(output_of(folder, "status small --out one"), "8 of 8 trials finished"));
  CHECK(contains(output_of(folder, "doctor --repair one"), "repaired: "));
  CHECK(contains(output_of(folder, "doctor one"), ": 8 trials and 8 files are sound"));
}

TEST_CASE("lines of a shard tell by which library's products they were trained") {
  if (lacks_onednn()) return;
  const StudyFile file(study());
  const std::string level = headroom::engine::kernel_level();
  for (const auto& [environment, out] : {std::pair{std::string(), "one"}, {without_onednn(), "two"}}) {
    output_of(file.folder(), fmt::format("run study.toml --quiet --shared --out {}", out), environment);
    const std::string lines = read(files_in(file.folder() / out / "small/paper/shards", ".jsonl").at(0));
    CHECK(contains(lines, environment.empty() ? R"("level":")" + level + '"' : ", own products, bits "));
  }
}

TEST_CASE("submit writes a script for workers and one for the report, and takes both to sbatch") {
  const StudyFile file(study());
  const fs::path& folder = file.folder();
  const std::string shown = output_of(
      folder, "submit study.toml --workers 3 --out 'a b' --set train.steps=7 --print -- --time=1:00 -p 'x y'");
  CHECK(contains(shown, "#SBATCH --array=1-3\n"));
  CHECK(contains(shown, "#SBATCH --time=1:00 -p 'x y'\n"));
  CHECK(contains(shown, "/a b' --set train.steps=7 --shared --yes --quiet "));
  CHECK_FALSE(fs::exists(folder / "a b"));
  for (const char* gpu : {"--gpus=1", "--gpus-per-task 1", "-G1", "--gres=gpu:a100:1", "--gres gpu:1"})
    CHECK(contains(output_of(folder, fmt::format("submit study.toml --print -- {}", gpu)), " --device cuda "));
  for (const char* cpu : {"-- --gres=disk:1 -J gpu", "--device cpu -- --gpus=1"})
    CHECK_FALSE(contains(output_of(folder, fmt::format("submit study.toml --print {}", cpu)), "cuda"));
  // A stand-in for sbatch that starts what it is given at once, as Slurm would in time.
  std::ofstream(folder / "sbatch") << "#!/bin/sh\necho \"$@\" >>calls\nfor script; do :; done\n"
                                      "bash \"$script\" >>ran 2>&1 && echo 7\n";
  fs::permissions(folder / "sbatch", fs::perms::owner_all);
  CHECK(contains(output_of(folder, "submit study.toml --workers 3", "PATH=\"$PWD:$PATH\""),
                 "small · paper: job 7 (3 workers), then job 7 (report); logs in "));
  CHECK(contains(read(folder / "calls"), "--parsable --dependency=afterany:7 "));
  CHECK(contains(read(folder / "ran"), "report  "));
  CHECK(contains(output_of(folder, "status small"), "8 of 8 trials finished"));
  // Slurm takes the workers and refuses the report, in two lines.
  std::ofstream(folder / "sbatch")
      << "#!/bin/sh\ncase $* in *report.sh) echo 'sbatch: error: QOS' >&2; echo 'full' >&2; "
         "exit 1;; esac; echo '4711;west'\n";
  CHECK(contains(complaint(folder, "submit study.toml --workers 3 --out refused", 1, "PATH=\"$PWD:/bin\""),
                 "report.sh: sbatch: error: QOS; full; the workers, job 4711, are still queued: "
                 "'scancel --clusters=west 4711' cancels them\n"));
  std::ofstream(folder / "scancel") << "#!/bin/sh\necho \"$@\" >cancelled\n";
  std::ofstream(folder / "scontrol")
      << "#!/bin/sh\nprintf 'MaxArray = x\\nMaxArraySize            = 4\\nNext = 1\\n'\n";
  for (const char* name : {"scancel", "scontrol"}) fs::permissions(folder / name, fs::perms::owner_all);
  CHECK(contains(complaint(folder, "submit study.toml --workers 3 --out refused", 1, "PATH=\"$PWD:/bin\""),
                 "QOS; full; the workers, job 4711, are cancelled\n"));
  CHECK(read(folder / "cancelled") == "--clusters=west 4711\n");
  CHECK(contains(complaint(folder, "submit study.toml --workers 4 --print", 1, "PATH=\"$PWD:/bin\""),
                 "--workers 4: this Slurm takes 3 at most (MaxArraySize 4)"));
  CHECK(contains(complaint(folder, "submit study.toml --workers 3 --out other", 1, "PATH=/nowhere"),
                 "sbatch is not on PATH"));
}

TEST_CASE("a script of submit runs nothing but the study, whatever its folder is called") {
  const StudyFile file(study());
  for (const char* name : {"d\ntouch PWNED;", "$(touch PWNED)", "`touch PWNED`", "a\rb", "\x1b[2J", "\u202Egnp", "a b",
                           "\\", "\"; touch PWNED #", "-n", "\xff"}) {
    const fs::path folder = file.folder() / name, plain = file.folder() / "plain";
    fs::create_directory(folder);
    fs::copy_file(file.path(), folder / "study.toml");
    const std::string script = output_of(
        folder, "submit study.toml --print --set 'study.title=\"\"\"a\ntouch PWNED\n\"\"\"' --out " + plain.string());
    CAPTURE(script);
    // All up to where the run would begin, then the words of that line.
    const size_t run = script.find("\n", script.find("\ncd ") + 1) + 1;
    REQUIRE(script.find("#SBATCH --job-name=headroom-small\n") < run);
    const std::string words = script.substr(run, script.find(" ${SLURM_CPUS_ON_NODE", run) - run);
    std::ofstream(folder / "script") << script.substr(0, run) << "pwd >pwd.txt; printf '%s\\0' " << words
                                     << " >words.txt\n";
    const auto result = headroom::experiments::run_program("/bin/bash", {(folder / "script").string()}, "", 60);
    CHECK(result.status == 0);
    CHECK(read(folder / "pwd.txt") == folder.string() + "\n");
    const std::string read_back = read(folder / "words.txt");
    CHECK(contains(read_back, (folder / "study.toml").string()));
    CHECK(contains(read_back, "study.title=\"\"\"a\ntouch PWNED\n\"\"\""));
    for (const fs::path& place : {folder, file.folder(), plain, fs::current_path()})
      CHECK_FALSE(fs::exists(place / "PWNED"));
  }
}
