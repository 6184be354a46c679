#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "experiments/program/serve/http_server.h"

namespace headroom::experiments {

/// Decides which requests the live view accepts.
struct Guard {
  std::string token;    ///< sent by a page with every change; part of the address that `serve` prints
  std::string address;  ///< the address listened on
  bool allows_changes = true;

  /// Whether a request's Host header names this machine: localhost, an IP address, or the address listened on. A
  /// foreign page whose name was pointed here (DNS rebinding) has another.
  bool is_for_us(const HttpRequest& request) const;
  /// Refuses a request with status 403, 405 or 415, and returns 200 otherwise. A change needs the token, JSON, and this
  /// server as its Origin.
  HttpAnswer check(const HttpRequest& request) const;
};

/// Why a request that is not for us is refused.
constexpr const char* foreign_host = "the Host header names another machine";

/// 128 random bits in hexadecimal digits.
std::string random_token();

/// A place among `most`, given back when its last copy is gone; null if none is free. `taken` counts those that ask.
std::shared_ptr<void> place_among(std::atomic<int>& taken, int most);

/// True if an address can only be reached from this machine: 127.x.y.z, ::1 or localhost.
bool is_loopback(const std::string& address);

}  // namespace headroom::experiments
