#pragma once
#include <string>

namespace headroom::experiments {

/// A socket that listens for TCP connections.
struct ListenSocket {
  int descriptor, port;
};

/// Listens on an IP address or a name of this machine; port 0: any free one. Throws Error saying what is expected if
/// the address is empty or not this machine's, or the port is taken.
ListenSocket listen_on(const std::string& address, int port);

}  // namespace headroom::experiments
