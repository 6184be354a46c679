#include "experiments/run/store.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

TrialRecord finished(const std::string& id, double mse) {
  TrialRecord trial;
  trial.id = id;
  trial.validation = {{"mse", mse}, {"relative_mse", mse / 3}};
  trial.test = {{"mse", mse * 1.1}};
  trial.parameters = 12;
  trial.flops = 1e9;
  trial.seconds = 0.25;
  return trial;
}

}  // namespace

TEST_CASE("a store gives back to the bit what was put, also to the next that opens it") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a" / "b" / "store.sqlite";
  const double odd = 0.1 + 0.2;
  {
    RunStore store(path);
    CHECK_FALSE(store.find("x").has_value());
    store.put(finished("x", odd), "{}");
    TrialRecord failed = finished("y", 1);
    failed.status = TrialStatus::failed;
    failed.message = "failed at step 3: loss is not finite";
    store.put(failed, "{}");
  }
  RunStore store(path);
  const auto x = store.find("x");
  REQUIRE(x.has_value());
  CHECK(x->status == TrialStatus::finished);
  CHECK(x->validation.at("mse") == odd);
  CHECK(x->validation.at("relative_mse") == odd / 3);
  CHECK(x->test.at("mse") == odd * 1.1);
  CHECK(x->parameters == 12);
  CHECK(x->flops == 1e9);
  CHECK(x->seconds == 0.25);
  CHECK(store.find("y")->status == TrialStatus::failed);
  CHECK(store.find("y")->message == "failed at step 3: loss is not finite");
  store.put(finished("y", 2), "{}");
  CHECK(store.find("y")->status == TrialStatus::finished);
  CHECK(store.find("y")->message.empty());
}

TEST_CASE("two stores on one file see each other's trials") {
  const TemporaryFolder folder;
  RunStore a(folder.path() / "store.sqlite"), b(folder.path() / "store.sqlite");
  a.put(finished("x", 1), "{}");
  b.put(finished("y", 2), "{}");
  CHECK(a.find("y").has_value());
  CHECK(b.find("x").has_value());
}

TEST_CASE("a store that cannot be opened says which, and why") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "not a folder";
  CHECK(contains(error_of([&] { RunStore store(folder.path() / "file" / "store.sqlite"); }),
                 (folder.path() / "file").string() + ": cannot make the folder: "));
  std::ofstream(folder.path() / "store.sqlite") << std::string(4096, 'x');
  CHECK(contains(error_of([&] { RunStore store(folder.path() / "store.sqlite"); }), "file is not a database"));
}

TEST_CASE("a disk that fills up is an error, and what was kept stays") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "store.sqlite";
  std::string error;
  int kept = 0;
  {
    RunStore store(path);
    // A limit on file size stands for the full disk.
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    rlimit small = before;
    small.rlim_cur = 64 << 10;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    error = error_of([&] {
      for (; kept < 1000; ++kept) store.put(finished("trial " + std::to_string(kept), kept), std::string(2000, ' '));
    });
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  }
  CAPTURE(error);
  REQUIRE(kept > 0);
  REQUIRE(kept < 1000);
  CHECK(contains(error, path.string() + ": run store: "));
  CHECK_FALSE(contains(error, "\n"));
  const RunStore store(path);
  for (int i = 0; i < kept; ++i) CHECK(store.find("trial " + std::to_string(i)).has_value());
}
