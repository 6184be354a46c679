// The live view over a real socket: its routes, what it refuses, and stores that change beneath it.
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "experiments/studies/config/study.h"
#include "experiments/studies/pages/answer.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/run/runner.h"
#include "tests/experiments/program/serve/served.h"
#include "tests/experiments/studies/pages/xml.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;
namespace fs = std::filesystem;

TEST_CASE("the live view answers its routes, and nothing else") {
  Runs runs;
  runs.store.put(stored_trial(1, 1, 0.5));
  write_bytes(runs.run / "report.html", "<p>the report</p>");
  write_bytes(runs.run / "probe.html", "<p>heads</p>");
  write_bytes(runs.run / "figure.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
  write_bytes(runs.out / "paper.html", "<p>paper</p>");
  const Served served(runs.out);
  const int port = served.port();
  for (const char* page : {"/", "/run/small/quick", "/compare?a=x&b=y"}) {
    const Reply reply = get(port, page);
    CHECK(reply.status == 200);
    CHECK(contains(reply.head, "text/html"));
    CHECK(contains(reply.head, "script-src 'self'"));
    CHECK(contains(reply.head, "nosniff"));
    CHECK_FALSE(contains(reply.body, "secret"));
  }
  CHECK(contains(get(port, "/assets/live.js").head, "text/javascript"));
  CHECK(contains(get(port, "/assets/live.css").head, "text/css"));
  CHECK(get(port, "/assets/page.html").status == 404);
  const Json all = json_of(get(port, "/api/runs"));
  REQUIRE(all["runs"].size() == 1);
  CHECK(all["runs"][0]["finished"] == 1);
  CHECK(all["runs"][0]["to_do"] == 3);
  CHECK(all["runs"][0]["title"] == "<script>alert(1)</script>\"'&\xEF\xBF\xBD");
  CHECK(all["runs"][0]["pages"] == Json{"report.html", "probe.html"});
  CHECK(all["pages"][0]["file"] == "paper.html");
  CHECK(all["machine"]["cores"].get<int>() >= 1);
  const Json run = json_of(get(port, "/api/run/small/quick"));
  REQUIRE(run["trials"].size() == 4);
  CHECK(run["trials"][0]["phase"] == "finished");
  CHECK(run["trials"][0]["value"] == 0.5);
  CHECK(run["trials"][1]["phase"] == "to do");
  CHECK(run["metric"] == "mse");
  const std::string of_curves = "/api/run/small/quick/curves?trials=";
  const Json curves = json_of(get(port, of_curves + "id1-1-40,nothing"));
  CHECK(curves["tracks"].front() == "train loss");
  REQUIRE(curves["lines"].size() == 1);
  CHECK(curves["lines"][0]["name"] == "heads=1 seed=1: 1.000");
  CHECK(contains(curves["wide"].get<std::string>(), "<title>heads=1 seed=1, step 10: 2.000</title>"));
  CHECK(contains(curves["wide"].get<std::string>(), "<title>heads=1 seed=1, step 20: 1.000</title>"));
  CHECK(headroom::experiments::testing::malformed(curves["narrow"].get<std::string>()) == "");
  CHECK(json_of(get(port, of_curves + "id1-1-40,id1-2-40"))["lines"] == curves["lines"]);
  CHECK(get(port, of_curves + "id1-1-40&scale=linear").body != get(port, of_curves + "id1-1-40").body);
  for (const char* none : {"nothing", "id1-1-40&track=%3Cscript%3E", ""})
    CHECK_FALSE(json_of(get(port, of_curves + none)).contains("wide"));
  const Reply report = get(port, "/files/small/quick/report.html");
  CHECK(report.body == "<p>the report</p>");
  CHECK(contains(report.head, "Content-Security-Policy: sandbox allow-scripts"));
  CHECK(get(port, "/files/small/quick/figure.svg").status == 200);
  CHECK(get(port, "/files/paper.html").status == 200);
  CHECK(request(port, "HEAD", "/").status == 200);
  for (const char* nothing : {"/run/small",
                              "/api",
                              "/api/",
                              "/api/run/small",
                              "/api/run/small/slow",
                              "/api/nothing",
                              "/favicon.ico",
                              "/api/run/small/quick/note",
                              "/api/events?run=small",
                              "/api/events?run=nope/nope",
                              "/files/small/quick/nothing.html",
                              "/files/small/slow/report.html",
                              "/files/large/quick/report.html",
                              "/a/b/c",
                              "/%zz%4",
                              "/assets/nothing.js",
                              "/api/x/small/quick",
                              "/api/compare?a",
                              "/api/compare?a=small/quick",
                              "/api/compare?a=small/quick&b=small/slow"}) {
    INFO(nothing);
    CHECK(get(port, nothing).status == 404);
  }
  for (const char* nothing : {"/", "/api/runs"}) CHECK(post(port, nothing, "secret", "{}").status == 404);
  for (const char* method : {"PUT", "DELETE", "OPTIONS", "PATCH"}) {
    INFO(method);
    CHECK(request(port, method, "/api/run/small/quick/note").status == 405);
  }
}

TEST_CASE("a run's answer and figure are those of its report, as far as it is") {
  const StudyFile file(replaced(small_study(), "title", "title = \"<script>alert(1)</script>\" #"));
  const fs::path out = file.folder() / "runs";
  const RunOptions options{.out = out, .output = ProgressOutput::none};
  REQUIRE(run_trials(load_study(file.path()), options));
  Runs other;  // its configuration is no study
  other.store.put(stored_trial(1, 1, 0.5));
  fs::create_directories(out / "other");
  fs::copy(other.run, out / "other" / "quick", fs::copy_options::recursive);
  const Served served(out);
  const std::string text = get(served.port(), "/api/run/small/paper/figure").body;
  const Json figure = Json::parse(text);
  CHECK(figure["ended"] == 8);
  const StudyResults results = collect_results(load_study(file.path()), out);
  CHECK(figure["answer"] == answer(analyse(results)).words);
  CHECK(figure["headline"] == headline(analyse(results)));
  CHECK_FALSE(contains(text, "<script>"));
  CHECK(contains(figure["wide"].get<std::string>(), "var(--c0)"));
  CHECK(contains(figure["narrow"].get<std::string>(), "<svg "));
  CHECK(contains(get(served.port(), "/assets/figure.css").body, "--c0: #"));
  CHECK(get(served.port(), "/api/run/small/paper/figure").body == text);
  CHECK(json_of(get(served.port(), "/api/run/other/quick/figure")) == Json{{"ended", 1}});
  const fs::path begun = file.folder() / "begun";
  RunStore(begun / "small/paper/store.sqlite").set_plan(RunStore(out / "small/paper/store.sqlite").study(), {});
  write_bytes(begun / "small/paper/summary.json",
              R"({"title": "", "progress": "", "paper_claims": "1 holds", "our_claims": "", "seconds": 0})");
  const Served other_served(begun);
  CHECK(json_of(get(other_served.port(), "/api/run/small/paper/figure"))["headline"] == "");
  CHECK(json_of(get(other_served.port(), "/api/runs"))["runs"][0]["paper_claims"] == "1 holds");
  std::string all = "/api/compare?";
  for (const char name : std::string("abcdefgh")) all += fmt::format("{}=small/paper&", name);
  CHECK(contains(json_of(get(served.port(), all))["figure"]["wide"].get<std::string>(), "<svg "));
}

TEST_CASE("the live view hands out nothing from outside the runs, and no store") {
  Runs runs;
  write_bytes(runs.folder.path() / "secret.html", "secret words");
  write_bytes(runs.run / "weights.safetensors", "secret words");
  write_bytes(runs.run / ".hidden.html", "secret words");
  fs::create_symlink(runs.folder.path() / "secret.html", runs.run / "link.html");
  fs::create_symlink(runs.folder.path(), runs.run / "away");
  fs::create_directory(runs.run / "folder.html");
  write_bytes(runs.run / "plain.html", "plain words");
  fs::create_symlink("store.sqlite", runs.run / "store.html");
  fs::create_symlink("plain.html", runs.run / "within.html");
  fs::create_hard_link(runs.run / "store.sqlite", runs.run / "hard.html");
  REQUIRE(mkfifo((runs.run / "pipe.html").c_str(), 0600) == 0);
  const fs::path elsewhere = runs.folder.path() / "elsewhere";
  fs::create_directories(elsewhere / "quick");
  fs::copy_file(runs.run / "store.sqlite", elsewhere / "quick" / "store.sqlite");
  write_bytes(elsewhere / "quick" / "a.html", "secret words");
  fs::create_directory_symlink(elsewhere, runs.out / "linked");
  const Served served(runs.out);
  for (const char* path : {"/files/../secret.html",
                           "/files/..%2fsecret.html",
                           "/files/%2e%2e/secret.html",
                           "/files/small/quick/../../../secret.html",
                           "/files/small/quick/..%2f..%2f..%2fsecret.html",
                           "/files/small/quick/link.html",
                           "/files/small/quick/away/secret.html",
                           "/files/small/quick/store.sqlite",
                           "/files/small/quick/weights.safetensors",
                           "/files/small/quick/.hidden.html",
                           "/files/small/quick/folder.html",
                           "/files/small/quick/store.html",
                           "/files/small/quick/within.html",
                           "/files/small/quick/hard.html",
                           "/files/small/quick/pipe.html",
                           "/files/small/../small/quick",
                           "/files//etc/passwd",
                           "/files/%00.html",
                           "/../secret.html",
                           "/files/small/quick/report.html%00.svg",
                           "/files/small/quick/away",
                           "/files/linked/quick/a.html",
                           "//etc/passwd",
                           "/run/../..",
                           "/files/.."}) {
    INFO(path);
    const Reply reply = get(served.port(), path);
    CHECK(reply.status != 200);
    CHECK_FALSE(contains(reply.body, "secret words"));
    CHECK_FALSE(contains(reply.body, "SQLite format"));
  }
  CHECK(get(served.port(), "/files/small/quick/plain.html").body == "plain words");
  CHECK(json_of(get(served.port(), "/api/runs"))["runs"][1]["pages"] == Json{"hard.html", "plain.html"});
  // Names that lead elsewhere are no names of runs to compare, either.
  CHECK(get(served.port(), "/api/compare?a=" + runs.run.string() + "&b=" + runs.run.string()).status == 404);
}

TEST_CASE("hosts that are not this machine are refused, also with the token") {
  Runs runs;
  const Served served(runs.out);
  const int port = served.port();
  for (const char* host : {"evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example",
                           "localhost:x", "localhost:", "[::1]9", "[::1]99", "[::1", "localhost:80@evil", ""}) {
    INFO(host);
    CHECK(get(port, "/api/runs", fmt::format("Host: {}\r\n", host)).status == 403);
  }
  for (const char* host : {"localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:9000", "10.1.2.3:80"}) {
    INFO(host);
    CHECK(get(port, "/api/runs", fmt::format("Host: {}\r\n", host)).status == 200);
  }
  for (const char* own : {"localhost", "::1", "127.0.0.1", "127.9.9.9"}) CHECK(is_loopback(own));
  for (const char* open : {"0.0.0.0", "::", "128.0.0.1", "localhost.evil"}) CHECK_FALSE(is_loopback(open));
}

TEST_CASE("a change needs the token, JSON, and this server's own page") {
  Runs runs;
  const Served served(runs.out);
  const int port = served.port();
  const std::string path = "/api/run/small/quick/note", body = R"({"add": "words"})",
                    host = fmt::format("127.0.0.1:{}", port);
  const auto status = [&](const std::string& origin, const std::string& token, const std::string& type) {
    std::string headers = "Host: " + host + "\r\n";
    if (!origin.empty()) headers += "Origin: " + origin + "\r\n";
    if (!token.empty()) headers += "X-Headroom-Token: " + token + "\r\n";
    if (!type.empty()) headers += "Content-Type: " + type + "\r\n";
    return request(port, "POST", path, headers, body).status;
  };
  const std::string json = "application/json";
  CHECK(status("", "secret", json) == 403);
  CHECK(status("null", "secret", json) == 403);
  CHECK(status("http://evil.example", "secret", json) == 403);
  CHECK(status("https://" + host, "secret", json) == 403);
  CHECK(status("http://127.0.0.1:1", "secret", json) == 403);
  CHECK(status("http://" + host, "", json) == 403);
  CHECK(status("http://" + host, "secre", json) == 403);
  CHECK(status("http://" + host, "Secret", json) == 403);
  CHECK(status("http://" + host, "secret", "text/plain") == 415);
  CHECK(status("http://" + host, "secret", "application/x-www-form-urlencoded") == 415);
  CHECK(runs.store.notes().empty());
  CHECK(status("http://" + host, "secret", json) == 200);
  CHECK(runs.store.notes().size() == 1);
  const Served closed(runs.out, false);
  CHECK(post(closed.port(), path, "secret", body).status == 403);
  CHECK(contains(get(closed.port(), "/").body, "headroom-changes\" content=\"no\""));
}

TEST_CASE("notes and tags are kept as written, and bad ones are refused") {
  Runs runs;
  const Served served(runs.out);
  const auto change = [&](const std::string& what, const std::string& body) {
    return post(served.port(), "/api/run/small/quick/" + what, "secret", body).status;
  };
  const std::string text = "<img src=x onerror=alert(1)> ü";
  CHECK(change("note", Json{{"add", text}}.dump()) == 200);
  CHECK(change("tag", R"({"add": "<b>"})") == 200);
  CHECK(runs.store.notes()[0].text == text);
  CHECK(comes(served.port(), "/api/run/small/quick",
              [&](const Json& now) { return now["notes"].size() == 1 && now["notes"][0]["text"] == text; }));
  CHECK(runs.store.tags() == std::vector<std::string>{"<b>"});
  for (const char* body : {"", "{", "[]", "1", "{}", R"({"add": 1})", R"({"remove": "x"})", "null"}) {
    INFO(body);
    CHECK(change("note", *body ? body : " ") == 400);
  }
  CHECK(change("note", R"({"add": " \n"})") == 409);
  CHECK(change("note", Json{{"add", std::string(4001, 'x')}}.dump()) == 409);
  CHECK(change("note", std::string(70000, 'x')) == 413);
  CHECK(change("tag", R"({"add": "two words"})") == 409);
  CHECK(change("tag", "{}") == 400);
  CHECK(change("nothing", "{}") == 404);
  CHECK(change("note", fmt::format(R"({{"remove": {}}})", runs.store.notes()[0].id)) == 200);
  CHECK(change("tag", R"({"remove": "<b>"})") == 200);
  CHECK(runs.store.notes().empty());
  CHECK(runs.store.tags().empty());
}

TEST_CASE("a run is deleted when nobody trains it, and by its name") {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "runs", run = out / "small" / "quick";
  const Served served(out);
  CHECK(get(served.port(), "/files/a.html").status == 404);  // there is no such folder yet
  const auto remove = [&](const std::string& name) {
    return post(served.port(), "/api/run/small/quick/delete", "secret", Json{{"run", name}}.dump());
  };
  {
    RunStore store(run / "store.sqlite");
    planned(store, "title", {1}, {1});
    write_bytes(run / "report.html", "x");
    CHECK(remove("small/slow").status == 400);
    const Owner owner = this_process();
    store.acquire("id1-1-40", "heads=1", owner, {}, wall_clock());
    const Reply refused = remove("small/quick");
    CHECK(refused.status == 409);
    CHECK(contains(refused.body, "is training it; stop that one first"));
    store.release("id1-1-40", owner);
    CHECK(contains(remove("small/quick").body, "a process uses its store"));
    CHECK(fs::exists(run / "report.html"));
  }
  write_bytes(out / "index.html", "an old list");
  CHECK(remove("small/quick").status == 200);
  CHECK_FALSE(fs::exists(run));
  CHECK_FALSE(contains(read_bytes(out / "index.html"), "an old list"));
  CHECK(fs::exists(out));
  CHECK(json_of(get(served.port(), "/api/runs"))["runs"].empty());
}

TEST_CASE("a stream shows a store that grows, to two pages at once") {
  Runs runs;
  const Served served(runs.out);
  Connection a(served.port()), b(served.port()), index(served.port());
  open_stream(a, served.port(), "?run=small/quick");
  open_stream(b, served.port(), "?run=small/quick");
  open_stream(index, served.port());
  CHECK(contains(a.read_until("\r\n\r\n"), "text/event-stream"));
  for (Connection* page : {&a, &b}) {
    const Json first = next_event(*page);
    CHECK(first["trials"].size() == 4);
    CHECK(first["order"].size() == 4);
    CHECK(first["finished"] == 0);
  }
  CHECK(next_event(index)["runs"][0]["finished"] == 0);
  std::this_thread::sleep_for(std::chrono::seconds(1));  // with nothing new to send
  const Owner owner = this_process();
  runs.store.acquire("id1-1-40", "heads=1 seed=1", owner, {}, wall_clock());
  for (int step = 1; step <= 3; ++step)
    runs.store.renew({{"id1-1-40", "", owner, 0, step, 40, 8.0 / step}}, wall_clock() + step);
  const auto wait_for = [&](Connection& page, const auto& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < end)
      if (const Json event = next_event(page); event.is_null() || condition(event)) return !event.is_null();
    return false;
  };
  for (Connection* page : {&a, &b})
    CHECK(wait_for(*page, [](const Json& event) {
      const Json& live = event["live"];
      return live.contains("id1-1-40") && live["id1-1-40"] == 3 && event["running"] == 1;
    }));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  runs.store.put(stored_trial(1, 1, 0.25), &owner);
  for (Connection* page : {&a, &b})
    CHECK(wait_for(*page, [](const Json& event) {
      return event["finished"] == 1 && event["trials"].size() == 1 && event["trials"][0]["value"] == 0.25;
    }));
  CHECK(wait_for(index, [](const Json& event) { return event["runs"][0]["finished"] == 1; }));
  CHECK(runs.store.live_points().empty());
}

