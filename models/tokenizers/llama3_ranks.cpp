#include <algorithm>
#include <string>
#include <unordered_map>

#include "engine/error.h"
#include "engine/read_number.h"
#include "models/files/json.h"
#include "models/files/mapped_file.h"
#include "models/files/other_kind.h"
#include "models/tokenizers/loaders.h"

namespace headroom::models {
namespace {

constexpr int64_t rank_count = 128'000;
/// Longest token that is read; Llama 3's longest has 128 bytes.
constexpr size_t longest_token = 1024;

/// Decodes RFC 4648 base64 with padding; "" if invalid.
std::string from_base64(std::string_view text) {
  static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return "";
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string out;
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t digit = i < text.size() - padding ? digits.find(text[i]) : 0;
    if (digit == std::string_view::npos) return "";
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if (i % 4 == 3) out += {static_cast<char>(bits >> 16), static_cast<char>(bits >> 8), static_cast<char>(bits)};
  }
  return out.substr(0, out.size() - padding);
}

void read_line(std::string_view line, std::vector<std::string>& tokens) {
  const size_t space = std::min(line.find(' '), line.size());
  const std::string bytes = from_base64(line.substr(0, space));
  const std::string_view number = line.substr(std::min(space + 1, line.size()));
  const auto rank = read_number<int64_t>(number);
  require(!bytes.empty() && bytes.size() <= longest_token && rank,
          "expected a token in base64, a space and its rank, got {}", quoted_name(std::string(line)));
  require(*rank >= 0 && *rank < rank_count, "rank {} is not one of Llama 3's {}", *rank, rank_count);
  std::string& token = tokens[static_cast<size_t>(*rank)];
  require(token.empty(), "rank {} is given twice", *rank);
  token = bytes;
}

std::vector<std::string> read_ranks(std::string_view text) {
  std::vector<std::string> tokens(static_cast<size_t>(rank_count));
  each_line(text, [&](std::string_view line, size_t) {
    if (!line.empty()) read_line(line, tokens);
  });
  const auto present = std::count_if(tokens.begin(), tokens.end(), [](const auto& t) { return !t.empty(); });
  require(present == rank_count, "has {} ranks, Llama 3 has {} (truncated?)", present, rank_count);
  return tokens;
}

/// The merges implied by ranked tokens (tiktoken): two tokens merge if their joined bytes are a token, with its id as
/// the rank.
std::vector<Merge> merges_of_ranks(const std::vector<std::string>& tokens) {
  std::unordered_map<std::string_view, int32_t> ids;
  ids.reserve(tokens.size());
  for (size_t id = 0; id < tokens.size(); ++id) ids.emplace(tokens[id], static_cast<int32_t>(id));
  std::vector<Merge> merges;
  for (size_t id = 0; id < tokens.size(); ++id) {
    const std::string_view bytes = tokens[id];
    for (size_t cut = 1; cut < bytes.size(); ++cut) {
      const auto left = ids.find(bytes.substr(0, cut)), right = ids.find(bytes.substr(cut));
      if (left == ids.end() || right == ids.end()) continue;
      merges.push_back({left->second, right->second, static_cast<int32_t>(id), static_cast<uint32_t>(id)});
    }
  }
  return merges;
}

/// The 256 special tokens of the release's tokenizer.py, from id 128000 on.
std::vector<AddedToken> special_tokens() {
  constexpr int count = 256;
  std::vector<std::string> texts{"<|begin_of_text|>",
                                 "<|end_of_text|>",
                                 "<|reserved_special_token_0|>",
                                 "<|reserved_special_token_1|>",
                                 "<|reserved_special_token_2|>",
                                 "<|reserved_special_token_3|>",
                                 "<|start_header_id|>",
                                 "<|end_header_id|>",
                                 "<|reserved_special_token_4|>",
                                 "<|eot_id|>"};
  for (int n = 5; texts.size() < count; ++n) texts.push_back(fmt::format("<|reserved_special_token_{}|>", n));
  std::vector<AddedToken> tokens;
  for (const std::string& text : texts)
    tokens.push_back({text, static_cast<int32_t>(rank_count + tokens.size()), true});
  return tokens;
}

}  // namespace

BpeVocabulary read_llama3_ranks(const std::filesystem::path& path) {
  BpeVocabulary vocabulary;
  vocabulary.name = folder_name(path);
  vocabulary.files = {path};
  const MappedFile file(path, tokenizer_file);
  try {
    vocabulary.tokens = read_ranks(file.text());
  } catch (const Error& error) {
    fail("{}: {}", path.string(), other_than_text_or(file.text(), error.what()));
  }
  vocabulary.merges = merges_of_ranks(vocabulary.tokens);
  vocabulary.added = special_tokens();
  vocabulary.splitters.emplace_back(llama3_pattern);
  vocabulary.splitter = "llama-bpe";
  vocabulary.ignore_merges = true;
  return vocabulary;
}

}  // namespace headroom::models
