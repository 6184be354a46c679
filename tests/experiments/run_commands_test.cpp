// serve, status --watch, compare, tag, note and rm as their users meet them.
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <tuple>

#include "tests/experiments/program.h"
#include "tests/experiments/program/serve/http_client.h"
#include "tests/experiments/program/serve/stored_study.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;
namespace fs = std::filesystem;

namespace {

struct Folder {
  TemporaryFolder folder;
  fs::path run = folder.path() / "runs" / "small" / "quick";
  Folder() {
    RunStore store(run / "store.sqlite");
    planned(store, "Small", {1, 2}, {1});
    store.put(stored_trial(1, 1, 0.5));
  }
  /// Exit status, standard output and standard error.
  std::tuple<int, std::string, std::string> call(const std::string& arguments, const std::string& before = "") const {
    Program program(folder.path(), arguments, before);
    const int status = program.wait();
    return {status, program.out(), program.err()};
  }
};

template <class F>
bool comes_true(const F& condition) {
  for (int i = 0; i < 400; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

}  // namespace

TEST_CASE("trials that are trained stand in columns, with numbers as wide as they get") {
  const Folder f;
  RunStore store(f.run / "store.sqlite");
  planned(store, "Small", {1, 2, 4, 8, 16}, {1, 2});
  const Owner owner = this_process();
  for (const auto& [id, label, step, loss] :
       {std::tuple{"id2-1-40", "heads=2", 7, 0.0123456}, {"id16-1-40", "heads=16", 40, 2.5}}) {
    store.acquire(id, label, owner, {}, wall_clock());
    store.renew({{id, "", owner, 0, step, 40, loss}}, wall_clock());
  }
  const std::string status = std::get<1>(f.call("status"));
  CHECK(contains(status, " 1 of 10 trials finished,  0 failed,  2 running,  7 to do"));
  CHECK(contains(status, "  heads=2    step  7/40   loss 0.01235     process "));
  CHECK(contains(status, "  heads=16   step 40/40   loss 2.5         process "));
}

TEST_CASE("a report's command gives the report again where it was asked for") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "my studies");
  std::ofstream(folder.path() / "my studies" / "it's.toml") << small_study();
  output_of(folder.path(), "run \"my studies/it's.toml\" --quiet --out 'all $HOME' --set train.steps=3");
  const fs::path report = folder.path() / "all $HOME" / "small" / "paper+train.steps=3" / "report.html";
  std::string page = read(report);
  const size_t begin = page.find("<code>headroom run ") + std::string("<code>headroom ").size();
  std::string command = page.substr(begin, page.find("</code>", begin) - begin);
  for (size_t at = command.find("&#39;"); at != std::string::npos; at = command.find("&#39;"))
    command.replace(at, 5, "'");
  fs::remove(report);
  output_of(folder.path(), command + " --quiet");
  CHECK(fs::exists(report));
}

TEST_CASE("tags and notes are added, shown, exported and removed") {
  const Folder f;
  CHECK(std::get<1>(f.call("tag small base wide")) == "small/quick: base wide\n");
  CHECK(std::get<1>(f.call("tag small/quick base --remove")) == "small/quick: wide\n");
  CHECK(contains(std::get<2>(f.call("tag small base --remove")), "small/quick has no tag 'base'"));
  CHECK(contains(std::get<1>(f.call("note small 'the first words'")), "UTC  the first words\n"));
  const std::string status = std::get<1>(f.call("status"));
  CHECK(contains(status,
                 "small · quick   1 of 2 trials finished, 0 failed, 0 running, 1 to do\n  tags: wide\n  note of "));
  CHECK(nlohmann::json::parse(std::get<1>(f.call("status --json")))["notes"][0]["text"] == "the first words");
  const auto exported = nlohmann::json::parse(std::get<1>(f.call("export json")));
  CHECK(exported[0]["tags"] == nlohmann::json{"wide"});
  CHECK(exported[0]["notes"][0] == "the first words");
  CHECK(std::get<0>(f.call("note small --remove 1")) == 0);
  CHECK(std::get<1>(f.call("note small")).empty());
}

TEST_CASE("rm asks on a terminal, expected --yes elsewhere, and says what it freed") {
  const Folder f;
  const auto [status, out, err] = f.call("rm small", "</dev/null");
  CHECK(status == 2);
  CHECK(contains(err, "there is no terminal to ask on; --yes deletes without a question"));
  CHECK(fs::exists(f.run));
  const auto [deleted, said, nothing] = f.call("rm small --yes");
  CHECK(deleted == 0);
  CHECK(contains(said, "deleted runs/small/quick (1 finished trial, "));
  CHECK_FALSE(fs::exists(f.run));
}

