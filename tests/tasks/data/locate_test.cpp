#include "tasks/data/locate.h"

#include <cstdlib>

#include "engine/error.h"
#include "tests/support/catch.h"
#include "tests/support/folder.h"

namespace headroom::tasks {

using testing::contains;
using testing::TemporaryFolder;
using testing::write_bytes;
namespace fs = std::filesystem;

TEST_CASE("data is found in the given folder, then in the cache", "[data]") {
  const TemporaryFolder given, cache;
  const DataRoots roots{given.path(), cache.path()};
  CHECK_THROWS_WITH(find_data(roots, "set/a.txt"),
                    contains("set/a.txt: not found in " + given.path().string() + "/data, " + cache.path().string()) &&
                        contains("headroom data fetch set"));
  fs::create_directories(cache / "set");
  write_bytes(cache / "set/a.txt", "cached");
  CHECK(find_data(roots, "set/a.txt") == cache / "set/a.txt");
  fs::create_directories(given / "data/set");
  write_bytes(given / "data/set/a.txt", "given");
  CHECK(find_data(roots, "set/a.txt") == given / "data/set/a.txt");
  CHECK(find_data({{}, cache.path()}, "set/a.txt") == cache / "set/a.txt");
  CHECK_THROWS_WITH(find_data({}, "set/a.txt"), contains("not found in any folder"));
}

TEST_CASE("the cache is XDG's, else the home folder's", "[data]") {
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before != nullptr ? before : "";
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  CHECK(default_cache() == "/somewhere/headroom");
  setenv("XDG_CACHE_HOME", "relative", 1);
  CHECK(default_cache() == fs::path(std::getenv("HOME")) / ".cache/headroom");
  setenv("XDG_CACHE_HOME", kept.c_str(), 1);
}

}  // namespace headroom::tasks
