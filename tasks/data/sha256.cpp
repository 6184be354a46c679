#include "tasks/data/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <vector>

#include "engine/error.h"
#include "models/files/regular_file.h"

namespace headroom::tasks {

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (context_ != nullptr && EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr) == 1) return;
  EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_));
  fail("sha256: libcrypto offers none");
}

Sha256::~Sha256() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

void Sha256::add(const void* bytes, size_t count) {
  require(EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes, count) == 1, "sha256: libcrypto failed");
}

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest{};
  require(EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), digest.data(), nullptr) == 1,
          "sha256: libcrypto failed");
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string sha256(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hash.hex();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  models::RegularFile file(path);
  Sha256 hash;
  std::vector<char> part(1 << 16);
  for (size_t count = file.read(part.data(), part.size()); count > 0; count = file.read(part.data(), part.size()))
    hash.add(part.data(), count);
  return hash.hex();
}

}  // namespace headroom::tasks
