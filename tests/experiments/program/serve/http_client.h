#pragma once
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace headroom::testing {

/// One connection to a server on this machine.
class Connection {
 public:
  explicit Connection(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    const timeval patience{20, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("no server answers");
  }
  ~Connection() { close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(const std::string& bytes) const {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<size_t>(count);
    }
  }
  /// What comes until `end` is part of it, or the server closes the connection; what came before, too.
  const std::string& read_until(const std::string& end) {
    char part[1 << 16];
    while (end.empty() || text_.find(end, seen_) == std::string::npos) {
      const ssize_t count = recv(socket_, part, sizeof part, 0);
      if (count <= 0) break;
      text_.append(part, static_cast<size_t>(count));
    }
    return text_;
  }
  /// Whether the server has not closed the connection.
  bool is_open() const {
    char byte = 0;
    const ssize_t count = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count > 0 || (count < 0 && errno == EAGAIN);
  }
  /// Forgets what was read, up to and with the first `end`.
  void pass(const std::string& end) {
    const size_t at = text_.find(end, seen_);
    seen_ = at == std::string::npos ? text_.size() : at + end.size();
  }
  std::string unread() const { return text_.substr(seen_); }

 private:
  int socket_;
  std::string text_;
  size_t seen_ = 0;
};

struct Reply {
  int status = 0;
  std::string head, body;
};

/// One request on a connection of its own. `headers`: whole lines, each with its "\r\n"; a Host is added unless one is
/// among them.
inline Reply request(int port, const std::string& method, const std::string& path, std::string headers = "",
                     const std::string& body = "") {
  Connection connection(port);
  if (headers.find("Host:") == std::string::npos) headers += fmt::format("Host: 127.0.0.1:{}\r\n", port);
  if (!body.empty()) headers += fmt::format("Content-Length: {}\r\n", body.size());
  connection.send(fmt::format("{} {} HTTP/1.1\r\n{}Connection: close\r\n\r\n{}", method, path, headers, body));
  const std::string text = connection.read_until("");
  const size_t end = text.find("\r\n\r\n");
  Reply reply;
  reply.head = text.substr(0, end);
  if (end != std::string::npos) reply.body = text.substr(end + 4);
  if (const size_t blank = text.find(' '); blank != std::string::npos) reply.status = std::atoi(text.c_str() + blank);
  return reply;
}

inline Reply get(int port, const std::string& path, const std::string& headers = "") {
  return request(port, "GET", path, headers);
}

/// A change, as a page of the server's own would ask for it.
inline Reply post(int port, const std::string& path, const std::string& token, const std::string& body) {
  return request(port, "POST", path,
                 fmt::format("Host: 127.0.0.1:{0}\r\nOrigin: http://127.0.0.1:{0}\r\nX-Headroom-Token: {1}\r\n"
                             "Content-Type: application/json\r\n",
                             port, token),
                 body);
}

}  // namespace headroom::testing
