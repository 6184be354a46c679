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
  Digest& add(const std::string& text) {
    add(static_cast<int64_t>(text.size()));
    hash_.add(text);
    return *this;
  }
  Digest& add(const char* text) { return add(std::string(text)); }
  Digest& add(int64_t value) {
    hash_.add(&value, sizeof value);
    return *this;
  }
  Digest& add(double value) {
    const double one = std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value + 0.0;
    hash_.add(&one, sizeof one);
    return *this;
  }
  std::string hex() { return hash_.hex(); }

 private:
  tasks::Sha256 hash_;
};

}  // namespace headroom::experiments