TEST_CASE("two hundred trials are shown whole") {
  const TemporaryFolder folder;
  RunStore store(folder.path() / "runs" / "small" / "quick" / "store.sqlite");
  std::vector<int64_t> seeds(100);
  for (size_t i = 0; i < seeds.size(); ++i) seeds[i] = static_cast<int64_t>(i);
  planned(store, "many", {1, 2}, seeds);
  for (const int64_t seed : seeds) store.put(stored_trial(1, seed, 0.5));
  const Served served(folder.path() / "runs");
  const Json run = json_of(get(served.port(), "/api/run/small/quick"));
  CHECK(run["trials"].size() == 200);
  CHECK(run["finished"] == 100);
  CHECK(run["trials"][99]["value"] == 0.5);
  for (const int64_t seed : seeds) store.put(stored_trial(2, seed, 0.25));
  CHECK(comes(served.port(), "/api/run/small/quick", [](const Json& now) {
    return now["finished"] == 200 && now["trials"][0]["value"] == 0.5 && now["trials"][199]["value"] == 0.25;
  }));
}

TEST_CASE("a store that is damaged, of another kind or gone hides no other") {
  Runs runs;
  fs::create_directories(runs.out / "broken" / "quick");
  write_bytes(runs.out / "broken" / "quick" / "store.sqlite", std::string(5000, 'x'));
  fs::create_directories(runs.out / "empty" / "quick");
  write_bytes(runs.out / "empty" / "quick" / "store.sqlite", "");
  const Served served(runs.out);
  const Json all = json_of(get(served.port(), "/api/runs"));
  REQUIRE(all["runs"].size() == 3);
  CHECK(contains(all["runs"][0]["problem"], "it is damaged"));
  CHECK(all["runs"][1]["problem"] == "");  // a store that was begun and no more: without trials
  CHECK(all["runs"][2]["problem"] == "");
  CHECK(json_of(get(served.port(), "/api/run/empty/quick/figure")) == Json{{"ended", 0}});
  CHECK(contains(json_of(get(served.port(), "/api/run/broken/quick"))["problem"], "it is damaged"));
  CHECK(get(served.port(), "/api/run/broken/quick/curves?trials=x").status == 409);
  // A damaged store may be deleted.
  CHECK(post(served.port(), "/api/run/broken/quick/delete", "secret", R"({"run": "broken/quick"})").status == 200);
  CHECK_FALSE(fs::exists(runs.out / "broken"));
  fs::remove_all(runs.out / "empty");
  CHECK(json_of(get(served.port(), "/api/runs"))["runs"].size() == 1);
}

