#pragma once
#include <string>

#include "experiments/program/serve/http_server.h"

namespace headroom::experiments {

/// Who may ask what of the live view.
struct Guard {
  std::string token;    ///< that a page sends with every change; the address that `serve` prints holds it
  std::string address;  ///< that it listens on
  bool allows_changes = true;

  /// Why a request is refused, as an answer of status 403, 405 or 415; status 200 when it is not. A Host header must be
  /// a name of this machine's loopback interface, an IP address, or the address listened on: a page from elsewhere
  /// whose name was made to lead here (DNS rebinding) has another. A change needs the token, JSON, and an Origin that
  /// is this server.
  HttpAnswer check(const HttpRequest& request) const;
};

/// 128 random bits in hexadecimal digits.
std::string random_token();

/// Whether an address is only reached from this machine: 127.x.y.z, ::1 or localhost.
bool is_loopback(const std::string& address);

}  // namespace headroom::experiments
