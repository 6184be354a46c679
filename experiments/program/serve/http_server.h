#pragma once
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace headroom::experiments {

/// The parts of a request that handlers use.
struct HttpRequest {
  std::string method;  ///< GET, HEAD, POST, …
  std::string path;    ///< decoded, without the query
  std::map<std::string, std::string> query;
  std::string host, origin, token, content_type;  ///< from the headers Host, Origin, X-Headroom-Token and Content-Type
  std::string body;
  std::function<bool()> has_left{};  ///< whether the client has closed the connection, while its handler works
};

/// An open regular file sent from disk, so that large files take no memory however many clients read them.
struct FileToSend {
  int descriptor = -1;  ///< closed with this, unless something else has taken it and left -1
  uint64_t size = 0;
  FileToSend() = default;
  ~FileToSend() {
    if (descriptor >= 0) close(descriptor);
  }
  FileToSend(const FileToSend&) = delete;
  FileToSend& operator=(const FileToSend&) = delete;
};

/// The answer to a request.
struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8", body;
  std::string policy;  ///< Content-Security-Policy, if not the server's own
  /// Instead of a body, a stream of server-sent events: returns the text to send, "" for nothing yet, none at its end,
  /// without waiting. Called at every `event_pause`, one call at a time, until the client has gone or the server stops.
  std::function<std::optional<std::string>()> next_event{};
  std::shared_ptr<FileToSend> file{};  ///< instead of a body
  std::chrono::milliseconds event_pause{400};
};

/// An answer with one line of text.
inline HttpAnswer plain_answer(int status, const std::string& why) {
  return {status, "text/plain; charset=utf-8", why + "\n", ""};
}

/// What a server takes from clients, and the form in which it refuses the rest.
struct HttpRules {
  size_t body_bytes = 64 << 10;               ///< of one request
  size_t all_body_bytes = 16 << 20;           ///< of all requests that are being read or answered
  size_t handler_threads = 4;                 ///< requests that are answered at once
  std::chrono::seconds answer_patience{600};  ///< from the end of a request to the end of its answer
  HttpAnswer (*refusal)(int status, const std::string& why) = plain_answer;
};

/// An HTTP/1.1 server on one address, built on GNU libmicrohttpd, which only its source file includes. It bounds
/// clients' use of connections, headers' bytes and number, a body's bytes, all answers' bytes together, and the time
/// for a whole request. A waiting connection holds no thread.
class HttpServer {
 public:
  using Handler = std::function<HttpAnswer(const HttpRequest&)>;

  /// Listens on `address`, an IP address or a name; port 0: any free one. Throws Error if that fails. `check` sees a
  /// request's headers before its body is read: an answer other than status 200 is sent without reading the body.
  /// `handler` answers the other requests, on several threads at once. An exception from `check` closes the connection,
  /// one from `handler` becomes status 500.
  HttpServer(Handler check, Handler handler, const std::string& address, int port, const HttpRules& rules = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  /// "http://127.0.0.1:80", "http://[::1]:80".
  const std::string& address() const { return address_; }
  /// Answers requests until stop().
  void run();
  /// Ends run() from another thread.
  void stop();

 private:
  struct Library;
  int port_ = 0;
  std::string address_;
  std::unique_ptr<Library> library_;
};

}  // namespace headroom::experiments
