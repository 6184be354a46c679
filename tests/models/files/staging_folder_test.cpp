// What stands in for a file until it is whole.
#include "models/files/staging_folder.h"

#include <atomic>
#include <thread>
#include <vector>

#include "models/files/atomic_file.h"
#include "models/files/entries_of.h"
#include "models/files/output.h"
#include "models/files/temporary_name.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::error_of;

}  // namespace

TEST_CASE("a staged file or folder takes its name whole, or leaves nothing", "[files]") {
  const testing::TemporaryFolder folder;
  const fs::path target = folder / "out";
  { const StagingFolder left(target); }
  CHECK(fs::is_empty(folder.path()));
  // What a killed process left: a folder of that form without a lock.
  const fs::path killed = temporary_name(target, 0);
  fs::create_directory(killed);
  testing::write_bytes(killed / "half", "x");
  {
    StagingFolder staging(target);
    CHECK_FALSE(fs::exists(killed / "half"));
    const StagingFolder beside(target);  // another that is at work
    CHECK(fs::exists(staging.path()));
    testing::write_bytes(staging.path() / "made", "one");
    staging.publish("made", Replace::never);
  }
  CHECK(testing::read_bytes(target) == "one");
  {
    StagingFolder staging(target);
    testing::write_bytes(staging.path() / "made", "two");
    CHECK_THAT(error_of([&] { staging.publish("made", Replace::never); }),
               contains("out: exists: another command made it meanwhile"));
    CHECK(testing::read_bytes(target) == "one");
    staging.publish("made", Replace::allowed);
  }
  CHECK(testing::read_bytes(target) == "two");
  size_t entries = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) entries += entry.exists() ? 1 : 0;
  CHECK(entries == 1);
  CHECK_THAT(error_of([&] { StagingFolder(folder / "absent/out"); }), contains("absent/out: cannot be written"));
  CHECK_THAT(error_of([] { StagingFolder("/"); }), contains("is no name of a file or folder"));
}

TEST_CASE("of several that take one name at once one gets it", "[files]") {
  const testing::TemporaryFolder folder;
  const fs::path target = folder / "out";
  enum class Over { file, full_folder, empty_folder };
  for (int round = 0; round < 20; ++round)
    for (const Over kind : {Over::file, Over::full_folder, Over::empty_folder}) {
      fs::remove_all(target);
      if (kind == Over::empty_folder) fs::create_directory(target);
      std::atomic<int> ready{0}, winners{0};
      std::vector<std::thread> threads;
      for (int i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
          const fs::path name = folder / std::to_string(i);
          fs::remove_all(name);
          if (kind == Over::file) {
            testing::write_bytes(name, "x");
          } else {
            fs::create_directory(name);
            testing::write_bytes(name / "made", "x");
          }
          for (++ready; ready < 4;) continue;
          winners += rename_new(name, target) == 0 ? 1 : 0;
        });
      for (std::thread& thread : threads) thread.join();
      CHECK(winners == 1);
    }
}

TEST_CASE("a name that was found free is not taken from another, and may be written again by who took it", "[files]") {
  const testing::TemporaryFolder folder;
  const fs::path target = folder / "out";
  check_new(target, false);
  testing::write_bytes(target, "another's");
  CHECK_THAT(error_of([&] { write_file(target, "x"); }), contains("out: exists: another command made it meanwhile"));
  CHECK(testing::read_bytes(target) == "another's");
  fs::remove(target);
  write_file(target, "one");
  write_file(target, "two");
  CHECK(testing::read_bytes(target) == "two");
  check_new(target, true);
  write_file(target, "three");
  CHECK(testing::read_bytes(target) == "three");
}

TEST_CASE("visible folders are those that nothing is writing or deleting", "[files]") {
  const testing::TemporaryFolder folder;
  for (const char* name : {"b", "a", ".removed-1-quick", ".out.1-0.tmp"}) fs::create_directory(folder / name);
  testing::write_bytes(folder / "file", "x");
  CHECK(visible_folders(folder.path()) == std::vector<fs::path>{folder / "a", folder / "b"});
  CHECK(visible_folders(folder / "none").empty());
}

}  // namespace headroom::models
