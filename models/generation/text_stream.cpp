#include "models/generation/text_stream.h"

#include <algorithm>

#include "engine/error.h"
#include "models/files/utf8.h"

namespace headroom::models {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";  ///< U+FFFD

/// True if the bytes could start a character that is not complete yet.
bool is_unfinished(std::string_view bytes) {
  if (bytes.empty() || bytes.size() >= 4) return false;
  const auto lead = static_cast<unsigned char>(bytes[0]);
  const size_t wanted = lead >= 0xf0 && lead <= 0xf4  ? 4
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xc2 && lead < 0xe0 ? 2
                                                      : 1;
  if (bytes.size() >= wanted) return false;
  // The rest of the character with the least and the greatest bytes that may follow: is one of them well-formed?
  for (const char filler : {'\x80', '\xbf'}) {
    std::string whole(bytes);
    whole.resize(wanted, filler);
    if (bytes.size() == 1 && lead == 0xed) whole[1] = '\x80';
    if (bytes.size() == 1 && lead == 0xf4) whole[1] = '\x80';
    if (first_code_point(whole).bytes == wanted) return true;
  }
  return false;
}

/// The length of the longest end of `text` that a stop string begins with.
size_t possible_stop(std::string_view text, const std::vector<std::string>& stops) {
  size_t longest = 0;
  for (const std::string& stop : stops)
    for (size_t length = std::min(text.size(), stop.size() - 1); length > longest; --length)
      if (text.substr(text.size() - length) == std::string_view(stop).substr(0, length)) longest = length;
  return longest;
}

}  // namespace

TextStream::TextStream(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_) require(!stop.empty(), "a stop string is empty");
}

std::string TextStream::whole_characters(bool is_end) {
  std::string text;
  std::string_view left = bytes_;
  while (!left.empty()) {
    const size_t valid = valid_utf8(left);
    text += left.substr(0, valid);
    left.remove_prefix(valid);
    if (left.empty() || (!is_end && is_unfinished(left))) break;
    text += replacement;
    left.remove_prefix(1);
  }
  bytes_ = std::string(left);
  return text;
}

std::string TextStream::push(std::string_view bytes) {
  if (stopped_) return "";
  bytes_ += bytes;
  waiting_ += whole_characters(false);
  size_t end = std::string::npos;
  for (const std::string& stop : stops_) end = std::min(end, waiting_.find(stop));
  stopped_ = end != std::string::npos;
  const size_t shown = stopped_ ? end : waiting_.size() - possible_stop(waiting_, stops_);
  std::string text = waiting_.substr(0, shown);
  waiting_.erase(0, shown);
  return text;
}

std::string TextStream::finish() {
  if (stopped_) return "";
  std::string text = std::move(waiting_) + whole_characters(true);
  waiting_.clear();
  return text;
}

}  // namespace headroom::models
