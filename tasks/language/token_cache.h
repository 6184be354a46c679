#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headroom::tasks {

using TokenSpan = std::span<const int32_t>;

/// Token ids that live in memory or in a mapped file, for as long as this does.
class Tokens {
 public:
  Tokens() = default;
  explicit Tokens(std::vector<int32_t> ids);
  TokenSpan span() const { return span_; }
  bool is_mapped() const { return is_mapped_; }

 private:
  friend class TokenCache;
  std::shared_ptr<const void> owner_;
  TokenSpan span_;
  bool is_mapped_ = false;
};

/// Files of token ids in one folder, each named by a hash of what it was made from. A file is written under a temporary
/// name and renamed, and carries the SHA-256 of its ids: a damaged one is made again. The cache only saves time:
/// without a folder, or with one that cannot be written, ids stay in memory.
class TokenCache {
 public:
  /// An empty folder: no files.
  explicit TokenCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The ids that `make` gives, from the file where it has them already. `text_hash` and `encoding` (an identity) are
  /// the key.
  Tokens get(const std::string& text_hash, const std::string& encoding,
             const std::function<std::vector<int32_t>()>& make) const;
  /// Where the ids of a key are kept.
  std::filesystem::path file_of(const std::string& text_hash, const std::string& encoding) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace headroom::tasks
