#pragma once
#include <cstdlib>
#include <string_view>

namespace headroom::engine {

/// True if the environment variable is "off": a way to compare a faster path with the one without it.
inline bool is_off(const char* variable) {
  const char* const said = std::getenv(variable);
  return said && std::string_view(said) == "off";
}

}  // namespace headroom::engine
