#pragma once
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace headroom::experiments {

/// One request, as far as the live view looks at it.
struct HttpRequest {
  std::string method;  ///< GET, HEAD, POST, …
  std::string path;    ///< decoded, without the query
  std::map<std::string, std::string> query;
  std::string host, origin, token, content_type;  ///< of the headers Host, Origin, X-Headroom-Token and Content-Type
  std::string body;
};

/// An open file that is sent from the disk, so that one of megabytes takes no memory however many read it.
class FileToSend {
 public:
  /// Takes over `descriptor`, a regular file's, of which `size` bytes are sent.
  FileToSend(int descriptor, uint64_t size) : descriptor_(descriptor), size_(size) {}
  ~FileToSend() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  FileToSend(const FileToSend&) = delete;
  FileToSend& operator=(const FileToSend&) = delete;

  uint64_t size() const { return size_; }
  /// The descriptor, which from now on the caller closes.
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
  uint64_t size_;
};

/// What is sent back.
struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8", body;
  std::string policy;  ///< Content-Security-Policy, where it is not the server's own
  /// In place of a body, a stream of server-sent events: returns, without waiting, what is to be sent, "" for nothing.
  /// Called every 0.4 seconds, one call at a time, until the client has gone or the server stops.
  std::function<std::string()> next_event{};
  std::shared_ptr<FileToSend> file{};  ///< in place of a body
};

/// A status with a line of text.
inline HttpAnswer plain_answer(int status, const std::string& why) {
  return {status, "text/plain; charset=utf-8", why + "\n", ""};
}

/// An HTTP/1.1 server on one address (GNU libmicrohttpd, which only its source file sees). What clients may take is
/// bounded: connections, bytes and number of headers, bytes of a body, bytes of all answers together, and the time for
/// a whole request. A connection that waits holds no thread.
class HttpServer {
 public:
  using Handler = std::function<HttpAnswer(const HttpRequest&)>;

  /// Listens on `address`, an IP address or a name; port 0: any that is free. Throws Error when that cannot be done.
  /// `check` sees the headers of a request before its body is read: what it answers with another status than 200 is
  /// sent, and the body is not read. `handler` answers the others, from several threads at once. What either throws is
  /// an answer of status 500.
  HttpServer(Handler check, Handler handler, const std::string& address, int port);
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
  int port_ = 0;
  std::unique_ptr<Library> library_;
};

}  // namespace headroom::experiments
