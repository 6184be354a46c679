#include "tasks/data/locate.h"

#include "engine/error.h"
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/folder.h"

namespace headroom::tasks {

using namespace testing;
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

TEST_CASE("a model is a path, or found below models/", "[data]") {
  const TemporaryFolder given, cache;
  const DataRoots roots{given.path(), cache.path()};
  CHECK_THROWS_WITH(find_model(roots, "m.gguf"),
                    contains("m.gguf: there is no such model at m.gguf, " + (given / "models/m.gguf").string() + ", " +
                             (cache / "models/m.gguf").string() + ": expected a GGUF file"));
  CHECK_THROWS_WITH(find_model({}, "m.gguf"), contains("there is no such model at m.gguf: expected a GGUF file"));
  fs::create_directories(cache / "models");
  write_bytes(cache / "models/m.gguf", "cached");
  CHECK(find_model(roots, "m.gguf") == cache / "models/m.gguf");
  fs::create_directories(given / "models/m.gguf");
  CHECK(find_model(roots, "m.gguf") == given / "models/m.gguf");
  CHECK(find_model(roots, given.path().string()) == given.path());
}

TEST_CASE("the cache is XDG's, else the home folder's; --data goes before HEADROOM_DATA", "[data]") {
  const TemporaryFolder folder;
  const Environment home("HOME", "/home/someone");
  const Environment relative("XDG_CACHE_HOME", "relative");
  CHECK(default_cache() == "/home/someone/.cache/headroom");
  const Environment cache("XDG_CACHE_HOME", "/somewhere");
  CHECK(default_cache() == "/somewhere/headroom");
  const Environment unset("HEADROOM_DATA", "");
  CHECK(data_roots("").given.empty());
  CHECK(data_roots("").cache == "/somewhere/headroom");
  const Environment data("HEADROOM_DATA", "/nowhere");
  CHECK(data_roots(folder.path().string()).given == folder.path());
  CHECK(data_roots("").given == "/nowhere");
  CHECK_THROWS_WITH(data_roots("/no"), contains("/no: not a folder (--data)"));
}

}  // namespace headroom::tasks
