#include "models/files/other_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/excerpt.h"
#include "models/files/utf8.h"

namespace headroom::models {
namespace {

using namespace std::string_view_literals;

/// The first bytes of a kind of file, its name, and what to do about it.
struct Magic {
  std::string_view begin;
  const char* kind;
};

constexpr Magic magics[] = {
    {"GGUF"sv, "a GGUF file: name the file itself, not a folder"},
    {"tjgg"sv, "a GGML file from before GGUF (GGJT, 2023): fetch the model as GGUF or safetensors"},
    {"\x7f"
     "ELF"sv,
     "a program, not a model: of a llamafile, 'unzip' takes the GGUF file out"},
    {"\x1f\x8b"sv, "packed by gzip: 'gunzip' unpacks it"},
};

/// Of lower case, without spaces and byte order mark in front: for marks of texts.
std::string start_of_text(std::string_view bytes) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  bytes = bytes.substr(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()), 200);
  std::string text(bytes);
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

bool is_plain_text(std::string_view bytes) {
  return valid_utf8(bytes) == bytes.size() && std::all_of(bytes.begin(), bytes.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte >= 0x20 ? byte != 0x7F : c == '\n' || c == '\r' || c == '\t';
         });
}

/// The text between `before`, where it is found, and the next `after`.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const size_t at = text.find(before);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + before.size());
  return text.substr(0, text.find(after));
}

std::string kind_of_json(std::string_view bytes) {
  if (bytes.find("\"schemaVersion\"") != std::string_view::npos && bytes.find("ollama") != std::string_view::npos) {
    // {"mediaType":"application/vnd.ollama.image.model","digest":"sha256:…", …}
    const size_t layer = bytes.find("ollama.image.model\"");
    const std::string_view digest =
        layer == std::string_view::npos ? "" : between(bytes.substr(layer), "\"sha256:", "\"");
    return fmt::format("is a manifest of Ollama's: name the model that it lists, blobs/sha256-{} of the same store",
                       digest.empty() ? "…" : excerpt(digest, 64));
  }
  constexpr size_t longest_answer = 1000;
  if (bytes.size() < longest_answer && bytes.find("\"error\"") != std::string_view::npos)
    return fmt::format("is a server's answer in place of the file, {}: fetch it again", excerpt(bytes, 120));
  return "is JSON text: name a model's folder, or its GGUF file";
}

std::string kind_of_text(std::string_view bytes, bool is_text_wanted) {
  const std::string start = start_of_text(bytes);
  constexpr size_t longest_pointer = 1000;
  if (start.starts_with("version https://git-lfs")) {
    const std::string_view size = between(bytes.substr(0, longest_pointer), "\nsize ", "\n");
    return fmt::format("is a Git LFS pointer, not the file itself{}: 'git lfs pull' in its repository fetches that",
                       size.empty() ? "" : fmt::format(" ({} bytes)", excerpt(size, 20)));
  }
  if (bytes.size() < longest_pointer && bytes.find("/annex/objects/") != std::string_view::npos)
    return "is a git-annex pointer, not the file itself: 'git annex get' in its repository fetches that";
  if (start.starts_with("<!doctype html") || start.starts_with("<html"))
    return "is a web page in place of the file: fetch the file itself (an address of the Hugging Face hub has "
           "/resolve/ in place of /blob/ then)";
  if (start.starts_with("<?xml") || start.starts_with("<error"))
    return fmt::format("is a server's answer in XML in place of the file, {}: fetch it again", excerpt(bytes, 120));
  if (is_text_wanted) return "";
  if (start.starts_with("{")) return kind_of_json(bytes);
  if (start.starts_with("from ")) return "is a Modelfile of Ollama's: name the model behind its FROM";
  constexpr size_t shortest_line = 8, longest_line = 400;
  if (bytes.size() >= shortest_line && bytes.size() < longest_line && is_plain_text(bytes))
    return fmt::format("is a text in place of the file, '{}': fetch it again", excerpt(bytes, 120));
  return "";
}

bool is_safetensors(std::string_view bytes) {
  uint64_t header = 0;
  if (bytes.size() < sizeof header + 2) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header < (uint64_t{1} << 27) && bytes.substr(sizeof header).starts_with("{\"");
}

/// A file's kind by its bytes, and what to do about it; "" if the kind is unknown.
std::string other_kind(std::string_view bytes, bool is_text_wanted = false) {
  if (bytes.empty()) return "is empty: fetch or write it again";
  if (bytes.starts_with("PK\x03\x04")) {
    const std::string_view start = bytes.substr(0, 4096);
    if (start.find("data.pkl") != std::string_view::npos)
      return fmt::format("is a checkpoint of PyTorch's, which is not read: {}", pytorch_remedy);
    return "is a zip archive: unpack it, and name what was in it";
  }
  if (bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5)
    return fmt::format("is a Python pickle, such as a checkpoint of PyTorch's, which is not read: {}", pytorch_remedy);
  for (const auto& [begin, kind] : magics)
    if (bytes.starts_with(begin)) return fmt::format("is {}", kind);
  if (is_safetensors(bytes)) return "is a safetensors file: name the folder that has it, with config.json";
  return kind_of_text(bytes, is_text_wanted);
}

}  // namespace

std::string other_kind_or(std::string_view bytes, const std::string& wrong) {
  const std::string kind = other_kind(bytes);
  return kind.empty() ? wrong : kind;
}

std::string other_than_text_or(std::string_view bytes, const std::string& wrong) {
  const std::string kind = other_kind(bytes, true);
  return kind.empty() ? wrong : kind;
}

}  // namespace headroom::models