TEST_CASE("status --watch prints a line for every change, and ends when the run has") {
  const Folder f;
  RunStore store(f.run / "store.sqlite");
  const Owner owner = this_process();
  store.acquire("id2-1-40", "heads=2 seed=1", owner, {}, wall_clock());
  Program watch(f.folder.path(), "status --watch --every 0.1");
  CHECK(comes_true([&] { return contains(watch.out(), "1 of 2 trials finished, 0 failed, 1 running, 0 to do"); }));
  store.put(stored_trial(2, 1, 0.5), &owner);
  CHECK(watch.wait() == 0);
  CHECK(contains(watch.out(), "small · quick   2 of 2 trials finished, 0 failed, 0 running, 0 to do\n"));
  CHECK_FALSE(contains(watch.out(), "\033"));
  Program again(f.folder.path(), "status --watch");
  CHECK(again.wait() == 0);  // nothing is left to wait for
}

TEST_CASE("status --watch ends with Ctrl-C") {
  const Folder f;
  RunStore store(f.run / "store.sqlite");
  store.acquire("id2-1-40", "heads=2 seed=1", this_process(), {}, wall_clock());
  Program watch(f.folder.path(), "status --watch");
  CHECK(comes_true([&] { return !watch.out().empty(); }));
  watch.signal(SIGINT);
  CHECK(watch.wait() == 130);
  CHECK(watch.err().empty());
}

TEST_CASE("serve says where it is, answers, keeps its port to itself, and ends with Ctrl-C") {
  const Folder f;
  Program server(f.folder.path(), "serve --port 0");
  REQUIRE(comes_true([&] { return contains(server.out(), "\n"); }));
  const std::string url = server.out();
  REQUIRE(contains(url, "http://127.0.0.1:"));
  const int port = std::atoi(url.c_str() + std::string("http://127.0.0.1:").size());
  const Reply page = get(port, "/");
  CHECK(page.status == 200);
  // A token of 128 bits, another each time, which no page holds: other users of the machine can load pages, too.
  const size_t at = url.find("/#token=");
  REQUIRE(at != std::string::npos);
  const std::string token = url.substr(at + 8, 32);
  CHECK(token.size() == 32);
  CHECK_FALSE(contains(page.body, token));
  CHECK(token.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(post(port, "/api/run/small/quick/tag", token, R"({"add": "seen"})").status == 200);
  const auto [status, out, err] = f.call(fmt::format("serve --port {}", port), "</dev/null");
  CHECK(status == 1);
  CHECK(contains(err, "cannot listen there: the port is taken"));
  server.signal(SIGINT);
  CHECK(server.wait() == 0);
}

TEST_CASE("serve needs a folder, and an address of this machine's") {
  const Folder f;
  CHECK(contains(std::get<2>(f.call("serve --out nothing")), "nothing: there is no such folder"));
  CHECK(contains(std::get<2>(f.call("serve --host 203.0.113.7 --port 0")), "cannot listen there"));
}

TEST_CASE("compare prints what differs") {
  const Folder f;
  CHECK(contains(std::get<1>(f.call("compare small runs/small/quick")), "no setting differs"));
  const auto [status, out, err] = f.call("compare small large");
  CHECK(status == 1);
  CHECK(contains(err, "'large': runs has no such run; there is small/quick"));
}

TEST_CASE("report takes the one profile that has run, and asks where there are several") {
  const Folder f;
  const std::string study = "'" + source_root() + "/experiments/allocation-curve.toml'";
  CHECK(std::get<0>(f.call("run " + study + " --profile smoke --quiet")) == 0);
  CHECK(contains(std::get<1>(f.call("report " + study)), "report  runs/allocation-curve/smoke/report.html"));
  CHECK(std::get<0>(f.call("run " + study + " --profile quick --quiet")) == 0);
  const auto [status, out, err] = f.call("report " + study);
  CHECK(status == 1);
  CHECK(contains(err, "allocation-curve: paper has not run; --profile picks one that has: quick, smoke"));
}

TEST_CASE("a study that is named by its id runs quick, a file as it is written") {
  const StudyFile file(small_study() + "[profile.quick]\ntrain.steps = 3\n");
  const auto shown = [&](const std::string& command) {
    return output_of(file.folder(), command + " --dry-run --threads 1");
  };
  CHECK(contains(shown("run small"), "small · quick · "));
  CHECK(contains(shown("run small --profile paper"), "small · paper · "));
  CHECK(contains(shown("run study.toml"), "small · paper · "));
}
