#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "tasks/data/sha256.h"

namespace headroom::experiments {

/// SHA-256 of a list of values: texts with their lengths, so that no two lists look alike; every NaN is one, and so are
/// 0 and −0, which SQLite does not tell apart.
class Digest {
 public:
  template <class... Values>
  Digest& add(const Values&... values) {
    (add_one(values), ...);
    return *this;
  }
  std::string hex() { return hash_.hex(); }

 private:
  void add_one(const std::string& text) {
    add_one(static_cast<int64_t>(text.size()));
    hash_.add(text);
  }
  void add_one(const char* text) { add_one(std::string(text)); }
  void add_one(int64_t value) { hash_.add(&value, sizeof value); }
  void add_one(double value) {
    const double one = std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value + 0.0;
    hash_.add(&one, sizeof one);
  }

  tasks::Sha256 hash_;
};

}  // namespace headroom::experiments
