#include "tasks/data/sha256.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <vector>

#include "engine/error.h"
#include "models/files/entries_of.h"
#include "models/files/regular_file.h"
#include "models/gguf/gguf.h"

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

std::string sha256_of_model(const std::filesystem::path& model) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(model)) {
    files = models::gguf_parts(model);
    std::erase_if(files, [](const auto& part) { return !std::filesystem::exists(part); });
    if (files.size() == 1) return sha256_of_file(model);
  } else
    for (const std::filesystem::path& file : models::entries_of(model))
      if (file.extension() == ".safetensors" || file.filename() == "config.json") files.push_back(file);
  std::sort(files.begin(), files.end());
  Sha256 hash;
  for (const std::filesystem::path& file : files)
    hash.add(file.filename().string() + " " + sha256_of_file(file) + "\n");
  return hash.hex();
}

}  // namespace headroom::tasks
