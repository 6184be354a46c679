#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "models/checkpoints/model_files.h"
#include "tests/support/catch.h"

namespace headroom::testing {

/// Small models with random weights in every layout that is read: see make_checkpoints.py.
inline std::filesystem::path checkpoints() {
  return std::filesystem::path(source_root()) / "tests/models/pretrained/checkpoints";
}

inline std::unique_ptr<models::Transformer> checkpoint(const std::string& name) {
  return models::ModelFiles::open(checkpoints() / name)->load();
}

/// Ids below 37, the vocabulary of the checkpoints.
inline std::vector<int32_t> some_tokens(size_t count) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>((i * i + 3 * i + 1) % 37));
  return ids;
}

}  // namespace headroom::testing
