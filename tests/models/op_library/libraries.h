#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/catch.h"

namespace headroom::testing {

/// Where the build put the libraries.
inline std::filesystem::path built_library(const std::string& name) {
  const char* const folder = std::getenv("HEADROOM_OP_LIBRARIES");
  REQUIRE(folder != nullptr);
  return std::filesystem::path(folder) / ("lib" + name + ".so");
}

}  // namespace headroom::testing
