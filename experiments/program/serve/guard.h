#pragma once
#include <string>

#include "experiments/program/serve/http_server.h"

namespace headroom::experiments {

/// Decides which requests the live view accepts.
struct Guard {
  std::string token;    ///< sent by a page with every change; part of the address that `serve` prints
  std::string address;  ///< the address listened on
  bool allows_changes = true;

  /// Refuses a request whose Host header names another machine, and returns status 200 otherwise. It must be a name of
  /// this machine's loopback interface, an IP address, or the address listened on: a foreign page whose name was
  /// pointed here (DNS rebinding) has another.
  HttpAnswer check_host(const HttpRequest& request) const;
  /// Also refuses with status 403, 405 or 415. A change needs the token, JSON, and this server as its Origin.
  HttpAnswer check(const HttpRequest& request) const;
};

/// 128 random bits in hexadecimal digits.
std::string random_token();

/// True if an address can only be reached from this machine: 127.x.y.z, ::1 or localhost.
bool is_loopback(const std::string& address);

}  // namespace headroom::experiments
