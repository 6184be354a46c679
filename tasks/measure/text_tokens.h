#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "models/tokenizers/tokenizer.h"

namespace headroom::tasks {

/// The ids of a text file, which is taken as it is. No token is added. Throws Error naming the file when it cannot be
/// read, is empty or is not UTF-8.
std::vector<int32_t> tokens_of_file(const std::filesystem::path& path, const models::Tokenizer& tokenizer);

}  // namespace headroom::tasks
