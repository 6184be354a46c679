#pragma once
#include <string>

#include "tests/support/environment.h"
#include "tests/support/folder.h"

namespace headroom::experiments::testing {

using headroom::testing::Environment;
using headroom::testing::read_bytes;
using headroom::testing::TemporaryFolder;

/// How often `part` occurs in `text`, overlaps counted.
inline int times(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace headroom::experiments::testing
