#pragma once
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "experiments/program/serve/live_view.h"
#include "tests/experiments/program/serve/http_client.h"
#include "tests/experiments/program/serve/stored_study.h"

namespace headroom::testing {

using Json = nlohmann::json;

inline const std::string hostile_title = "<script>alert(1)</script>\"'&\xff";

/// A server over a folder, for as long as it lives.
class Served {
 public:
  explicit Served(const std::filesystem::path& out, bool allows_changes = true)
      : view_(out, {"secret", "127.0.0.1", allows_changes}),
        server_([this](const experiments::HttpRequest& request) { return view_.check(request); },
                [this](const experiments::HttpRequest& request) { return view_.answer(request); }, "127.0.0.1", 0),
        thread_([this] { server_.run(); }) {}
  ~Served() {
    server_.stop();
    thread_.join();
  }
  int port() const { return server_.port(); }

 private:
  experiments::LiveView view_;
  experiments::HttpServer server_;
  std::thread thread_;
};

inline Json json_of(const Reply& reply) { return Json::parse(reply.body, nullptr, false); }

/// Asks again, for ten seconds, until an answer fits: a snapshot may be half a second old. False if none did.
template <class F>
bool comes(int port, const std::string& path, const F& fits) {
  for (int i = 0; i < 200; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(50)))
    if (fits(json_of(get(port, path)))) return true;
  return false;
}

/// The data of the next event of a stream.
inline Json next_event(Connection& stream) {
  stream.read_until("\n\n");
  while (stream.unread().find("data: ") == std::string::npos) {
    stream.pass("\n\n");
    const size_t before = stream.unread().size();
    stream.read_until("\n\n");
    if (stream.unread().size() == before) return Json();
  }
  const std::string text = stream.unread();
  const size_t at = text.find("data: ") + 6;
  stream.pass("\n\n");
  return Json::parse(text.substr(at, text.find('\n', at) - at), nullptr, false);
}

inline void open_stream(Connection& connection, int port, const std::string& query = "") {
  connection.send(fmt::format("GET /api/events{} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", query, port));
}

struct Runs {
  TemporaryFolder folder;
  std::filesystem::path out = folder.path() / "runs", run = out / "small" / "quick";
  experiments::RunStore store{run / "store.sqlite"};
  Runs() { planned(store, hostile_title, {1, 2}, {1, 2}); }
};

}  // namespace headroom::testing
