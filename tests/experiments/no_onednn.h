#pragma once
#include <fmt/core.h>

#include <cstdlib>
#include <string>

#include "engine/cpu/kernel_level.h"
#include "tests/support/catch.h"

namespace headroom::testing {

/// Whether no other products can stand in for this process's; notes a skipped test then.
inline bool lacks_onednn() {
  if (engine::products().starts_with("oneDNN")) return false;
  skip("products are our own");
  return true;
}

/// The environment of a host whose oneDNN refuses to multiply.
inline std::string without_onednn() {
  const char* const library = std::getenv("HEADROOM_NO_ONEDNN");
  REQUIRE(library != nullptr);
  return fmt::format("ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 LD_PRELOAD={}", library);
}

}  // namespace headroom::testing
