// The live view at its limits: too many pages, curves and bodies, shared runs, runs that go while they are watched.
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <vector>

#include "experiments/program/serve/answer_bodies.h"
#include "experiments/program/serve/connections.h"
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
    Connections connections(most);
    for (const Pair& pair : pairs) connections.opened(pair.ends[0]);
    connections.enters(reads.ends[0], Phase::answer);
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
  for (const int64_t seed : {1, 2, 3, 4}) plan.push_back(stored_place(1, seed));
  for (PlanEntry& entry : plan) entry.series = "adam";
  plan[3].x = NAN;
  runs.store.set_plan({{"id", "small"}, {"title", "t"}, {"profile", "quick"}, {"config", "[study]\nid = \"small\"\n"}},
                      plan);
  TrialRecord ended = stored_trial(1, 1, 0.5);
  ended.history.clear();
  for (int64_t step = 1; step <= 1000; ++step) ended.history.push_back({step, "train", "loss", 1.0 / double(step)});
  runs.store.put(ended);
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
  const Served served(runs.out);
  const Json run = json_of(get(served.port(), "/api/run/small/quick"));
  CHECK(run["trials"][0]["value"] == 0.5);
  CHECK(run["trials"][1]["value"].is_null());
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
  const auto comes = [&](const auto& condition) {
    for (int i = 0; i < 200; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(50)))
      if (condition(shown())) return true;
    return false;
  };
  CHECK(comes([](const Json& now) { return now["finished"] == 1 && now["trials"][0]["value"] == 0.55; }));
  write_bytes(run / "shards" / "x-1.jsonl", "not a line\nnor this\n");
  CHECK(comes([](const Json& now) { return contains(now["problem"].get<std::string>(), "x-1.jsonl"); }));
}

TEST_CASE("a page that watches a run hears that it is gone") {
  Runs runs;
  const Served served(runs.out);
  Connection page(served.port());
  open_stream(page, served.port(), "?run=small/quick");
  CHECK(next_event(page)["trials"].size() == 4);
  fs::remove_all(runs.out);
  CHECK(next_event(page)["problem"] == "this run is not there any more");
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
