// `headroom data` and `headroom tokenize` as their users meet them.
#include <sys/wait.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tasks/data/sha256.h"
#include "tests/models/small_tokenizers.h"
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/folder.h"
#include "tests/support/http_server.h"

namespace headroom::experiments {
namespace {

using namespace testing;

struct Outcome {
  int status;
  std::string out, err;
};

/// Runs the program in `folder`; the arguments are a shell's.
Outcome run(const TemporaryFolder& folder, const std::string& arguments) {
  const char* program = std::getenv("HEADROOM_PROGRAM");
  REQUIRE(program != nullptr);
  const std::string command =
      "cd '" + folder.path().string() + "' && '" + program + "' " + arguments + " >out.txt 2>err.txt";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_bytes(folder / "out.txt"), read_bytes(folder / "err.txt")};
}

}  // namespace

TEST_CASE("tokenize prints ids, of an argument, a file or standard input", "[tokenizer]") {
  const TemporaryFolder folder;
  testing::write_gpt2_files(folder.path(), {"l o", "lo w"}, {"<|endoftext|>"});
  write_bytes(folder / "text", std::string("low\0<|endoftext|>", 17));
  const auto json = [&](const std::string& arguments) {
    const Outcome outcome = run(folder, "tokenize --json " + arguments);
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    return nlohmann::json::parse(outcome.out).get<std::vector<int>>();
  };
  CHECK(json(". --text low") == std::vector<int>{257});
  CHECK(json("vocab.json --text ''").empty());
  CHECK(json(". --text-file text") == std::vector<int>{257, 0, 258});
  CHECK(json(". --text-file text --plain").size() == 15);
  CHECK(json("byte <text").size() == 17);
  CHECK(run(folder, "tokenize byte --text=--a").out == "45 45 97\n");
  CHECK_THAT(run(folder, "tokenize absent --text a").err, contains("absent: cannot read the tokenizer file"));
  CHECK(run(folder, "tokenize absent --text a").status == 1);
  CHECK(run(folder, "tokenize --text a").status == 2);
}

TEST_CASE("data sets are listed, fetched and verified", "[data]") {
  const TemporaryFolder folder, cache;
  const Environment no_proxy("no_proxy", "*"), no_data("HEADROOM_DATA", "");
  const Environment cache_home("XDG_CACHE_HOME", cache.path().c_str());
  const testing::HttpServer server(
      [](const testing::HttpRequest& request) { return testing::http_range(request, "hello"); });
  const nlohmann::json good = {
      {"path", "a.txt"}, {"url", server.url("/a")}, {"bytes", 5}, {"sha256", tasks::sha256("hello")}};
  nlohmann::json bad = good;
  bad["path"] = "b.txt", bad["sha256"] = tasks::sha256("other");
  write_bytes(folder / "manifest.json",
              nlohmann::json{{"greeting", {{"licence", "ours"}, {"files", {bad, good}}}}}.dump());
  const auto data = [&](const std::string& arguments) {
    return run(folder, "data " + arguments + " --manifest manifest.json");
  };
  CHECK_THAT(data("list").out, contains("greeting\n") && contains("licence: ours") && contains("missing"));
  CHECK(data("verify").status == 0);
  CHECK(data("verify greeting").status == 1);

  const Outcome fetched = data("fetch greeting");  // the wrong file does not keep the other away
  CHECK(fetched.status == 1);
  CHECK_THAT(fetched.err, contains(tasks::sha256("hello")) && contains(tasks::sha256("other")));
  CHECK(std::count(fetched.err.begin(), fetched.err.end(), '\n') == 1);
  CHECK(read_bytes(cache / "headroom/greeting/a.txt") == "hello");
  CHECK_THAT(data("list").out, contains((cache / "headroom/greeting/a.txt").string()));

  write_bytes(cache / "headroom/greeting/a.txt", "hellO");
  CHECK(data("verify").status == 1);
  CHECK_THAT(data("verify").out, contains("WRONG") && contains(tasks::sha256("hellO")));
  std::filesystem::remove(cache / "headroom/greeting/a.txt");
  CHECK(data("fetch greeting/a.txt").status == 0);  // one file, whatever becomes of the other
  CHECK(read_bytes(cache / "headroom/greeting/a.txt") == "hello");
  CHECK_THAT(data("fetch greeting/c.txt").err, contains("greeting/c.txt: no such data set"));
  CHECK_THAT(data("fetch other").err, contains("other: no such data set (there are: greeting)"));
  CHECK(run(folder, "data fetch").status == 2);
  CHECK(run(folder, "data").status == 2);
  write_bytes(folder / "manifest.json", "{");
  CHECK_THAT(data("list").err, contains("manifest.json: is not JSON"));
}

}  // namespace headroom::experiments
