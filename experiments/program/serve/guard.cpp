#include "experiments/program/serve/guard.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <cctype>
#include <random>

namespace headroom::experiments {
namespace {

bool is_ip_address(const std::string& text) {
  in6_addr place{};  // large enough for both
  return inet_pton(AF_INET, text.c_str(), &place) == 1 || inet_pton(AF_INET6, text.c_str(), &place) == 1;
}

/// The name in a Host header, without port and brackets, in lower case; "" when it is none.
std::string name_in(const std::string& host) {
  std::string name = host;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  size_t end = name.size();
  if (name.starts_with("[")) {
    const size_t close = name.find(']');
    if (close == std::string::npos) return "";
    end = close + 1;
  } else {
    end = std::min(end, name.find(':'));
  }
  const std::string port = name.substr(end);
  const bool is_port =
      port.empty() || (port.size() > 1 && port[0] == ':' &&
                       std::all_of(port.begin() + 1, port.end(), [](unsigned char c) { return std::isdigit(c) != 0; }));
  if (!is_port) return "";
  return name.starts_with("[") ? name.substr(1, end - 2) : name.substr(0, end);
}

/// Compares two texts in a time that does not reveal where they differ.
bool is_same_secret(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

}  // namespace

bool Guard::is_for_us(const HttpRequest& request) const {
  const std::string name = name_in(request.host);
  return !name.empty() && (name == "localhost" || name == address || is_ip_address(name));
}

HttpAnswer Guard::check(const HttpRequest& request) const {
  if (!is_for_us(request)) return plain_answer(403, foreign_host);
  if (request.method == "GET" || request.method == "HEAD") return {};
  if (request.method != "POST") return plain_answer(405, "only GET, HEAD and POST are answered");
  if (!allows_changes) return plain_answer(403, "changes are off, because others can reach this address");
  if (request.origin != "http://" + request.host)
    return plain_answer(403, "a change must come from this server's own page");
  if (!is_same_secret(request.token, token))
    return plain_answer(403, "the token is not this server's: open the address that it printed");
  if (!request.content_type.starts_with("application/json")) return plain_answer(415, "a change needs JSON");
  return {};
}

std::shared_ptr<void> place_among(std::atomic<int>& taken, int most) {
  const bool is_free = taken++ < most;
  const std::shared_ptr<void> place(&taken, [&taken](void*) { --taken; });
  return is_free ? place : nullptr;
}

std::string random_token() {
  std::random_device source;
  std::string token;
  for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", source());
  return token;
}

bool is_loopback(const std::string& address) {
  in_addr place{};
  if (inet_pton(AF_INET, address.c_str(), &place) == 1) return ntohl(place.s_addr) >> 24 == 127;
  return address == "::1" || address == "localhost";
}

}  // namespace headroom::experiments
