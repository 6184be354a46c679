// The live view at its limits: too many pages, curves and bodies, shared runs, runs that go while they are watched.
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <vector>

#include "experiments/program/serve/answer_bodies.h"
#include "experiments/program/serve/connections.h"
#include "experiments/program/serve/job_threads.h"
#include "experiments/program/serve/run_files.h"
#include "experiments/studies/run/store/shared_folder.h"
#include "tests/experiments/program/serve/served.h"
#include "tests/experiments/shared_run.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;
namespace fs = std::filesystem;

TEST_CASE("bodies that are sent are held once, and within their limit") {
  AnswerBodies bodies(150 << 10);
  const std::string a(100 << 10, 'a'), b(60 << 10, 'b');
  AnswerBodies::Body first = bodies.hold(a);
  CHECK(bodies.hold(a) == first);
  CHECK(bodies.hold(b) == nullptr);
  CHECK(*bodies.hold("small") == "small");
  first.reset();
  CHECK(*bodies.hold(b) == b);
  CHECK(bodies.hold(std::string(200 << 10, 'c')) != nullptr);  // alone, a body of any size
  const auto hold = [&] {
    for (int i = 0; i < 3000; ++i)
      if (const AnswerBodies::Body held = bodies.hold(b); held && *held != b) return false;
    return true;
  };
  std::atomic<bool> is_right = true;
  {
    JobThreads threads(4);
    for (int i = 0; i < 4; ++i) threads.add([] {}, [&] { is_right = hold() && is_right; });
  }
  CHECK(is_right);
  CHECK(bodies.hold(std::string(200 << 10, 'c')) != nullptr);  // nothing counts any more
}

TEST_CASE("threads that the system does not give end nothing, and jobs after the end are not taken") {
  pthread_attr_t usual, huge;
  REQUIRE(pthread_getattr_default_np(&usual) == 0);
  huge = usual;
  REQUIRE(pthread_attr_setstacksize(&huge, size_t{90} << 40) == 0);
  pthread_setattr_default_np(&huge);
  CHECK_THROWS_AS(JobThreads(4), std::system_error);
  pthread_setattr_default_np(&usual);
  JobThreads jobs(1);
  jobs.finish();
  CHECK_FALSE(jobs.add([] {}, [] {}));
}

TEST_CASE("handlers that throw, streams that fail, bodies too many and a server that ends harm no other") {
  std::atomic<int> waits = 0, goes_on = 0;
  HttpServer server(
      [](const HttpRequest& request) {
        if (request.path == "/check") throw std::bad_alloc();
        return HttpAnswer();
      },
      [&](const HttpRequest& request) {
        HttpAnswer answer;
        if (request.path == "/fails") answer.next_event = []() -> std::string { throw std::bad_alloc(); };
        if (request.path == "/parts") answer.next_event = [] { return "data: " + std::string(100000, 'x') + "\n\n"; };
        if (request.path == "/quiet") answer.next_event = [] { return std::string(); };
        if (request.path.starts_with("/large")) answer.body = std::string(40 << 20, request.path.back());
        if (request.path == "/waits")
          for (++waits; goes_on == 0;) std::this_thread::yield();
        return answer;
      },
      "127.0.0.1", 0);
  const int port = server.port();
  std::thread thread([&] { server.run(); });
  CHECK(get(port, "/check").status == 0);
  CHECK(get(port, "/fails").status == 200);
  std::vector<std::unique_ptr<Connection>> all;
  const auto ask = [&](const std::string& path) -> Connection& {
    all.push_back(std::make_unique<Connection>(port));
    all.back()->send(fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path));
    return *all.back();
  };
  for (const char* path : {"/quiet", "/large1"}) CHECK(contains(ask(path).read_until("\r\n\r\n"), "200 OK"));
  CHECK(get(port, "/large2").status == 503);
  Connection& parts = ask("/parts");
  CHECK(parts.read_until("\n\n").size() > 100000);
  Connection& late = ask("/");
  CHECK(contains(late.read_until("\r\n\r\n"), "200 OK"));
  late.pass("\r\n\r\n");
  for (int i = 0; i < 6; ++i) ask("/waits");  // two more than threads
  while (waits < 4) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  server.stop();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  late.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");  // while others are still answered
  late.read_until("");
  CHECK(late.unread().empty());
  goes_on = 1;
  thread.join();
  CHECK(waits == 4);  // requests that waited for a thread are dropped
}

