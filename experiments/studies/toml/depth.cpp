#include "experiments/studies/toml/depth.h"

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
  DepthScanner(const std::string& text, Place place, bool positions)
      : text_(text), place_(std::move(place)), positions_(positions) {}

  void scan() {
    while (at_ < text_.size()) step();
  }

 private:
  bool starts_with(std::string_view word) const { return text_.substr(at_).starts_with(word); }

  void step() {
    const char c = text_[at_];
    switch (c) {
      case '\n':
        end_line();
        break;
      case '#':
        at_ = std::min(text_.find('\n', at_), text_.size());
        return;
      case '"':
      case '\'':
        return skip_string(c);
      case '.':
        ++dots_;
        check();
        break;
      case '=':
        parts_ = dots_ + 1;
        dots_ = 0;
        break;
      case '[':
      case '{':
        open(c);
        break;
      case ']':
      case '}':
        close();
        break;
      case ',':
        parts_ = dots_ = 0;
        break;
      default:
        break;
    }
    is_blank_ = is_blank_ && (c == ' ' || c == '\t' || c == '\n');
    ++at_;
  }

  void end_line() {
    if (is_header_) header_ = dots_ + 1;
    is_header_ = false;
    is_blank_ = true;
    dots_ = 0;
    if (open_.empty()) parts_ = 0;
    ++place_.line;
    line_begin_ = at_ + 1;
  }

  /// At its end is at_.
  void skip_string(char quote) {
    const std::string three(3, quote);
    const bool is_long = starts_with(three);
    at_ += is_long ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      if (quote == '"' && text_[at_] == '\\') {
        ++at_;
        if (at_ < text_.size() && text_[at_] == '\n') ++place_.line, line_begin_ = at_ + 1;
      } else if (text_[at_] == '\n') {
        if (!is_long) return;  // not TOML
        ++place_.line;
        line_begin_ = at_ + 1;
      } else if (is_long ? starts_with(three) : text_[at_] == quote) {
        at_ += is_long ? 3 : 1;
        while (is_long && at_ < text_.size() && text_[at_] == quote) ++at_;  // up to two quotes before the three
        break;
      }
    }
    is_blank_ = false;
  }

  void open(char c) {
    if (c == '[' && open_.empty() && (is_blank_ || is_header_)) {
      is_header_ = true;
      header_ = 0;
      return;
    }
    open_.push_back(parts_ + 1);
    inside_ += open_.back();
    parts_ = dots_ = 0;
    check();
  }

  void close() {
    if (is_header_ || open_.empty()) return;
    inside_ -= open_.back();
    open_.pop_back();
    parts_ = dots_ = 0;
  }

  void check() const {
    if (header_ + inside_ + dots_ < static_cast<size_t>(deepest_toml)) return;
    Place at = place_;
    at.column = static_cast<int>(at_ - line_begin_) + 1;
    if (!positions_) at.line = 0;
    fail("{}: tables and lists are nested deeper than {}", at.str(), deepest_toml);
  }

  const std::string_view text_;
  Place place_;
  const bool positions_;
  size_t at_ = 0, line_begin_ = 0;
  size_t header_ = 0;         ///< parts of the last header
  size_t dots_ = 0;           ///< of the key that is read
  size_t parts_ = 0;          ///< of the key whose value is read
  std::vector<size_t> open_;  ///< levels of each list and table that is open
  size_t inside_ = 0;         ///< their sum
  bool is_header_ = false, is_blank_ = true;
};

}  // namespace

void check_depth(const std::string& text, const std::string& source, bool positions) {
  DepthScanner(text, {source, 1, 1}, positions).scan();
}

}  // namespace headroom::experiments
