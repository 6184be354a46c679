#pragma once
#include <filesystem>

#include "experiments/tools/judge/readers/json_leaves.h"

namespace headroom::experiments {

/// Reads the first document of a small YAML file: maps, lists, nulls, and every other scalar as text. Throws Error
/// "FILE:LINE: …" for broken YAML, for what is too large or too deep, and for aliases, which no program writes into the
/// files that we read and which a hostile one nests until they fill memory.
ForeignJson read_yaml(const std::filesystem::path& file);

}  // namespace headroom::experiments
