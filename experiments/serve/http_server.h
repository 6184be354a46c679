#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace headroom::experiments {

/// One request, as far as the live view looks at it.
struct HttpRequest {
  std::string method;  ///< GET, HEAD, POST, …
  std::string path;    ///< decoded, without the query
  std::map<std::string, std::string> query;
  std::string host, origin, token, content_type;  ///< of the headers Host, Origin, X-Headroom-Token and Content-Type
  std::string body;
};

/// What is sent back.
struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8", body;
  std::string policy;  ///< Content-Security-Policy, where it is not the server's own
  /// Of a stream of server-sent events, in place of a body: waits a moment and returns what is to be sent, "" for
  /// nothing. Called until the client has gone or the server stops.
  std::function<std::string()> next_event{};
};

/// An HTTP/1.1 server on one address (cpp-httplib, which only its source file sees). Requests are answered by `handler`
/// from several threads at once; what it throws is an answer of status 500.
class HttpServer {
 public:
  using Handler = std::function<HttpAnswer(const HttpRequest&)>;

  /// Listens on `address`, an IP address or a name; port 0: any that is free. Throws Error when that cannot be done.
  HttpServer(Handler handler, const std::string& address, int port);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  /// Answers requests until stop().
  void run();
  /// Ends run(), from another thread.
  void stop();

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  int port_ = 0;
};

}  // namespace headroom::experiments
