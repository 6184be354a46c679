#include "models/jinja/text.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "models/files/utf8.h"
#include "models/jinja/value.h"

namespace headroom::models::jinja {
namespace {

/// The character at [begin, end); a broken byte as a character that is no letter.
char32_t character(std::string_view text, size_t begin, size_t end) {
  const CodePoint point = first_code_point(text.substr(begin, end - begin));
  return point.bytes == 0 ? 0xFFFD : point.value;
}

bool has_case(char32_t code) {
  const auto c = static_cast<utf8proc_int32_t>(code);
  return utf8proc_toupper(c) != c || utf8proc_tolower(c) != c;
}

std::vector<Text> words(const Text& text, long most, bool from_right) {
  const std::vector<size_t> starts = character_starts(text.bytes);
  std::vector<std::pair<size_t, size_t>> found;  // bytes
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    if (is_space(character(text.bytes, starts[i], starts[i + 1]))) continue;
    if (found.empty() || found.back().second != starts[i]) found.emplace_back(starts[i], starts[i]);
    found.back().second = starts[i + 1];
  }
  const size_t kept = most < 0 ? found.size() : std::min(found.size(), static_cast<size_t>(most) + 1);
  if (kept < found.size() && from_right) {
    const size_t joined = found.size() - kept;
    found[joined].first = 0;
    found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(joined));
  } else if (kept < found.size()) {
    found[kept - 1].second = text.size();  // what is left over keeps its white space, as in Python
    found.resize(kept);
  }
  std::vector<Text> parts;
  for (const auto& [begin, end] : found) parts.push_back(text.slice(begin, end));
  return parts;
}

}  // namespace

Text Text::slice(size_t begin, size_t end) const {
  Text out;
  if (begin >= end) return out;
  out.bytes = bytes.substr(begin, end - begin);
  out.marks = marks.substr(begin, end - begin);
  return out;
}

void Text::append(const Text& other) {
  bytes += other.bytes;
  marks += other.marks;
}

void Text::append(std::string_view text, const Text& other, size_t like) {
  bytes += text;
  marks.append(text.size(), other.marks[like]);
}

std::vector<size_t> character_starts(std::string_view text) {
  std::vector<size_t> starts;
  starts.reserve(text.size() + 1);
  for (size_t at = 0; at < text.size();) {
    starts.push_back(at);
    at += std::max<size_t>(first_code_point(text.substr(at)).bytes, 1);
  }
  starts.push_back(text.size());
  return starts;
}

std::string encoded(char32_t code) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const utf8proc_ssize_t count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes.data());
  return std::string(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(count));
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

Text stripped(const Text& text, bool left, bool right, const std::string* these) {
  const std::vector<size_t> starts = character_starts(text.bytes);
  const auto goes = [&](size_t i) {
    const std::string_view one = std::string_view(text.bytes).substr(starts[i], starts[i + 1] - starts[i]);
    return these == nullptr ? is_space(character(text.bytes, starts[i], starts[i + 1]))
                            : these->find(one) != std::string::npos;
  };
  size_t begin = 0, end = starts.size() - 1;
  while (left && begin < end && goes(begin)) ++begin;
  while (right && end > begin && goes(end - 1)) --end;
  return text.slice(starts[begin], starts[end]);
}

Text in_case(const Text& text, Case wanted) {
  Text out;
  const std::vector<size_t> starts = character_starts(text.bytes);
  bool was_letter = false, starts_word = true;
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    const char32_t code = character(text.bytes, starts[i], starts[i + 1]);
    const bool is_large = wanted == Case::upper || (wanted != Case::lower && starts_word);
    was_letter = has_case(code);
    starts_word = wanted == Case::title ? !was_letter
                  : wanted == Case::headline
                      ? is_space(code) || (std::u32string_view(U"-({[<").find(code) != std::u32string_view::npos)
                      : false;
    if (!was_letter) {
      out.append(text.slice(starts[i], starts[i + 1]));
      continue;
    }
    const auto c = static_cast<utf8proc_int32_t>(code);
    if (is_large && code == U'ß') {  // the one of letters with two capitals that texts have
      out.append(wanted == Case::upper || wanted == Case::headline ? "SS" : "Ss", text, starts[i]);
      continue;
    }
    out.append(encoded(static_cast<char32_t>(is_large ? utf8proc_toupper(c) : utf8proc_tolower(c))), text, starts[i]);
  }
  return out;
}

bool all_of_category(std::string_view text, std::string_view categories) {
  const std::vector<size_t> starts = character_starts(text);
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    const char32_t code = character(text, starts[i], starts[i + 1]);
    const char kind = utf8proc_category_string(static_cast<utf8proc_int32_t>(code))[0];
    if (categories.find(kind) == std::string_view::npos) return false;
  }
  return !text.empty();
}

Text replaced(const Text& text, std::string_view from, const Text& to, long most, Limits& limits) {
  limits.spend(std::ssize(text.bytes));
  Text out;
  size_t at = 0;
  if (from.empty()) {
    const std::vector<size_t> starts = character_starts(text.bytes);
    for (size_t i = 0; i < starts.size(); ++i) {
      limits.spend(std::ssize(to.bytes));
      if (most < 0 || static_cast<long>(i) < most) out.append(to);
      if (i + 1 < starts.size()) out.append(text.slice(starts[i], starts[i + 1]));
    }
    return out;
  }
  for (long count = 0; most < 0 || count < most; ++count) {
    const size_t found = text.bytes.find(from, at);
    if (found == std::string::npos) break;
    out.append(text.slice(at, found));
    limits.spend(std::ssize(to.bytes));
    out.append(to);
    at = found + from.size();
  }
  out.append(text.slice(at, text.size()));
  return out;
}

std::vector<Text> split(const Text& text, const std::string* separator, long most, bool from_right) {
  if (separator == nullptr) return words(text, most, from_right);
  std::vector<Text> parts;
  if (from_right) {
    size_t end = text.size();
    while (most < 0 || static_cast<long>(parts.size()) < most) {
      const size_t found =
          end < separator->size() ? std::string::npos : text.bytes.rfind(*separator, end - separator->size());
      if (found == std::string::npos) break;
      parts.push_back(text.slice(found + separator->size(), end));
      end = found;
    }
    parts.push_back(text.slice(0, end));
    std::reverse(parts.begin(), parts.end());
    return parts;
  }
  size_t at = 0;
  while (most < 0 || static_cast<long>(parts.size()) < most) {
    const size_t found = text.bytes.find(*separator, at);
    if (found == std::string::npos) break;
    parts.push_back(text.slice(at, found));
    at = found + separator->size();
  }
  parts.push_back(text.slice(at, text.size()));
  return parts;
}

std::vector<Text> lines(const Text& text) {
  std::vector<Text> out;
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text.bytes[at] != '\n' && text.bytes[at] != '\r') continue;
    out.push_back(text.slice(begin, at));
    if (text.bytes[at] == '\r' && at + 1 < text.size() && text.bytes[at + 1] == '\n') ++at;
    begin = at + 1;
  }
  if (begin < text.size()) out.push_back(text.slice(begin, text.size()));
  return out;
}

}  // namespace headroom::models::jinja
