#include "tasks/data/manifest.h"

#include <cstdlib>

#include "engine/error.h"
#include "tasks/data/fetch.h"
#include "tasks/data/locate.h"
#include "tests/support/catch.h"

namespace headroom::tasks {

using testing::contains;

TEST_CASE("the manifest that is built in names what the studies need", "[data]") {
  const std::vector<DataSet>& manifest = built_in_manifest();
  for (const char* name : {"tinyshakespeare", "wikitext-2", "sst-2", "instructions", "tokenizers", "models"}) {
    const DataSet set = data_set_named(manifest, name);
    CHECK_FALSE(set.files.empty());
    CHECK_FALSE(set.licence.empty());
    for (const DataFile& file : set.files) CHECK(file.path.rfind(std::string(name) + "/", 0) == 0);
  }
  const DataSet one = data_set_named(manifest, "models/gemma-3-270m-q4_k_m.gguf");
  CHECK(one.name == "models");
  CHECK(one.files.size() == 1);
  CHECK(one.files.at(0).path == "models/gemma-3-270m-q4_k_m.gguf");
  CHECK_THROWS_WITH(data_set_named(manifest, "tinyshakespear"), contains("there are:") && contains("tinyshakespeare"));
}

TEST_CASE("the manifest's hashes are those of the files at hand", "[data]") {
  if (std::getenv("HEADROOM_DATA") == nullptr) return testing::skip("no HEADROOM_DATA");
  const DataRoots roots{data_roots("").given, {}};
  for (const DataSet& set : built_in_manifest()) {
    for (const DataFile& file : set.files) {
      const FileReport report = check_file(file, roots);
      INFO(file.path << ": " << report.detail);
      CHECK((report.state == FileState::good || report.state == FileState::missing));
    }
  }
}

TEST_CASE("a manifest that is none is refused", "[data]") {
  const auto refused = [](const std::string& json, const std::string& wanted) {
    CHECK_THROWS_WITH(parse_manifest(json), contains(wanted));
  };
  const auto file = [](const std::string& members) { return R"({"set":{"files":[{)" + members + "}]}}"; };
  CHECK(parse_manifest(file(R"("path":"a/b.txt")")).at(0).files.at(0).path == "set/a/b.txt");
  refused("[]", "is an object");
  refused("{", "is not JSON");
  refused(R"({"a":{"files":[]},"a":{"files":[]}})", "key 'a' twice");
  refused(R"({"set":{}})", "set: has no list files");
  refused(R"({"../set":{"files":[]}})", "path '../set'");
  refused(R"({"set":{"files":[3]}})", "a file is 3");
  refused(file(""), "path '' is not one below");
  refused(file(R"("path":"../a")"), "path '../a'");
  refused(file(R"("path":"/a")"), "path '/a'");
  refused(file(R"("path":"a/../../b")"), "path 'a/../../b'");
  refused(file(R"("path":"a","bytes":-1)"), "set/a: bytes is -1");
  refused(file(R"("path":"a","url":3)"), "url is 3");
  refused(file(R"("path":"a","sha256":"ABC")"), "sha256 'ABC' is not 64");
  const std::string hash = R"("path":"a","sha256":")" + std::string(64, '0') + R"(",)";
  CHECK(parse_manifest(file(hash + R"("pieces":[{"url":"u","member":"m","bytes":3}])"))
            .at(0)
            .files.at(0)
            .pieces.at(0)
            .bytes == 3);
  refused(file(R"("path":"a","pieces":[])"), "expected a list, in a file with a sha256");
  refused(file(hash + R"("pieces":[3])"), "a piece is 3");
  refused(file(hash + R"("pieces":[{"sha256":"x"}])"), "sha256 'x' is not 64");
}

}  // namespace headroom::tasks
