#pragma once
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace headroom::testing {

struct HttpRequest {
  std::string path;  ///< "/input.txt"
  int64_t from = 0;  ///< of "Range: bytes=FROM-"
};

/// A server on the loopback interface that answers one request per connection, in a thread of its own.
class HttpServer {
 public:
  /// `answer` gives the bytes of the whole response; it runs in the server's thread.
  explicit HttpServer(std::function<std::string(const HttpRequest&)> answer);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// "http://127.0.0.1:PORT" and the path.
  std::string url(const std::string& path) const;
  /// The requests so far.
  std::vector<HttpRequest> requests() const;

 private:
  void serve();

  std::function<std::string(const HttpRequest&)> answer_;
  int listener_ = -1, port_ = 0;
  mutable std::mutex mutex_;
  std::vector<HttpRequest> requests_;
  std::thread thread_;
};

/// A response whose length is that of `body`, but with only `sent` bytes of it (default: all).
std::string http_response(const std::string& status, const std::string& body, size_t sent = std::string::npos);
/// The body from the byte asked for: status 200, 206 or 416.
std::string http_range(const HttpRequest& request, const std::string& body);
std::string http_redirect(const std::string& to);

}  // namespace headroom::testing
