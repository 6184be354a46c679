#pragma once
#include <cstdint>
#include <string>

namespace headroom::models {

/// A file size in the largest decimal unit that gives at least 1: "812 B", "13.5 kB", "98.4 MB", "1.35 GB".
std::string size_text(uint64_t bytes);

}  // namespace headroom::models
