#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace headroom::models {

/// Turns arriving bytes into whole characters: it holds back a partial character and any text that may begin a stop
/// string. Bytes that begin no character become U+FFFD.
class TextStream {
 public:
  /// Throws Error if a stop string is empty.
  explicit TextStream(std::vector<std::string> stops = {});

  /// Takes bytes and returns the text that may be shown now; nothing after a stop string.
  std::string push(std::string_view bytes);
  /// Ends the stream and returns the text held back. A partial character becomes U+FFFD.
  std::string finish();
  /// True if a stop string came; text after it is dropped.
  bool stopped() const { return stopped_; }

 private:
  std::string whole_characters(bool is_end);

  std::vector<std::string> stops_;
  std::string bytes_;    ///< a partial character
  std::string waiting_;  ///< whole characters, perhaps the start of a stop string
  bool stopped_ = false;
};

}  // namespace headroom::models
