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

/// Token ids, owned in memory or in a mapped file.
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

/// Token-id files in one folder, each named by a hash of its inputs. A file is written under a temporary name and
/// renamed, and carries its ids' SHA-256: a damaged one is made again. The cache only saves time: without a writable
/// folder, ids stay in memory.
class TokenCache {
 public:
  /// An empty folder: no files.
  explicit TokenCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The ids from the cached file, or else from `make`. `text_hash` and `encoding` (an identity) are the key.
  Tokens get(const std::string& text_hash, const std::string& encoding,
             const std::function<std::vector<int32_t>()>& make) const;
  /// The file for a key.
  std::filesystem::path file_of(const std::string& text_hash, const std::string& encoding) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace headroom::tasks
