#pragma once
#include <optional>

#include "models/config.h"

namespace headroom::models {

/// The formats in which a cache holds a model's keys and values.
struct CacheTypes {
  std::optional<engine::BlockFormat> all{};  ///< for every head; none: plain numbers
  bool named = false;                        ///< formats named by a HeadGroup override `all`

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

/// The formats that the heads name, and plain numbers if they name none.
inline CacheTypes named_cache_types() { return {std::nullopt, true}; }

/// Keys or values whose width is no whole blocks.
struct PartialBlocks {
  const char* what;  ///< "keys", "values"
  int64_t dim = 0, block = 0;
};
/// Some of the model's that a cache in `format` cannot hold; none where it holds all.
std::optional<PartialBlocks> partial_blocks(const TransformerConfig& config, engine::BlockFormat format);

/// True if some head names the formats of its keys and values.
bool names_cache_types(const TransformerConfig& config);

}  // namespace headroom::models