TEST_CASE("a server that finds no descriptors says so, and leaves none open") {
  rlimit usual{};
  getrlimit(RLIMIT_NOFILE, &usual);
  const auto open_files = [] { return std::distance(fs::directory_iterator("/proc/self/fd"), {}); };
  const auto before = open_files();
  const int unused = dup(STDIN_FILENO);
  close(unused);
  int refused = 0;
  for (rlim_t more = 1; more < 8; ++more) {
    const rlimit few{static_cast<rlim_t>(unused) + more, usual.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    try {
      const HttpServer server({}, {}, "127.0.0.1", 0);
    } catch (const headroom::Error& error) {
      refused += contains(error.what(), "the server cannot start") ? 1 : 0;
    }
    setrlimit(RLIMIT_NOFILE, &usual);
  }
  CHECK(refused > 0);
  CHECK(open_files() == before);
}

TEST_CASE("late connections are cut: requests before answers, streams never, and sooner in a crowd") {
  using std::chrono::seconds;
  using Phase = Connections::Phase;
  struct Pair {
    std::array<int, 2> ends{};
    Pair() { REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0); }
    ~Pair() { close(ends[0]), close(ends[1]); }
    bool is_cut() const {
      char byte = 0;
      return recv(ends[1], &byte, 1, MSG_DONTWAIT) == 0;
    }
  };
  const std::array<Pair, 3> pairs;
  const auto& [asks, reads, watches] = pairs;
  for (const size_t most : {size_t{8}, size_t{2}}) {
    const bool is_crowded = most == 2;
    Connections connections(most, std::chrono::seconds(600));
    for (const Pair& pair : pairs) connections.opened(pair.ends[0]);
    connections.enters(reads.ends[0], Phase::answer);
    connections.enters(-1, Phase::answer);  // of one that has gone
    connections.enters(watches.ends[0], Phase::stream);
    const auto now = Connections::Clock::now();
    connections.cut_late(now + seconds(is_crowded ? 0 : 9));
    CHECK_FALSE(asks.is_cut());
    if (!is_crowded) continue;
    connections.cut_late(now + seconds(5));
    CHECK(asks.is_cut());
    CHECK_FALSE(reads.is_cut());
    connections.cut_late(now + seconds(3600));
    CHECK(reads.is_cut());
    CHECK_FALSE(watches.is_cut());
  }
}

TEST_CASE("curves of trials that train, that have ended, and that have nothing to show") {
  Runs runs;
  std::vector<PlanEntry> plan;
  for (const int64_t seed : {1, 2, 3, 4, 5}) plan.push_back(stored_place(1, seed));
  for (PlanEntry& entry : plan) entry.series = entry.seed == 5 ? "sgd" : "adam";
  plan[3].x = NAN;
  runs.store.set_plan({{"id", "small"}, {"title", "t"}, {"profile", "quick"}, {"config", "[study]\nid = \"small\"\n"}},
                      plan);
  TrialRecord ended = stored_trial(1, 1, 0.5);
  ended.history.clear();
  for (int64_t step = 1; step <= 1000; ++step) ended.history.push_back({step, "train", "loss", 1.0 / double(step)});
  runs.store.put(ended);
  TrialRecord failed = stored_trial(1, 5, 0.5);
  failed.status = TrialStatus::failed;
  runs.store.put(failed);
  const Owner owner = this_process();
  const double now = wall_clock();
  for (const int seed : {2, 3, 4}) runs.store.acquire(stored_place(1, seed).id, "", owner, {}, now - 30);
  for (int step = 1; step <= 3; ++step) {
    runs.store.renew({{"id1-2-40", "", owner, 0, step, 40, 8.0 / step}}, now - 30 + step);
    runs.store.renew({{"id1-3-40", "", owner, 0, step, 40, NAN}}, now - 30 + step);
  }
  const Served served(runs.out);
  const std::string path = "/api/run/small/quick/curves?trials=id1-1-40,id1-2-40,id1-3-40,id1-4-40";
  const Json curves = json_of(get(served.port(), path));
  REQUIRE(curves["lines"].size() == 2);  // of one series, which stands above them
  CHECK(curves["lines"][0]["name"] == "heads=1 seed=1: 0.001000");
  CHECK(curves["lines"][1]["name"] == "heads=1 seed=2: 2.667");
  const std::string wide = curves["wide"];
  CHECK(contains(wide, "train loss, adam"));
  CHECK(contains(wide, "step 1000: 0.001000</title>"));
  CHECK_FALSE(contains(wide, "seed=1, step 2: "));  // a mark in hundreds has a text
  CHECK(json_of(get(served.port(), path + "&track=validation+mse"))["tracks"] == Json{"train loss"});
  const Json both = json_of(get(served.port(), "/api/run/small/quick/curves?trials=id1-1-40,id1-5-40"))["lines"];
  CHECK(both[0]["name"] == "adam, heads=1 seed=1: 0.001000");
  CHECK(both[1]["name"] == "sgd, heads=1 seed=5: 1.000");
  const Json run = json_of(get(served.port(), "/api/run/small/quick"));
  CHECK(run["metric"] == "");  // the study reports none
  CHECK(run["trials"][0]["value"].is_null());
  CHECK(run["trials"][1]["silent"] == true);
  CHECK(run["trials"][3]["x"].is_null());
}

