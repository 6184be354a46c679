#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace headroom::tasks {

/// SHA-256 of bytes fed in pieces (FIPS 180-4, by OpenSSL's libcrypto).
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(const void* bytes, size_t count);
  void add(std::string_view text) { add(text.data(), text.size()); }
  /// 64 lower-case hexadecimal digits. Add nothing afterwards.
  std::string hex();

 private:
  void* context_;  ///< EVP_MD_CTX, kept opaque so that OpenSSL's header stays out of ours
};

/// The hash as 64 hexadecimal digits.
std::string sha256(std::string_view text);
/// The same for a file's bytes. Throws Error naming the file if it cannot be read.
std::string sha256_of_file(const std::filesystem::path& path);
/// The same of the files a trained model computes with: a GGUF file's bytes (all parts' hashes if split), or a folder's
/// config.json and safetensors files, in order of name. Throws Error naming a file that cannot be read.
std::string sha256_of_model(const std::filesystem::path& model);

}  // namespace headroom::tasks
