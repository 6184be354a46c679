#include "experiments/output/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "engine/excerpt.h"
#include "engine/read_number.h"
#include "models/files/utf8.h"

namespace headroom::experiments {
namespace {

/// True if a spreadsheet may evaluate it: it starts with = + - @, also full-width, and is no number.
bool may_be_formula(std::string_view text) {
  const char32_t first =
      models::first_code_point(text.substr(std::min(text.find_first_not_of(' '), text.size()))).value;
  constexpr std::u32string_view starts = U"=+-@\uFF1D\uFF0B\uFF0D\uFF20";
  return starts.find(first) != starts.npos && text != "-inf" && !read_number<double>(text);
}

bool is_ascii_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

}  // namespace

std::string clean(std::string_view text) {
  const auto is_plain = [](char c) { return (c >= ' ' && c < '\x7f') || c == '\n' || c == '\t'; };
  std::string out;
  if (std::all_of(text.begin(), text.end(), is_plain)) return out.append(text);  // most texts, and the pages
  while (!text.empty()) {
    const auto [c, length] = models::first_code_point(text);
    const bool is_unfit = (is_control(c) && c != '\n' && c != '\t') || (c & 0xFFFE) == 0xFFFE;
    if (length == 0 || is_unfit) out += "\uFFFD";
    else out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string one_line(std::string_view text) {
  std::string out = clean(text);
  for (char& c : out)
    if (c == '\n' || c == '\t') c = ' ';
  return out;
}

std::string escape(std::string_view text) {
  constexpr std::string_view special = "&<>\"'";
  const char* const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  std::string out;
  for (const char c : clean(text)) {
    const size_t at = special.find(c);
    if (at == std::string_view::npos) out += c;
    else out += names[at];
  }
  return out;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view plain = "_-./:,=+@%";
  const bool is_plain = !text.empty() && text[0] != '=' && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_ascii_alnum(c) || plain.find(c) != std::string_view::npos;
  });
  if (is_plain) return std::string(text);
  const bool is_escaped = one_line(text) != text;
  std::string out = is_escaped ? "$'" : "'";
  for (const char c : text) {
    if (is_escaped && (c < ' ' || c > '~')) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else if (is_escaped && (c == '\'' || c == '\\')) out += {'\\', c};
    else if (c == '\'') out += "'\\''";
    else out += c;
  }
  return out + "'";
}

std::string capitalized(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string slug(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (is_ascii_alnum(c)) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '-') out += '-';
  }
  if (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

std::string base64(const std::string& bytes) {
  static const char* const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    for (size_t i = 0; i < 3; ++i) group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (size_t i = 0; i < 4; ++i) out += i <= count ? letters[group >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

std::string csv_row(const std::vector<std::string>& cells) {
  std::string out;
  for (const std::string& cell : cells) {
    std::string text = one_line(cell);
    if (may_be_formula(text)) text.insert(0, 1, '\'');
    const bool is_quoted = text.find_first_of(",;\"") != std::string::npos;
    if (is_quoted) out += '"';
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    out += is_quoted ? "\"," : ",";
  }
  out.back() = '\n';
  return out;
}

}  // namespace headroom::experiments
