#pragma once
#include <optional>

#include "models/config.h"

namespace headroom::models {

/// In what formats a cache holds the keys and values of a model.
struct CacheTypes {
  std::optional<engine::BlockFormat> all{};  ///< of every head; none: the numbers as they are
  bool named = false;                        ///< those that a HeadGroup names come before `all`

  CacheTypes() = default;
  CacheTypes(std::optional<engine::BlockFormat> format, bool as_named = false) : all(format), named(as_named) {}
  CacheTypes(engine::BlockFormat format) : all(format) {}

  std::optional<engine::BlockFormat> keys(const HeadGroup& group) const {
    return named && group.key_cache ? group.key_cache : all;
  }
  std::optional<engine::BlockFormat> values(const HeadGroup& group) const {
    return named && group.value_cache ? group.value_cache : all;
  }
};

/// What the heads name, and the numbers as they are where they name nothing.
inline CacheTypes named_cache_types() { return {std::nullopt, true}; }

/// Whether some head names the formats of its keys and values.
bool names_cache_types(const TransformerConfig& config);

}  // namespace headroom::models
