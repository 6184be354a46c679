#include "experiments/studies/toml/document.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "experiments/studies/toml/value.h"

namespace headroom::experiments {
namespace {

/// Reads TOML as far as its nesting goes: strings, comments, dots of keys, headers, braces, brackets.
class DepthScanner {
 public:
  explicit DepthScanner(std::string_view text) : text_(text) {}

  /// The first place that is too deep; the text's length where there is none.
  size_t scan() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      step(c);
      const bool goes_down = c == '.' || c == '[' || c == '{';
      if (goes_down && header_ + inside_ + dots_ >= static_cast<size_t>(deepest_toml)) return at_;
    }
    return text_.size();
  }

 private:
  void step(char c) {
    const bool begins_line = std::exchange(is_blank_, is_blank_ && (c == ' ' || c == '\t'));
    if (c == '\n') return end_line();
    if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
    if (c == '"' || c == '\'') skip_string(c);
    if (c == '.') ++dots_;
    if (c == '=') parts_ = std::exchange(dots_, 0) + 1;
    if (c == ',') parts_ = dots_ = 0;
    if (c == '[' && open_.empty() && (begins_line || is_header_)) {
      is_header_ = true;
      header_ = 0;
    } else if (c == '[' || c == '{') {
      open_.push_back(parts_ + 1);
      inside_ += open_.back();
      parts_ = dots_ = 0;
    } else if ((c == ']' || c == '}') && !is_header_ && !open_.empty()) {
      inside_ -= open_.back();
      open_.pop_back();
      parts_ = dots_ = 0;
    }
  }

  void end_line() {
    if (is_header_) header_ = dots_ + 1;
    is_header_ = false;
    is_blank_ = true;
    dots_ = 0;
    if (open_.empty()) parts_ = 0;
  }

  /// From its first quote to its last.
  void skip_string(char quote) {
    const std::string three(3, quote);
    const bool is_long = text_.substr(at_).starts_with(three);
    for (at_ += is_long ? 3 : 1; at_ < text_.size(); ++at_) {
      if (quote == '"' && text_[at_] == '\\') {
        ++at_;
      } else if (is_long && text_.substr(at_).starts_with(three)) {
        at_ += 2;
        while (at_ + 1 < text_.size() && text_[at_ + 1] == quote) ++at_;  // up to two quotes before the three
        return;
      } else if (!is_long && (text_[at_] == quote || text_[at_] == '\n')) {
        at_ -= text_[at_] == '\n' ? 1 : 0;  // not TOML
        return;
      }
    }
  }

  const std::string_view text_;
  size_t at_ = 0;
  size_t header_ = 0;         ///< parts of the last header
  size_t dots_ = 0;           ///< of the key that is read
  size_t parts_ = 0;          ///< of the key whose value is read
  std::vector<size_t> open_;  ///< levels of each list and table that is open
  size_t inside_ = 0;         ///< their sum
  bool is_header_ = false, is_blank_ = true;
};

}  // namespace

void check_depth(const std::string& text, const std::string& source, bool positions) {
  const size_t at = DepthScanner(text).scan();
  if (at >= text.size()) return;
  const std::string before = text.substr(0, at);
  const auto line = static_cast<int>(std::ranges::count(before, '\n')) + 1;
  const auto column = static_cast<int>(at - (before.rfind('\n') + 1)) + 1;
  fail("{}: tables and lists are nested deeper than {}", Place{source, positions ? line : 0, column}.str(),
       deepest_toml);
}

}  // namespace headroom::experiments