TEST_CASE("requests that are no HTTP, too long or cut off leave the server as it was") {
  Runs runs;
  const Served served(runs.out);
  const int port = served.port();
  for (const std::string& bytes :
       {std::string("\r\n\r\n"), std::string("GET\r\n\r\n"), std::string(100, '\0'),
        "GET /" + std::string(100000, 'a') + " HTTP/1.1\r\n\r\n",
        std::string("POST /api/run/small/quick/note HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\n"),
        std::string("GET / HTTP/9.9\r\nHost: localhost\r\n\r\n")}) {
    Connection connection(port);
    connection.send(bytes);
  }
  { const Connection left(port); }
  CHECK(get(port, "/" + std::string(7000, 'a')).status == 404);
  CHECK(get(port, "/api/runs").status == 200);
}

TEST_CASE("what is beyond a limit is refused before it is read") {
  Runs runs;
  const Served served(runs.out);
  const int port = served.port();
  const std::string local = "Host: localhost\r\n", huge = "Content-Length: 99999999999\r\n";
  std::string many = local;
  for (int i = 0; i < 150; ++i) many += "A: b\r\n";
  CHECK(get(port, "/", many).status == 431);
  CHECK(get(port, "/", local + "A: " + std::string(40000, 'a') + "\r\n").status == 431);
  CHECK(get(port, "/", local + "Host: evil.example\r\n").status == 400);
  CHECK(get(port, "/", local + "Content-Length: 1\r\nContent-Length: 1\r\n").status == 400);
  CHECK(request(port, "GET", "/", local, "a body").status == 400);
  CHECK(get(port, "/", local + huge).status == 413);
  CHECK(request(port, "POST", "/", local + huge).status == 413);
  CHECK(request(port, "POST", "/", local + "Transfer-Encoding: chunked\r\n").status == 411);
  // The Host is looked at before a body is waited for.
  CHECK(request(port, "POST", "/", "Host: evil.example\r\nContent-Length: 1000\r\n").status == 403);
  write_bytes(runs.run / "report.html", std::string(1 << 20, 'x'));
  const Reply whole = get(port, "/files/small/quick/report.html", local + "Range: bytes=0-,0-,0-\r\n");
  CHECK(whole.status == 200);
  CHECK(whole.body.size() == 1 << 20);
}

