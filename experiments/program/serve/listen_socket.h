#pragma once
#include <string>

namespace headroom::experiments {

/// A socket that listens for TCP connections.
struct ListenSocket {
  int descriptor, port;
};

/// Listens on an IP address or a name of this machine; port 0: any that is free. Throws Error saying what is expected
/// when the address is empty, is not this machine's, or the port is taken.
ListenSocket listen_on(const std::string& address, int port);

}  // namespace headroom::experiments
