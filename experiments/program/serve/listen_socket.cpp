#include "experiments/program/serve/listen_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "engine/error.h"

namespace headroom::experiments {
namespace {

/// Inherited by connections. Pending bytes take kernel memory: a client that reads nothing would otherwise hold
/// megabytes.
constexpr int send_bytes = 128 << 10, receive_bytes = 32 << 10;

int bound_socket(const addrinfo& place) {
  const int fd = socket(place.ai_family, place.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, place.ai_protocol);
  if (fd < 0) return -1;
  const int yes = 1;
  // Not SO_REUSEPORT: two servers could then share a port unnoticed.
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
  if (place.ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
  if (bind(fd, place.ai_addr, place.ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0) return fd;
  close(fd);
  return -1;
}

int port_of(int fd) {
  sockaddr_storage place{};
  socklen_t length = sizeof place;
  getsockname(fd, reinterpret_cast<sockaddr*>(&place), &length);
  return ntohs(place.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(place).sin6_port
                                           : reinterpret_cast<const sockaddr_in&>(place).sin_port);
}

}  // namespace

ListenSocket listen_on(const std::string& address, int port) {
  // An empty address would mean every address of this machine, which others can reach.
  require(
      !address.empty() && address.find('\0') == std::string::npos,
      "the host to listen on is empty; expected an IP address or a name of this machine: 127.0.0.1, ::1, localhost");
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) found = nullptr;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> places(found, freeaddrinfo);
  int fd = -1;
  for (const addrinfo* place = found; place != nullptr && fd < 0; place = place->ai_next) fd = bound_socket(*place);
  require(fd >= 0,
          "{}:{}: cannot listen there: the port is taken, or the address is not this machine's; --port names "
          "another (0: any that is free)",
          address, port);
  return {fd, port_of(fd)};
}

}  // namespace headroom::experiments