TEST_CASE("a trial that is trained again shows its new value, or none where it recorded none") {
  Runs runs;
  runs.store.put(stored_trial(1, 1, 0.5));
  TrialRecord other = stored_trial(1, 2, 0.5);
  other.test.erase("mse");
  runs.store.put(other);
  std::vector<std::unique_ptr<RunStore>> without;
  for (const char* report : {"", "report = {}", "report = { y = {} }", "report = { y = { metric = 3 } }"}) {
    const std::string name = fmt::format("none{}", without.size());
    without.push_back(std::make_unique<RunStore>(runs.out / name / "quick" / "store.sqlite"));
    without.back()->set_plan({{"id", name}, {"title", "t"}, {"profile", "quick"}, {"config", report}}, {});
  }
  const Served served(runs.out);
  for (size_t i = 0; i < without.size(); ++i)
    CHECK(json_of(get(served.port(), fmt::format("/api/run/none{}/quick", i)))["metric"] == "");
  const Json run = json_of(get(served.port(), "/api/run/small/quick"));
  CHECK(run["trials"][0]["value"] == 0.5);
  CHECK(run["trials"][1]["value"].is_null());
  runs.store.put(stored_trial(1, 1, 0.25));
  CHECK(
      comes(served.port(), "/api/run/small/quick", [](const Json& now) { return now["trials"][0]["value"] == 0.25; }));
}

TEST_CASE("a live curve ends where its trial's lease is, and begins there before its first point") {
  Runs runs;
  const Owner owner = this_process();
  const double now = wall_clock();
  for (const int seed : {1, 2}) runs.store.acquire(stored_place(1, seed).id, "", owner, {}, now);
  for (const int step : {10, 13}) runs.store.renew({{"id1-1-40", "", owner, 0, step, 4000, 8.0 / step}}, now);
  runs.store.renew({{"id1-2-40", "", owner, 0, 7, 0, 3.0}}, now);
  const Served served(runs.out);
  const Json lines = json_of(get(served.port(), "/api/run/small/quick/curves?trials=id1-1-40,id1-2-40"))["lines"];
  REQUIRE(lines.size() == 2);
  CHECK(lines[0]["name"] == "heads=1 seed=1: 0.6154");
  CHECK(lines[1]["name"] == "heads=1 seed=2: 3.000");
}

TEST_CASE("only layers with a name and with marks are named beside a figure") {
  Plot plot;
  plot.x = plot.y = fit_axis(Scale::linear, {1, 2});
  for (const char* legend : {"a", "", "b"}) plot.layers.push_back({.legend = legend, .marks = {{1, 2}}});
  plot.layers.back().marks.clear();
  const auto lines = figure_json(plot, "")["lines"];
  REQUIRE(lines.size() == 1);
  CHECK(lines[0]["name"] == "a");
}

