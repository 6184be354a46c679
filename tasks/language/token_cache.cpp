#include "tasks/language/token_cache.h"

#include <fmt/core.h>

#include <cstring>
#include <optional>

#include "engine/error.h"
#include "models/files/atomic_file.h"
#include "models/files/mapped_file.h"
#include "tasks/data/sha256.h"

namespace headroom::tasks {
namespace {

namespace fs = std::filesystem;

/// The start of a file: 80 bytes, so that the ids (i32, this machine's byte order) are aligned.
struct Header {
  char magic[8];
  uint64_t count;
  char hash[64];  ///< SHA-256 of the ids
};
constexpr char magic[9] = "hrtoken1";

std::string hash_of(TokenSpan ids) {
  Sha256 hash;
  hash.add(ids.data(), ids.size_bytes());
  return hash.hex();
}

/// None where there is no file that can be read: the cache then makes another.
std::shared_ptr<const models::MappedFile> map_file(const fs::path& path) {
  try {
    return std::make_shared<const models::MappedFile>(path);
  } catch (const Error&) {
    return nullptr;
  }
}

/// The ids of a whole and undamaged file.
std::optional<TokenSpan> ids_in(const models::MappedFile& file) {
  if (file.size() < sizeof(Header)) return std::nullopt;
  Header header{};
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.magic, magic, sizeof header.magic) != 0) return std::nullopt;
  const size_t payload = file.size() - sizeof header;
  if (payload % sizeof(int32_t) != 0 || header.count != payload / sizeof(int32_t)) return std::nullopt;
  const TokenSpan ids(reinterpret_cast<const int32_t*>(file.data() + sizeof header), static_cast<size_t>(header.count));
  if (hash_of(ids) != std::string(header.hash, sizeof header.hash)) return std::nullopt;
  return ids;
}

/// Nothing is left behind when the folder cannot be written or the disk is full.
void write_file(const fs::path& path, TokenSpan ids) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  Header header{};
  std::memcpy(header.magic, magic, sizeof header.magic);
  header.count = ids.size();
  std::memcpy(header.hash, hash_of(ids).data(), sizeof header.hash);
  models::AtomicFile file(path);
  file.write(&header, sizeof header);
  file.write(ids.data(), ids.size_bytes());
  file.commit();
}

}  // namespace

Tokens::Tokens(std::vector<int32_t> ids) {
  const auto kept = std::make_shared<const std::vector<int32_t>>(std::move(ids));
  span_ = *kept;
  owner_ = kept;
}

fs::path TokenCache::file_of(const std::string& text_hash, const std::string& encoding) const {
  return folder_ / (sha256(text_hash + "\n" + encoding) + ".tokens");
}

Tokens TokenCache::get(const std::string& text_hash, const std::string& encoding,
                       const std::function<std::vector<int32_t>()>& make) const {
  if (folder_.empty()) return Tokens(make());
  const fs::path path = file_of(text_hash, encoding);
  const auto mapped = [&]() -> std::optional<Tokens> {
    const std::shared_ptr<const models::MappedFile> file = map_file(path);
    if (!file) return std::nullopt;
    const std::optional<TokenSpan> ids = ids_in(*file);
    if (!ids) return std::nullopt;
    Tokens tokens;
    tokens.owner_ = file;
    tokens.span_ = *ids;
    tokens.is_mapped_ = true;
    return tokens;
  };
  if (std::optional<Tokens> tokens = mapped()) return *tokens;
  Tokens made(make());
  try {
    write_file(path, made.span());
  } catch (const Error&) {
    return made;  // a folder that takes no files costs the next run its time, no more
  }
  const std::optional<Tokens> tokens = mapped();
  return tokens ? *tokens : made;
}

}  // namespace headroom::tasks
