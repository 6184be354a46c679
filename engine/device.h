#pragma once
#include <string>

namespace headroom::engine {

/// The place where a tensor's bytes live.
struct Device {
  enum class Kind : unsigned char { cpu, cuda };
  Kind kind = Kind::cpu;
  int index = 0;

  bool is_cpu() const { return kind == Kind::cpu; }
  bool operator==(const Device&) const = default;
  /// "cpu" or "cuda:0".
  std::string str() const { return is_cpu() ? "cpu" : "cuda:" + std::to_string(index); }
};

inline constexpr Device cpu{};

}  // namespace headroom::engine
