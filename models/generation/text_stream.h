#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace headroom::models {

/// Text that arrives in bytes and leaves in whole characters: the first bytes of a character wait for the others, and
/// what may be the beginning of a stop string waits until that is decided. A byte that begins no character leaves as
/// U+FFFD.
class TextStream {
 public:
  /// Throws Error when a stop string is empty.
  explicit TextStream(std::vector<std::string> stops = {});

  /// Takes bytes and returns the text that may be shown now: none of it once a stop string came.
  std::string push(std::string_view bytes);
  /// The end: returns what waited. Half a character leaves as U+FFFD.
  std::string finish();
  /// Whether a stop string came; what followed it is dropped.
  bool stopped() const { return stopped_; }

 private:
  std::string whole_characters(bool is_end);

  std::vector<std::string> stops_;
  std::string bytes_;    ///< not yet whole characters
  std::string waiting_;  ///< whole characters, perhaps the beginning of a stop string
  bool stopped_ = false;
};

}  // namespace headroom::models
