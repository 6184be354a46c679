#pragma once
#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/tokenizers/byte_alphabet.h"
#include "tests/support/folder.h"

namespace headroom::testing {

/// The 256 bytes in GPT-2's alphabet are ids 0 to 255, the merges' results follow, then the other tokens.
inline nlohmann::json small_vocabulary(const std::vector<std::string>& merges, const std::vector<std::string>& others) {
  nlohmann::json vocabulary = nlohmann::json::object();
  for (int byte = 0; byte < 256; ++byte)
    vocabulary[models::to_byte_alphabet(std::string(1, static_cast<char>(byte)))] = byte;
  for (std::string merge : merges) vocabulary.emplace(merge.erase(merge.find(' '), 1), vocabulary.size());
  for (const std::string& other : others) vocabulary.emplace(other, vocabulary.size());
  return vocabulary;
}

/// vocab.json and merges.txt.
inline void write_gpt2_files(const std::filesystem::path& folder, const std::vector<std::string>& merges,
                             const std::vector<std::string>& others) {
  write_bytes(folder / "vocab.json", small_vocabulary(merges, others).dump());
  std::string lines = "#version: 0.2\n";
  for (const std::string& merge : merges) lines += merge + "\n";
  write_bytes(folder / "merges.txt", lines);
}

inline std::string to_base64(const std::string& bytes) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t j = i; j < i + 3; ++j) bits = bits << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0);
    for (size_t j = 0; j < 4; ++j) text += i + j > bytes.size() ? '=' : digits[bits >> (18 - 6 * j) & 63];
  }
  return text;
}

/// 128000 ranks: the bytes, then `tokens`, then fillers of eight bytes which no two tokens make.
inline void write_llama3_ranks(const std::filesystem::path& path, std::vector<std::string> tokens) {
  std::string lines;
  int rank = 0;
  const auto add = [&](const std::string& token) { lines += fmt::format("{} {}\n", to_base64(token), rank++); };
  for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
  for (const std::string& token : tokens) add(token);
  while (rank < 128000) add(fmt::format("#{:07}", rank));
  write_bytes(path, lines);
}

}  // namespace headroom::testing