TEST_CASE("a request that is dripped is cut off, though each byte is in time") {
  Runs runs;
  const Served served(runs.out);
  Connection slow(served.port());
  slow.send("GET / HTTP/1.1\r\nA: ");
  const auto start = std::chrono::steady_clock::now();
  bool is_open = true;
  while (is_open && std::chrono::steady_clock::now() - start < std::chrono::seconds(60)) {
    slow.send("a");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    is_open = slow.is_open();
  }
  CHECK_FALSE(is_open);
}

TEST_CASE("a handler that fails is an answer, and no host to listen on is an error") {
  const HttpServer::Handler pass = [](const HttpRequest&) { return HttpAnswer(); };
  HttpServer server(
      pass, [](const HttpRequest&) -> HttpAnswer { throw std::bad_alloc(); }, "localhost", 0);
  std::thread thread([&] { server.run(); });
  CHECK(get(server.port(), "/").status == 500);
  CHECK(get(server.port(), "/").status == 500);
  server.stop();
  thread.join();
  CHECK_THROWS_WITH(HttpServer(pass, pass, "", 0),
                    "the host to listen on is empty; expected an IP address or a name of this machine: 127.0.0.1, ::1, "
                    "localhost");
  CHECK_THROWS(HttpServer(pass, pass, std::string("::1\0", 4), 0));
  CHECK_THROWS_WITH(HttpServer(pass, pass, "no name", 1), contains("no name:1: cannot listen there"));
  const HttpServer first(pass, pass, "127.0.0.1", 0);
  CHECK_THROWS_WITH(HttpServer(pass, pass, "127.0.0.1", first.port()), contains("the port is taken"));
  if (const int six = socket(AF_INET6, SOCK_STREAM, 0); six >= 0) {  // a machine may have no ::1
    sockaddr_in6 place{};
    place.sin6_family = AF_INET6, place.sin6_addr = in6addr_loopback;
    if (bind(six, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0)
      CHECK(HttpServer(pass, pass, "::1", 0).port() > 0);
    close(six);
  }
}
