#include "tests/hostile/edits.h"

#include <cctype>
#include <sstream>
#include <vector>

#include "engine/error.h"

namespace headroom::hostile {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

/// "[train.optimizer]" and "[[claim]]" → the name; "" for any other line.
std::string header(const std::string& line) {
  if (line.empty() || line[0] != '[') return "";
  const size_t start = line.find_first_not_of('[');
  const size_t end = line.find(']', start);
  return end == std::string::npos ? "" : line.substr(start, end - start);
}

struct Section {
  size_t first = 0, last = 0;  ///< lines of its body
  std::string key;             ///< the key without the section's name
};

/// The section with the longest name that `path` starts with.
Section section_of(const std::vector<std::string>& lines, const std::string& path) {
  Section found{0, lines.size(), path};
  size_t longest = 0;
  bool is_open = true;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string name = header(lines[i]);
    if (name.empty()) continue;
    if (is_open) found.last = i;
    is_open = false;
    if (name.size() <= longest || path.compare(0, name.size() + 1, name + ".") != 0) continue;
    longest = name.size();
    found = {i + 1, lines.size(), path.substr(name.size() + 1)};
    is_open = true;
  }
  return found;
}

std::string trimmed(const std::string& text) {
  const size_t start = text.find_first_not_of(' ');
  return start == std::string::npos ? "" : text.substr(start, text.find_last_not_of(' ') - start + 1);
}

size_t offset_of(std::istream& in, const std::string& bytes, const std::string& edit) {
  int64_t at = 0;
  in >> at;
  if (at < 0) at += static_cast<int64_t>(bytes.size());
  require(!in.fail() && at >= 0 && at <= static_cast<int64_t>(bytes.size()), "{}: no such offset in {} bytes", edit,
          bytes.size());
  return static_cast<size_t>(at);
}

}  // namespace

std::string text_edited(const std::string& text, const std::string& edit) {
  std::vector<std::string> lines = lines_of(text);
  if (edit.compare(0, 2, "+ ") == 0) return text + edit.substr(2) + "\n";
  const bool deletes = edit.compare(0, 2, "- ") == 0;
  const size_t equals = edit.find('=');
  require(deletes || equals != std::string::npos, "edit '{}': expected KEY = VALUE, - KEY or + TEXT", edit);
  const std::string path = trimmed(deletes ? edit.substr(2) : edit.substr(0, equals));
  const Section section = section_of(lines, path);
  size_t end = section.first;  // where a new line goes: after the last line that is not empty
  for (size_t i = section.first; i < section.last; ++i) {
    if (trimmed(lines[i]).empty()) continue;
    end = i + 1;
    const size_t at = lines[i].find('=');
    if (at == std::string::npos || trimmed(lines[i].substr(0, at)) != section.key) continue;
    const auto line = lines.begin() + static_cast<std::ptrdiff_t>(i);
    if (deletes) lines.erase(line);
    else *line = section.key + " " + edit.substr(equals);
    return joined(lines);
  }
  require(!deletes, "edit '{}': there is no such line", edit);
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(end), section.key + " " + edit.substr(equals));
  return joined(lines);
}

std::string bytes_edited(std::string bytes, const std::string& edit) {
  std::istringstream in(edit);
  std::string verb, rest;
  in >> verb;
  if (verb == "sub") {
    const std::string body = edit.substr(4);
    const size_t arrow = body.find(" => ");
    require(arrow != std::string::npos, "{}: expected sub OLD => NEW", edit);
    const std::string from = body.substr(0, arrow), to = body.substr(arrow + 4);
    size_t at = bytes.find(from);
    require(at != std::string::npos, "{}: the file holds no such text", edit);
    for (; at != std::string::npos; at = bytes.find(from, at + to.size())) bytes.replace(at, from.size(), to);
    return bytes;
  }
  if (verb == "append") {
    std::getline(in, rest);
    return bytes + from_hex(rest);
  }
  const size_t at = offset_of(in, bytes, edit);
  if (verb == "cut") return bytes.substr(0, at);
  if (verb == "flip") {
    unsigned bit = 8;
    in >> bit;
    require(!in.fail() && bit < 8 && at < bytes.size(), "{}: expected flip OFFSET BIT", edit);
    bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1u << bit));
    return bytes;
  }
  if (verb == "u64") {
    uint64_t value = 0;
    in >> value;
    require(!in.fail() && at + 8 <= bytes.size(), "{}: expected u64 OFFSET VALUE", edit);
    for (size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<char>((value >> (8 * i)) & 0xff);
    return bytes;
  }
  std::getline(in, rest);
  const std::string given = from_hex(rest);
  if (verb == "insert") return bytes.insert(at, given);
  require(verb == "put" && at + given.size() <= bytes.size(), "{}: no such edit, or past the end", edit);
  return bytes.replace(at, given.size(), given);
}

std::string from_hex(const std::string& hex) {
  std::string digits, out;
  for (const char c : hex)
    if (std::isspace(static_cast<unsigned char>(c)) == 0) digits += c;
  require(digits.size() % 2 == 0 && digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos,
          "'{}': expected pairs of hexadecimal digits", hex);
  for (size_t i = 0; i < digits.size(); i += 2) out += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return out;
}

}  // namespace headroom::hostile
