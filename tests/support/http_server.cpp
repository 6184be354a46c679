#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace headroom::testing {
namespace {

/// Everything up to the empty line that ends a request's head.
std::string read_head(int connection) {
  std::string head;
  char part[4096];
  while (head.find("\r\n\r\n") == std::string::npos) {
    const ssize_t got = recv(connection, part, sizeof part, 0);
    if (got <= 0) return "";
    head.append(part, static_cast<size_t>(got));
  }
  return head;
}

HttpRequest parse_head(const std::string& head) {
  HttpRequest request;
  const size_t begin = head.find(' ') + 1;
  request.path = head.substr(begin, head.find(' ', begin) - begin);
  const std::string range = "Range: bytes=";
  const size_t at = head.find(range);
  if (at != std::string::npos) request.from = std::strtoll(head.c_str() + at + range.size(), nullptr, 10);
  return request;
}

}  // namespace

HttpServer::HttpServer(std::function<std::string(const HttpRequest&)> answer) : answer_(std::move(answer)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);  // port 0: the system picks a free one
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || bind(listener_, generic, length) != 0 || listen(listener_, 8) != 0 ||
      getsockname(listener_, generic, &length) != 0)
    throw std::runtime_error("no local HTTP server can be started");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

HttpServer::~HttpServer() {
  shutdown(listener_, SHUT_RDWR);  // wakes accept()
  thread_.join();
  close(listener_);
}

std::string HttpServer::url(const std::string& path) const { return fmt::format("http://127.0.0.1:{}{}", port_, path); }

std::vector<HttpRequest> HttpServer::requests() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return requests_;
}

void HttpServer::serve() {
  while (true) {
    const int connection = accept(listener_, nullptr, nullptr);
    if (connection < 0) return;
    const std::string head = read_head(connection);
    if (!head.empty()) {
      const HttpRequest request = parse_head(head);
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        requests_.push_back(request);
      }
      const std::string response = answer_(request);
      for (size_t sent = 0; sent < response.size();) {
        const ssize_t count = send(connection, response.data() + sent, response.size() - sent, MSG_NOSIGNAL);
        if (count <= 0) break;
        sent += static_cast<size_t>(count);
      }
    }
    close(connection);
  }
}

std::string http_response(const std::string& status, const std::string& body, size_t sent) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", status, body.size()) +
         body.substr(0, sent);
}

std::string http_range(const HttpRequest& request, const std::string& body) {
  const auto from = static_cast<size_t>(request.from);
  if (from == 0) return http_response("200 OK", body);
  if (from >= body.size()) return http_response("416 Range Not Satisfiable", "");
  return http_response(
      fmt::format("206 Partial Content\r\nContent-Range: bytes {}-{}/{}", from, body.size() - 1, body.size()),
      body.substr(from));
}

std::string http_redirect(const std::string& to) { return http_response("302 Found\r\nLocation: " + to, "elsewhere"); }

}  // namespace headroom::testing
