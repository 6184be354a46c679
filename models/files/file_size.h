#pragma once
#include <cstdint>
#include <string>

namespace headroom::models {

/// The size of a file in the largest decimal unit that leaves a number of 1 or more: "812 B", "13.5 kB", "98.4 MB",
/// "1.35 GB".
std::string size_text(uint64_t bytes);

}  // namespace headroom::models