TEST_CASE("curves of more trials than are drawn at once, and than are kept") {
  const TemporaryFolder folder;
  RunStore store(folder.path() / "runs" / "small" / "quick" / "store.sqlite");
  std::vector<int64_t> seeds(1200);
  for (size_t i = 0; i < seeds.size(); ++i) seeds[i] = static_cast<int64_t>(i);
  planned(store, "many", {1}, seeds);
  store.take_over({}, [&](const RunStore::TakeTrial& take) {
    for (const int64_t seed : seeds) {
      TrialRecord trial = stored_trial(1, seed, 0.5);
      trial.attempts = 1;
      take(trial);
    }
  });
  const Served served(folder.path() / "runs");
  const auto curves = [&](size_t from, size_t count) {
    std::string path = "/api/run/small/quick/curves?trials=";
    for (size_t i = from; i < from + count; ++i) path += fmt::format("id1-{}-40,", i);
    return json_of(get(served.port(), path))["lines"];
  };
  const Json first = curves(0, 200);
  CHECK(first.size() == 200);
  CHECK(curves(0, 201) == first);
  for (size_t from = 200; from < 1200; from += 200) CHECK(curves(from, 200).size() == 200);
  CHECK(curves(0, 200) == first);
}

TEST_CASE("a file is served from its folder alone, which lies under that of all runs") {
  Runs runs;
  write_bytes(runs.run / "a.html", "words");
  fs::create_directory(runs.run / "inner");
  write_bytes(runs.run / "inner" / "a.html", "words");
  CHECK(served_file(runs.out, runs.run, "a.html").file);
  for (const char* name : {"", "inner/a.html", ".a.html", "none.html"})
    CHECK_FALSE(served_file(runs.out, runs.run, name).file);
  CHECK_FALSE(served_file(runs.out, runs.run, std::string("a\0.html", 7)).file);
  CHECK_FALSE(served_file(runs.out, runs.out / "none", "a.html").file);
  CHECK_FALSE(served_file(runs.out / "none", runs.run, "a.html").file);
  CHECK_FALSE(served_file(runs.run / "inner", runs.run, "a.html").file);
}

TEST_CASE("a shared run is shown as its shards grow, and says which lines it cannot read") {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "runs", run = out / "small" / "quick";
  share_run(run);
  RunStore store(run / "store.sqlite");
  PlanEntry place;
  place.id = id("a");
  store.set_plan({{"id", "small"}, {"title", "t"}, {"profile", "quick"}, {"config", stored_config}}, {place});
  const Served served(out);
  const auto shown = [&] { return json_of(get(served.port(), "/api/run/small/quick")); };
  CHECK(shown()["finished"] == 0);
  store.put(ended("a", 0.5));
  const auto becomes = [&](const auto& fits) { return comes(served.port(), "/api/run/small/quick", fits); };
  CHECK(becomes([](const Json& now) { return now["finished"] == 1 && now["trials"][0]["value"] == 0.55; }));
  for (const auto& [text, more] : {std::pair{"not a line\n", false}, std::pair{"not a line\nnor this\n", true}}) {
    write_bytes(run / "shards" / "x-1.jsonl", text);
    CHECK(becomes([more = more](const Json& now) {
      const std::string problem = now["problem"];
      return contains(problem, "x-1.jsonl") && contains(problem, "; and 1 more") == more;
    }));
  }
  for (const auto& file : fs::directory_iterator(run / "shards"))
    if (file.path().extension() == ".jsonl") fs::remove(file.path());
  CHECK(becomes([](const Json& now) { return now["finished"] == 0; }));
}

TEST_CASE("a page that watches a run hears that it is gone") {
  Runs runs;
  const Served served(runs.out);
  Connection page(served.port());
  open_stream(page, served.port(), "?run=small/quick");
  CHECK(next_event(page)["trials"].size() == 4);
  fs::remove_all(runs.out);
  for (int i = 0; i < 2; ++i)
    CHECK(next_event(page)["problem"] == "this run is not there any more");  // as load changes
}

TEST_CASE("pages beyond the limit are told so, and those that close make room") {
  Runs runs;
  const Served served(runs.out);
  std::vector<std::unique_ptr<Connection>> pages;
  for (int i = 0; i < 32; ++i) {
    pages.push_back(std::make_unique<Connection>(served.port()));
    open_stream(*pages.back(), served.port());
    CHECK(contains(pages.back()->read_until("\r\n\r\n"), "text/event-stream"));
  }
  CHECK(get(served.port(), "/api/events").status == 503);
  pages.clear();
  std::string head;
  for (int i = 0; i < 400 && !contains(head, "text/event-stream"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    Connection page(served.port());
    open_stream(page, served.port());
    head = page.read_until("\r\n\r\n");
  }
  CHECK(contains(head, "text/event-stream"));
}
